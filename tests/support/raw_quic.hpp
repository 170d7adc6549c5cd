#pragma once
/// QUIC ends without a protocol on top, in the shape of sessions, so that tests can do on a connection what
/// a well-behaved client or server never does.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quic/endpoint.hpp"
#include "support/datagram_pair.hpp"
#include "support/tls_contexts.hpp"

namespace doxlab::test {

class RawQuicClient final : public transport::ClientSession {
 public:
  RawQuicClient(const tls::ClientContext& context, const quic::Options& options, const std::string& alpn,
                Timestamp now, const tls::Ticket* ticket = nullptr, BytesView transport_parameters = {},
                BytesView token = {}, SocketAddress local = client_address())
      : local_(local) {
    quic::ClientParameters parameters;
    parameters.server_name = kServerName;
    parameters.alpn = alpn;
    parameters.local = local;
    parameters.remote = server_address();
    parameters.ticket = ticket;
    parameters.remembered_transport_parameters = transport_parameters;
    parameters.token = token;
    connection = quic::Connection::connect(context, options, parameters, now).value();
  }

  std::unique_ptr<quic::Connection> connection;
  std::vector<quic::Event> seen;
  std::function<void(quic::Event&)> on_event;  ///< called for each event before it is kept

  /// All bytes that came on a stream.
  const Bytes& received(quic::StreamId id) { return received_[id]; }
  template <class Wanted>
  const Wanted* find() const {
    for (const auto& event : seen) {
      if (const auto* wanted = std::get_if<Wanted>(&event)) return wanted;
    }
    return nullptr;
  }

  transport::QueryHandle submit(BytesView) override { return {}; }
  void start(Timestamp) override {}
  void receive(BytesView input, Timestamp now) override {
    connection->receive(local_, server_address(), input, now);
    drain();
  }
  void receive_end(Timestamp) override {}
  std::optional<Timestamp> next_timeout() const override { return connection->next_timeout(); }
  void on_timeout(Timestamp now) override {
    connection->on_timeout(now);
    drain();
  }
  std::optional<Bytes> poll_output(Timestamp now) override {
    auto out = connection->poll_datagram(now);
    drain();
    return out;
  }
  std::optional<transport::Event> poll_event() override { return std::nullopt; }
  void close(Timestamp now) override { connection->close(0, {}, now); }

 private:
  void drain() {
    while (auto event = connection->poll_event()) {
      if (const auto* data = std::get_if<quic::StreamData>(&*event)) {
        Bytes& all = received_[data->id];
        all.insert(all.end(), data->data.begin(), data->data.end());
      }
      if (on_event) on_event(*event);
      seen.push_back(std::move(*event));
    }
  }

  std::map<quic::StreamId, Bytes> received_;
  SocketAddress local_;
};

/// Gives every event to `on_event` with the connection it belongs to.
class RawQuicServer final : public transport::DatagramServer {
 public:
  using Handler = std::function<void(quic::Connection&, quic::Event&, Timestamp)>;

  RawQuicServer(const tls::ServerContext& context, quic::EndpointOptions options, Handler handler)
      : endpoint(context, std::move(options)), on_event_(std::move(handler)) {}

  quic::Endpoint endpoint;
  std::vector<quic::Event> seen;

  template <class Wanted>
  const Wanted* find() const {
    for (const auto& event : seen) {
      if (const auto* wanted = std::get_if<Wanted>(&event)) return wanted;
    }
    return nullptr;
  }

  void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram,
               Timestamp now) override {
    endpoint.receive(local, peer, datagram, now);
    drain(now);
  }
  std::optional<Timestamp> next_timeout() const override { return endpoint.next_timeout(); }
  void on_timeout(Timestamp now) override {
    endpoint.on_timeout(now);
    drain(now);
  }
  std::optional<Output> poll_output(Timestamp now) override {
    auto out = endpoint.poll_datagram(now);
    drain(now);
    if (!out) return std::nullopt;
    return Output{out->peer, std::move(out->payload)};
  }
  std::optional<transport::IncomingQuery> poll_query() override { return std::nullopt; }
  void answer(transport::QueryHandle, BytesView, Timestamp) override {}
  void close(Timestamp now) override { endpoint.close_all(0, now); }

 private:
  void drain(Timestamp now) {
    while (const auto key = endpoint.poll_ready()) {
      while (auto event = endpoint.find(*key)->poll_event()) {
        if (on_event_) on_event_(*endpoint.find(*key), *event, now);
        seen.push_back(std::move(*event));
      }
    }
  }

  Handler on_event_;
};

/// Sends back what came on each bidirectional stream, FIN after FIN.
inline RawQuicServer::Handler echo() {
  return [](quic::Connection& connection, quic::Event& event, Timestamp) {
    if (auto* data = std::get_if<quic::StreamData>(&event)) {
      connection.consumed(data->id, data->data.size());
      if ((data->id & 2) == 0) connection.write(data->id, data->data, data->fin);
    }
  };
}

}  // namespace doxlab::test
