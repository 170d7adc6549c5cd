#include "transport/factory.hpp"

#include <stdexcept>

#include "transport/dnscrypt/dnscrypt.hpp"
#include "transport/do53/do53.hpp"
#include "transport/doh/doh.hpp"
#include "transport/doh3/doh3.hpp"
#include "transport/doq/doq.hpp"
#include "transport/dot/dot.hpp"

namespace doxlab::transport {
namespace {

Result<std::unique_ptr<ClientSession>> make_dnscrypt(const ClientOptions& options, bool tcp, Timestamp now) {
  if (!options.ticket) return make_dnscrypt_client(options.dnscrypt, tcp, now);
  auto resuming = options.dnscrypt;
  resuming.known_certificate = options.ticket->ticket.session_der;
  return make_dnscrypt_client(resuming, tcp, now);
}

DnscryptServerOptions dnscrypt_options(const ServerOptions& options) {
  auto out = options.dnscrypt;
  out.first_message_timeout = options.limits.handshake_timeout;
  out.idle_timeout = options.limits.idle_timeout;
  return out;
}

}  // namespace

Result<std::unique_ptr<ClientSession>> make_client_session(Transport transport, const ClientOptions& options,
                                                           Timestamp now) {
  switch (transport) {
    case Transport::Do53: return make_do53_client(options);
    case Transport::Do53Tcp: return make_do53_tcp_client(options);
    case Transport::Dnscrypt: return make_dnscrypt(options, false, now);
    case Transport::DnscryptTcp: return make_dnscrypt(options, true, now);
    case Transport::Dot: return make_dot_client(options);
    case Transport::Doh: return make_doh_client(options, now);
    case Transport::Doh3: return make_doh3_client(options, now);
    case Transport::Doq: return make_doq_client(options, now);
  }
  return fail("unknown transport");
}

std::unique_ptr<StreamServerSession> make_stream_server_session(Transport transport, const ServerOptions& options,
                                                                Timestamp now) {
  switch (transport) {
    case Transport::Do53Tcp: return make_do53_tcp_server_session(options, now);
    case Transport::DnscryptTcp: return make_dnscrypt_tcp_server_session(dnscrypt_options(options), now);
    case Transport::Dot: return make_dot_server_session(options, now);
    case Transport::Doh: return make_doh_server_session(options, now);
    default: throw std::logic_error("not a stream transport");
  }
}

std::unique_ptr<DatagramServer> make_datagram_server(Transport transport, const ServerOptions& options) {
  switch (transport) {
    case Transport::Do53: return make_do53_server(options);
    case Transport::Dnscrypt: return make_dnscrypt_server(dnscrypt_options(options));
    case Transport::Doh3: return make_doh3_server(options);
    case Transport::Doq: return make_doq_server(options);
    default: throw std::logic_error("not a datagram transport");
  }
}

}  // namespace doxlab::transport
