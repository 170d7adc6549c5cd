#pragma once
/// A TLS client and server joined in memory, for the tests of the rooms that stand on TLS.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tls/forge.hpp"
#include "tls/session.hpp"

namespace doxlab::tls::testing {

inline constexpr const char* kName = "dns.doxlab.test";

/// Forged once per program for each size and kind, because keys take time.
inline const Chain& shared_chain(std::size_t bytes = 1500, KeyType key = KeyType::EcdsaP256) {
  static std::map<std::pair<std::size_t, KeyType>, Chain> chains;
  auto [at, fresh] = chains.try_emplace({bytes, key});
  if (fresh) {
    ChainOptions options;
    options.chain_bytes = bytes;
    options.key = key;
    options.addresses = {IpAddress::v4({192, 0, 2, 1}), *IpAddress::parse("2001:db8::1")};
    at->second = forge_chain(options);
  }
  return at->second;
}

inline ServerOptions server_options(const Chain& chain = shared_chain()) {
  ServerOptions options;
  options.chain_pem = chain.chain_pem;
  options.key_pem = chain.key_pem;
  options.alpn = {"dot"};
  return options;
}

inline ClientOptions client_options(const Chain& chain = shared_chain()) {
  ClientOptions options;
  options.roots_pem = chain.root_pem;
  return options;
}

/// Both ends of one connection. `step` carries what each has to say to the other once.
struct Loopback {
  Loopback(const ClientContext& client_context, const ServerContext& server_context, const Ticket* ticket = nullptr,
           const std::string& name = kName, const std::string& alpn = "dot")
      : client(client_context.new_ssl(name, alpn, ticket)), server(server_context.new_ssl(false)) {}

  void start() { client_result = client.start(); }

  /// True if anything moved. Once a side has failed, only its last words are carried.
  bool step() {
    const Bytes to_server = client.take_output();
    bytes_to_server += to_server.size();
    if (!to_server.empty() && server_result) server_result = server.receive(to_server);
    from_client += as_text(server.take_plaintext());
    const Bytes to_client = server.take_output();
    bytes_to_client += to_client.size();
    if (!to_client.empty() && client_result) client_result = client.receive(to_client);
    from_server += as_text(client.take_plaintext());
    return !to_server.empty() || !to_client.empty();
  }

  void run() {
    for (int i = 0; i < 20 && step(); ++i) {
    }
  }

  void handshake() {
    start();
    run();
    ASSERT_TRUE(client_result) << client_result.error().message;
    ASSERT_TRUE(server_result) << server_result.error().message;
    ASSERT_TRUE(client.handshake_done());
    ASSERT_TRUE(server.handshake_done());
  }

  Session client, server;
  Result<void> client_result, server_result;
  std::string from_client, from_server;
  std::size_t bytes_to_server = 0, bytes_to_client = 0;
};

}  // namespace doxlab::tls::testing
