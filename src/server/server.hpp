#pragma once
/// The resolver on its addresses: every transport asked for, one thread's io_context. Used by `doxlab
/// serve`, by the lab and by tests.

#include <asio/io_context.hpp>
#include <memory>
#include <vector>

#include "dnscrypt/resolver_keys.hpp"
#include "io/listener.hpp"
#include "resolver/resolver.hpp"
#include "tls/forge.hpp"
#include "transport/factory.hpp"

namespace doxlab::server {

/// The name that DNSCrypt certificates are found under, unless another is asked for.
inline constexpr const char* kDefaultProviderName = "2.dnscrypt-cert.dns.doxlab.test";

struct ServerOptions {
  std::vector<Transport> transports{kAllTransports.begin(), kAllTransports.end()};
  std::shared_ptr<const resolver::Zone> zone;          ///< null: the built-in zone
  /// Certificate and TLS settings shared by all transports with TLS; `alpn` and `max_early_data_bytes`
  /// are set for each transport here.
  tls::ServerOptions tls;
  bool early_data = false;                             ///< accept 0-RTT
  /// DNSCrypt: the short-term keys that UDP and TCP share. Null: made here, with a new provider key, for
  /// kDefaultProviderName.
  std::shared_ptr<dnscrypt::ResolverKeys> dnscrypt_keys;
  quic::Options quic;
  quic::RetryPolicy doq_retry = quic::RetryPolicy::Off;
  quic::RetryPolicy doh3_retry = quic::RetryPolicy::Off;
  std::string doh_path = "/dns-query";
  std::size_t do53_max_udp_bytes = 1232;
  transport::ServerLimits limits;
  io::StreamListenerOptions stream;
};

/// Where one transport listens.
struct Bound {
  Transport transport;
  SocketAddress address;
};

class Server {
 public:
  /// Nothing listens yet. Errors: std::runtime_error (certificate, groups).
  Server(asio::io_context& context, ServerOptions options);
  ~Server();

  /// Listens with every transport on `ip`, at its resolver_port() plus `port_offset`. Call it in the thread
  /// (and namespace) that runs the io_context. Errors: std::system_error naming the address.
  void listen(const IpAddress& ip, std::uint16_t port_offset = 0);
  void listen(Transport transport, const SocketAddress& address);
  /// DoH without TLS (HTTP/2 with prior knowledge), for a proxy in front of it.
  void listen_cleartext_doh(const SocketAddress& address);
  const std::vector<Bound>& bound() const;
  /// False: 0-RTT is rejected from now on although the tickets allow it. Any thread may call it.
  void accept_early_data(bool accept);
  /// Null if no DNSCrypt transport was asked for.
  std::shared_ptr<const dnscrypt::ResolverKeys> dnscrypt_keys() const;
  /// Stops everything in the protocols' ways; the io_context runs dry within `linger`.
  void close(Duration linger);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::server
