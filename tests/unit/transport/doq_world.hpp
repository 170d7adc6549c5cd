#pragma once
/// What DoQ's tests share: a client and a server with matching contexts, and queries good and bad.

#include <memory>
#include <string_view>
#include <utility>

#include "dns/message.hpp"
#include "support/datagram_pair.hpp"
#include "support/raw_quic.hpp"
#include "support/tls_contexts.hpp"
#include "transport/doq/doq.hpp"

namespace doxlab::transport {

inline Bytes query_for(std::string_view name, std::uint16_t id = 0x1234) {
  return *dns::compose_query(name, 1, {.id = id});
}

struct DoqWorld {
  ClientOptions client;
  ServerOptions server;

  DoqWorld() {
    client.tls = std::make_shared<tls::ClientContext>(test::client_tls_options());
    client.server_name = test::kServerName;
    client.local = test::client_address();
    client.remote = test::server_address();
    server.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("doq"));
  }

  test::DatagramPair pair(link::Impairments impairments = {}) const {
    return {make_doq_client(client, Timestamp{1h}).value(), make_doq_server(server), std::move(impairments)};
  }
};

inline Bytes framed(BytesView message) {
  Bytes out = {static_cast<std::uint8_t>(message.size() >> 8), static_cast<std::uint8_t>(message.size())};
  out.insert(out.end(), message.begin(), message.end());
  return out;
}

inline Bytes with_keepalive(Bytes message) {
  // An OPT record with option 11 of length 0, and ARCOUNT 1; the message has no OPT of its own.
  const Bytes opt = {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 4, 0, 11, 0, 0};
  message.insert(message.end(), opt.begin(), opt.end());
  message[11] = 1;
  return message;
}

inline Bytes plain_query(std::uint16_t id = 0) {
  return *dns::compose_query("example.com.", 1, {.id = id, .edns = false});
}

}  // namespace doxlab::transport
