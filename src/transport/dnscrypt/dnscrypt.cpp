#include "transport/dnscrypt/dnscrypt.hpp"

#include "dns/name.hpp"
#include "transport/dnscrypt/client.hpp"
#include "transport/dnscrypt/tcp_server.hpp"
#include "transport/dnscrypt/udp_server.hpp"

namespace doxlab::transport {

dnscrypt::UnixSeconds UnixClock::at_time(Timestamp now) const {
  const auto elapsed = std::chrono::floor<std::chrono::seconds>(now - at).count();
  const auto back = static_cast<dnscrypt::UnixSeconds>(elapsed < 0 ? -elapsed : 0);
  return elapsed < 0 ? seconds - std::min(back, seconds)
                     : seconds + static_cast<dnscrypt::UnixSeconds>(elapsed);
}

Result<std::unique_ptr<ClientSession>> make_dnscrypt_client(const DnscryptClientOptions& options, bool tcp,
                                                            Timestamp) {
  auto name = dns::name_to_wire(options.provider_name);
  if (!name) return fail("provider name: " + name.error().message);
  if (options.es_versions.empty()) return fail("a DNSCrypt client must accept at least one construction");
  if (options.min_query_octets % dnscrypt::kPaddingBlockOctets != 0) {
    return fail("the least size of a DNSCrypt query must be a multiple of 64 octets");
  }
  return std::make_unique<DnscryptClient>(options, std::move(*name), tcp);
}

std::unique_ptr<DatagramServer> make_dnscrypt_server(const DnscryptServerOptions& options) {
  return std::make_unique<DnscryptUdpServer>(options);
}

std::unique_ptr<StreamServerSession> make_dnscrypt_tcp_server_session(const DnscryptServerOptions& options,
                                                                      Timestamp now) {
  return std::make_unique<DnscryptTcpServer>(options, now);
}

}  // namespace doxlab::transport
