// The server side of DoH3: all clients of one UDP port.

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/h3.hpp"
#include "transport/doh/exchange.hpp"
#include "transport/doh3/doh3.hpp"

namespace doxlab::transport {
namespace {

using quic::ConnectionKey;
using quic::StreamId;

bool is_request_stream(StreamId id) {
  return (id & 3) == 0;
}

class Doh3Server final : public DatagramServer {
 public:
  explicit Doh3Server(const ServerOptions& options)
      : tls_(options.tls),
        path_(options.doh_path),
        limits_(options.limits),
        endpoint_(*tls_, endpoint_options(options)) {}

  void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram,
               Timestamp now) override {
    endpoint_.receive(local, peer, datagram, now);
    handle_events(now);
  }

  std::optional<Timestamp> next_timeout() const override {
    const auto due = endpoint_.next_timeout();
    if (unfinished_.empty()) return due;
    return due ? std::min(*due, unfinished_.front().deadline) : unfinished_.front().deadline;
  }

  void on_timeout(Timestamp now) override {
    endpoint_.on_timeout(now);
    handle_events(now);
    end_stalled(now);
  }

  std::optional<Output> poll_output(Timestamp now) override {
    do {
      if (auto datagram = endpoint_.poll_datagram(now))
        return Output{datagram->peer, std::move(datagram->payload)};
    } while (handle_events(now));  // what is learnt while sending may want an answer
    return std::nullopt;
  }

  std::optional<IncomingQuery> poll_query() override {
    while (!queries_.empty()) {
      IncomingQuery query = std::move(queries_.front());
      queries_.pop_front();
      if (places_.contains(query.handle)) return query;  // else cancelled before anyone looked at it
    }
    return std::nullopt;
  }

  void answer(QueryHandle handle, BytesView message, Timestamp now) override {
    const auto found = places_.find(handle);
    if (found == places_.end()) return;
    const auto [key, stream] = found->second;
    places_.erase(found);
    quic::Connection* connection = endpoint_.find(key);
    const auto peer = peers_.find(key);
    if (connection == nullptr || peer == peers_.end()) return;
    peer->second.handles.erase(stream);
    if (connection->queued_bytes() + message.size() > limits_.queued_output_bytes) {
      connection->close(http::kH3ExcessiveLoad, "answers are not read", now);
    } else {
      peer->second.http.respond(static_cast<http::RequestId>(stream), make_doh_response(message));
      carry(*connection, peer->second, now);
    }
    endpoint_.touch(key);
    handle_events(now);
  }

  void close(Timestamp now) override {
    endpoint_.close_all(http::kH3NoError, now);
    handle_events(now);
  }

 private:
  struct Place {
    ConnectionKey key;
    StreamId stream;
  };
  struct Peer {
    explicit Peer(const http::H2Limits& limits) : http(limits) {}
    http::H3Server http;
    std::vector<StreamId> control_streams;    ///< ours
    std::map<StreamId, QueryHandle> handles;  ///< queries that still want an answer
    std::set<StreamId> early;                 ///< requests of which some came as 0-RTT
    std::set<StreamId> unfinished;            ///< requests without FIN
  };
  struct Unfinished {
    Timestamp deadline;
    ConnectionKey key;
    StreamId stream;
  };

  static quic::EndpointOptions endpoint_options(const ServerOptions& options) {
    quic::EndpointOptions out = options.quic;
    out.connection.max_streams_uni = kDoh3UnidirectionalStreams;
    out.connection.max_streams_bidi =
        std::min<std::uint64_t>(out.connection.max_streams_bidi, options.limits.queries_in_flight);
    return out;
  }

  /// Returns true if there were any.
  bool handle_events(Timestamp now) {
    bool any = false;
    while (const auto key = endpoint_.poll_ready()) {
      any = true;
      quic::Connection* connection = endpoint_.find(*key);
      if (connection == nullptr) continue;
      Peer& peer = peers_.try_emplace(*key, http_limits(limits_)).first->second;
      bool closed = false;
      while (auto event = connection->poll_event()) {
        closed = closed || std::holds_alternative<quic::Closed>(*event);
        std::visit([&](auto& e) { on(*key, *connection, peer, e, now); }, *event);
      }
      if (closed) {
        forget(*key);
        continue;
      }
      open_control_streams(*connection, peer);
      take_requests(*key, peer);
      carry(*connection, peer, now);
      endpoint_.touch(*key);
    }
    while (!unfinished_.empty() && !is_unfinished(unfinished_.front())) unfinished_.pop_front();
    return any;
  }

  template <class Other>
  void on(ConnectionKey, quic::Connection&, Peer&, Other&, Timestamp) {}

