#pragma once
/// Messages and transcripts for the tests of sessions: what a session emitted, as lines of text.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "dns/message.hpp"
#include "transport/session.hpp"

namespace doxlab::transport::testing {

using namespace std::chrono_literals;

inline constexpr Timestamp kStart{1h};
inline Timestamp at(Duration since_start) { return kStart + since_start; }

inline Bytes query(std::string_view name, std::uint16_t id = 0x1234) {
  dns::QueryOptions options;
  options.id = id;
  return dns::compose_query(name, 1, options).value();
}

/// An answer without records to a query as it came over the wire; `extra` octets make it longer.
inline Bytes answer_to(BytesView query_on_wire, std::size_t extra = 0) {
  Bytes answer = to_bytes(query_on_wire);
  answer[2] |= 0x80;
  answer.resize(answer.size() + extra, 0xAA);
  return answer;
}

inline std::string name_in(BytesView message) {
  const auto parsed = dns::parse_message(message);
  return parsed && parsed->question ? parsed->question->name : "malformed";
}

inline std::string line_of(const Event& event) {
  struct {
    std::string operator()(const HandshakeCompleted& e) const { return "handshake " + e.info.alpn; }
    std::string operator()(const ResponseReceived& e) const {
      return "response " + std::to_string(e.query.value) + " " + name_in(e.message) + " id " +
             std::to_string(dns::message_id(e.message));
    }
    std::string operator()(const QueryFailed& e) const {
      return "failed " + std::to_string(e.query.value) + ": " + e.reason;
    }
    std::string operator()(const TicketReceived&) const { return "ticket"; }
    std::string operator()(const TokenReceived&) const { return "token"; }
    std::string operator()(const Closed& e) const { return e.clean ? "closed" : "broken: " + e.reason; }
  } visitor;
  return std::visit(visitor, event);
}

inline std::vector<std::string> events_of(ClientSession& session) {
  std::vector<std::string> lines;
  while (const auto event = session.poll_event()) lines.push_back(line_of(*event));
  return lines;
}

/// All output that is ready, as one run (stream transports).
template <class Session>
Bytes stream_of(Session& session, Timestamp now) {
  Bytes all;
  while (const auto output = session.poll_output(now)) all.insert(all.end(), output->begin(), output->end());
  return all;
}

/// The queries that a server session hands out now.
template <class Server>
std::vector<IncomingQuery> queries_of(Server& server) {
  std::vector<IncomingQuery> queries;
  while (auto incoming = server.poll_query()) queries.push_back(std::move(*incoming));
  return queries;
}

}  // namespace doxlab::transport::testing
