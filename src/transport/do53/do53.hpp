#pragma once
/// Do53: DNS over UDP and over TCP without encryption (RFC 1035 §4.2, RFC 7766). The yardstick of all others.

#include <memory>

#include "transport/factory.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

/// Do53/UDP, for a socket that is connected to one server. Each query gets a fresh random message ID on the
/// wire; the answer is handed out with the submitted one. Datagrams that answer no open query are dropped.
/// With do53_retransmission a query is sent again each time that long has passed without an answer; giving up
/// is the caller's business, and so is repeating a truncated answer's query over TCP.
std::unique_ptr<ClientSession> make_do53_client(const ClientOptions& options);

/// Do53/TCP: many queries in flight, answers in any order.
std::unique_ptr<ClientSession> make_do53_tcp_client(const ClientOptions& options);

/// One UDP port for all clients. Answers that exceed what the client takes (its EDNS size, 512 without) or
/// do53_max_udp_bytes leave truncated with TC set. Answers to answers are never sent: QR set is dropped, as is
/// what is shorter than a header.
std::unique_ptr<DatagramServer> make_do53_server(const ServerOptions& options);

/// One TCP connection; see StreamServer for its limits.
std::unique_ptr<StreamServerSession> make_do53_tcp_server_session(const ServerOptions& options, Timestamp now);

}  // namespace doxlab::transport