  void on(ConnectionKey key, quic::Connection& connection, Peer& peer, quic::StreamData& event,
          Timestamp now) {
    if (connection.is_closed()) return;
    if (is_request_stream(event.id)) {
      if (event.early) peer.early.insert(event.id);
      if (event.fin) {
        peer.unfinished.erase(event.id);
      } else if (peer.unfinished.insert(event.id).second) {
        unfinished_.push_back({now + limits_.idle_timeout, key, event.id});
      }
    }
    peer.http.receive(event.id, event.data, event.fin);
    connection.consumed(event.id, event.data.size());
  }

  void on(ConnectionKey, quic::Connection&, Peer& peer, quic::StreamReset& event, Timestamp) {
    peer.unfinished.erase(event.id);
    peer.http.stream_reset(event.id, event.code);
    if (!peer.http.is_open(static_cast<http::RequestId>(event.id))) detach(peer, event.id);
  }

  void on(ConnectionKey, quic::Connection&, Peer& peer, quic::StopSending& event, Timestamp) {
    peer.http.stop_sending(event.id, event.code);
    detach(peer, event.id);
  }

  void on(ConnectionKey, quic::Connection&, Peer& peer, quic::StreamClosed& event, Timestamp) {
    peer.http.stream_closed(event.id, http::kH3NoError);
    peer.unfinished.erase(event.id);
    peer.early.erase(event.id);
    detach(peer, event.id);
  }

  /// Control and QPACK streams, once the client's limits allow them.
  static void open_control_streams(quic::Connection& connection, Peer& peer) {
    auto& streams = peer.control_streams;
    while (streams.size() < 3) {
      const auto stream = connection.open_unidirectional();
      if (!stream) return;
      streams.push_back(*stream);
      if (streams.size() == 3) peer.http.bind_streams(streams[0], streams[1], streams[2]);
    }
  }

  void take_requests(ConnectionKey key, Peer& peer) {
    while (auto incoming = peer.http.poll_request()) {
      const auto stream = static_cast<StreamId>(incoming->id);
      const bool early = peer.early.contains(stream);
      auto query = read_doh_query(incoming->request, path_, early);
      if (!query) {
        peer.http.respond(incoming->id, query.error());
        continue;
      }
      const QueryHandle handle{next_handle_++};
      places_.emplace(handle, Place{key, stream});
      peer.handles.emplace(stream, handle);
      queries_.push_back({handle, std::move(*query), early});
    }
  }

  /// Carries what HTTP has to say to the connection.
  static void carry(quic::Connection& connection, Peer& peer, Timestamp now) {
    while (auto write = peer.http.poll_write()) connection.write(write->stream, write->data, write->fin);
    while (auto error = peer.http.poll_stream_error()) {
      connection.stop_sending(error->stream, error->code);
      if (error->reset) connection.reset(error->stream, error->code);
    }
    if (peer.http.has_failed()) connection.close(peer.http.close_code(), {}, now);
  }

  /// Nobody waits for the answer on this stream any more.
  void detach(Peer& peer, StreamId stream) {
    const auto found = peer.handles.find(stream);
    if (found == peer.handles.end()) return;
    places_.erase(found->second);
    peer.handles.erase(found);
  }

  void forget(ConnectionKey key) {
    const auto peer = peers_.find(key);
    for (const auto& [stream, handle] : peer->second.handles) places_.erase(handle);
    peers_.erase(peer);
  }

  bool is_unfinished(const Unfinished& entry) const {
    const auto peer = peers_.find(entry.key);
    return peer != peers_.end() && peer->second.unfinished.contains(entry.stream);
  }

  /// A request that stays without its end would occupy its place for ever.
  void end_stalled(Timestamp now) {
    while (!unfinished_.empty() && unfinished_.front().deadline <= now) {
      const Unfinished entry = unfinished_.front();
      unfinished_.pop_front();
      quic::Connection* connection = endpoint_.find(entry.key);
      if (!is_unfinished(entry) || connection == nullptr) continue;
      Peer& peer = peers_.at(entry.key);
      peer.unfinished.erase(entry.stream);
      peer.http.abandon(static_cast<http::RequestId>(entry.stream), http::kH3RequestIncomplete);
      carry(*connection, peer, now);
      endpoint_.touch(entry.key);
    }
    handle_events(now);
  }

  std::shared_ptr<const tls::ServerContext> tls_;  ///< outlives the endpoint
  std::string path_;
  ServerLimits limits_;
  quic::Endpoint endpoint_;
  std::unordered_map<ConnectionKey, Peer> peers_;
  std::map<QueryHandle, Place> places_;  ///< queries that still want an answer
  std::deque<IncomingQuery> queries_;
  std::deque<Unfinished> unfinished_;  ///< by deadline
  std::uint64_t next_handle_ = 1;
};

}  // namespace

std::unique_ptr<DatagramServer> make_doh3_server(const ServerOptions& options) {
  if (!options.tls) throw std::runtime_error("DoH3 needs a TLS context");
  return std::make_unique<Doh3Server>(options);
}

}  // namespace doxlab::transport
