#pragma once
/// Lookups of our own clients and servers in virtual time, as packets with the secrets of their sessions.

#include <memory>
#include <string>

#include "dissect/flow.hpp"
#include "dns/message.hpp"
#include "support/datagram_pair.hpp"
#include "support/tls_contexts.hpp"
#include "transport/factory.hpp"
#include "wire.hpp"

namespace doxlab::dissect::test {

/// What a test may vary before it makes a client or a server.
struct Plan {
  explicit Plan(Transport which)
      : transport(which), server_tls(doxlab::test::server_tls_options(std::string(alpn(which)))) {}

  Transport transport;
  tls::ClientOptions client_tls = doxlab::test::client_tls_options();
  tls::ServerOptions server_tls;
  transport::ClientOptions client;
  transport::ServerOptions server;
  link::Impairments path;
  std::string qname = "example.com.";
};

/// The packets of one lookup, or of several one after the other.
struct Lookup {
  std::vector<RecordedPacket> packets;
  std::string key_log;
  Bytes query, answer;  ///< as the application gave and got them
  std::optional<transport::TicketReceived> ticket;
  Bytes token;
  bool answered = false;

  Dissection dissect() const {
    KeyLog keys;
    keys.add(key_log);
    return dissect::dissect(observe(packets), keys);
  }
};

inline void take_events(Lookup& lookup, const transport::Event& event) {
  if (const auto* response = std::get_if<transport::ResponseReceived>(&event)) {
    lookup.answered = true;
    lookup.answer = response->message;
  }
  if (const auto* ticket = std::get_if<transport::TicketReceived>(&event)) lookup.ticket = *ticket;
  if (const auto* token = std::get_if<transport::TokenReceived>(&event)) lookup.token = token->token;
}

class World {
 public:
  explicit World(Plan plan) : plan_(std::move(plan)) {
    plan_.client_tls.key_log = [this](std::string_view line) { key_log_.append(line).append("\n"); };
    if (is_encrypted(plan_.transport)) {
      plan_.client.tls = std::make_shared<tls::ClientContext>(plan_.client_tls);
      plan_.server.tls = std::make_shared<tls::ServerContext>(plan_.server_tls);
    }
    plan_.client.server_name = doxlab::test::kServerName;
    plan_.client.local = doxlab::test::client_address();
    plan_.client.remote = doxlab::test::server_address();
    if (!is_stream(plan_.transport)) server_ = transport::make_datagram_server(plan_.transport, plan_.server);
  }
  World(const World&) = delete;

  Plan& plan() { return plan_; }

  Lookup run() {
    Lookup lookup;
    lookup.query = dns::compose_query(plan_.qname, 1,
                                      {.id = 0, .pad_to_multiple = is_encrypted(plan_.transport) ? 128u : 0u})
                       .value();
    if (is_stream(plan_.transport))
      run_stream(lookup);
    else
      run_datagrams(lookup);
    lookup.key_log = key_log_;
    return lookup;
  }

 private:
  void run_datagrams(Lookup& lookup) {
    doxlab::test::DatagramPair pair(
        transport::make_client_session(plan_.transport, plan_.client, now_).value(), server_, plan_.path,
        now_);
    pair.client->submit(lookup.query);
    pair.client->start(pair.now);
    EXPECT_TRUE(pair.run_to<transport::ResponseReceived>(1, 600s)) << pair.link.transcript();
    pair.run_for(500ms);
    pair.client->close(pair.now);
    pair.run_for(100ms);
    now_ = pair.now + 10s;
    for (const auto& event : pair.events) take_events(lookup, event);
    lookup.packets = packets_of(pair.link, default_port(plan_.transport));
  }

  void run_stream(Lookup& lookup) {
    const auto client = transport::make_client_session(plan_.transport, plan_.client, now_).value();
    const auto server = transport::make_stream_server_session(plan_.transport, plan_.server, now_);
    TcpTape tape(default_port(plan_.transport));
    tape.clock = now_;
    tape.open();
    client->submit(lookup.query);
    client->start(tape.clock);
    bool is_closing = false;
    for (int idle = 0; idle < 2;) {
      bool moved = false;
      while (const auto out = client->poll_output(tape.clock)) {
        tape.send(Direction::ToServer, *out);
        server->receive(*out, tape.clock);
        moved = true;
      }
      while (const auto query = server->poll_query())
        server->answer(query->handle, doxlab::test::response_to(query->message), tape.clock);
      while (const auto out = server->poll_output(tape.clock)) {
        tape.send(Direction::ToClient, *out);
        client->receive(*out, tape.clock);
        moved = true;
      }
      while (const auto event = client->poll_event()) take_events(lookup, *event);
      if (moved) continue;
      ++idle;
      if (!std::exchange(is_closing, true)) client->close(tape.clock);
    }
    EXPECT_TRUE(lookup.answered);
    tape.close(Direction::ToServer);
    tape.close(Direction::ToClient);
    now_ = tape.clock + 10s;
    lookup.packets = std::move(tape.packets);
  }

  Plan plan_;
  std::string key_log_;
  std::shared_ptr<transport::DatagramServer> server_;
  Timestamp now_{1h};
};

}  // namespace doxlab::dissect::test
