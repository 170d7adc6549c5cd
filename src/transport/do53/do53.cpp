#include "transport/do53/do53.hpp"

#include "transport/do53/udp_client.hpp"
#include "transport/do53/udp_server.hpp"
#include "transport/framing/stream_client.hpp"
#include "transport/framing/stream_server.hpp"

namespace doxlab::transport {

std::unique_ptr<ClientSession> make_do53_client(const ClientOptions& options) {
  return std::make_unique<UdpClient>(options.do53_retransmission);
}

std::unique_ptr<ClientSession> make_do53_tcp_client(const ClientOptions&) {
  return std::make_unique<StreamClient>(std::make_unique<PlainChannel>());
}

std::unique_ptr<DatagramServer> make_do53_server(const ServerOptions& options) {
  return std::make_unique<UdpServer>(options.do53_max_udp_bytes);
}

std::unique_ptr<StreamServerSession> make_do53_tcp_server_session(const ServerOptions& options, Timestamp now) {
  return std::make_unique<StreamServer>(std::make_unique<PlainChannel>(), options.limits, now);
}

}  // namespace doxlab::transport
