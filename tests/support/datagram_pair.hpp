#pragma once
/// A client session and a server of a datagram transport, joined by a VirtualLink. The server's application
/// answers each query with itself as a response, unless a test sets another handler.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/virtual_link.hpp"
#include "transport/session.hpp"

namespace doxlab::test {

inline SocketAddress client_address(std::uint16_t port = 40000) {
  return {IpAddress::v4({192, 0, 2, 1}), port};
}
inline SocketAddress server_address() {
  return {IpAddress::v4({192, 0, 2, 53}), 853};
}

/// The query's bytes with QR set: a response to it.
inline Bytes response_to(BytesView query) {
  Bytes out = to_bytes(query);
  if (out.size() > 2) out[2] |= 0x80;
  return out;
}

class DatagramPair {
 public:
  DatagramPair(std::unique_ptr<transport::ClientSession> client_session,
               std::shared_ptr<transport::DatagramServer> datagram_server, link::Impairments impairments = {},
               Timestamp start = Timestamp{1h})
      : link(std::move(impairments)),
        client(std::move(client_session)),
        server(std::move(datagram_server)),
        now(start),
        started(start) {}

  VirtualLink link;
  std::unique_ptr<transport::ClientSession> client;
  std::shared_ptr<transport::DatagramServer> server;
  Timestamp now, started;
  std::function<std::optional<Bytes>(const transport::IncomingQuery&)> handler =
      [](const transport::IncomingQuery& query) { return std::optional(response_to(query.message)); };

  std::vector<transport::IncomingQuery> queries;
  std::vector<transport::Event> events;
  std::vector<Timestamp> event_times;

  /// Runs until `done` or until `limit` has passed or nothing is left to happen. True if `done`.
  template <class Done>
  bool run(Done done, Duration limit = 60s) {
    const Timestamp end = now + limit;
    for (std::size_t step = 0; step < 200'000; ++step) {
      flush();
      if (done()) return true;
      std::optional<Timestamp> next = link.next_due();
      for (const auto due : {client->next_timeout(), server->next_timeout()}) {
        if (due && (!next || *due < *next)) next = due;
      }
      if (!next || *next > end) {
        now = std::max(now, end);
        return false;
      }
      now = std::max(now, *next);
      if (auto delivery = link.take_due(now)) {
        if (delivery->direction == link::Direction::ToServer) {
          server->receive(server_address(), client_address(), delivery->payload, now);
        } else {
          client->receive(delivery->payload, now);
        }
        continue;
      }
      if (const auto due = client->next_timeout(); due && *due <= now) client->on_timeout(now);
      if (const auto due = server->next_timeout(); due && *due <= now) server->on_timeout(now);
    }
    return false;
  }

  void run_for(Duration time) {
    run([] { return false; }, time);
  }

  template <class Wanted>
  const Wanted* find(std::size_t nth = 0) const {
    for (const auto& event : events) {
      if (const auto* wanted = std::get_if<Wanted>(&event); wanted != nullptr && nth-- == 0) return wanted;
    }
    return nullptr;
  }
  template <class Wanted>
  std::size_t count() const {
    std::size_t n = 0;
    for (const auto& event : events) n += std::holds_alternative<Wanted>(event) ? 1 : 0;
    return n;
  }
  template <class Wanted>
  bool run_to(std::size_t how_many = 1, Duration limit = 60s) {
    return run([&] { return count<Wanted>() >= how_many; }, limit);
  }
  /// Since the start, at the n-th event of a kind.
  template <class Wanted>
  Duration time_of(std::size_t nth = 0) const {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (std::holds_alternative<Wanted>(events[i]) && nth-- == 0) return event_times[i] - started;
    }
    return Duration::max();
  }

  void flush() {
    while (auto query = server->poll_query()) {
      queries.push_back(*query);
      if (auto answer = handler(*query)) server->answer(query->handle, *answer, now);
    }
    while (auto out = client->poll_output(now)) link.send(link::Direction::ToServer, std::move(*out), now);
    while (auto out = server->poll_output(now))
      link.send(link::Direction::ToClient, std::move(out->payload), now);
    while (auto event = client->poll_event()) {
      events.push_back(std::move(*event));
      event_times.push_back(now);
    }
  }
};

}  // namespace doxlab::test
