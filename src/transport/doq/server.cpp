// The server side of DoQ: all clients of one UDP port.

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "transport/doq/doq.hpp"
#include "transport/framing/framing.hpp"

namespace doxlab::transport {
namespace {

using quic::ConnectionKey;
using quic::StreamId;

/// Half-read queries of all clients together; beyond it whoever sends more loses its connection.
constexpr std::size_t kMaxBufferedBytes = 64 * 1024 * 1024;
/// Cancelled queries that a client has free, and how fast it gets new ones (RFC 9250 §4.3.1 allows a limit).
constexpr double kCancelBurst = 200, kCancelsPerSecond = 50;

class DoqServer final : public DatagramServer {
 public:
  explicit DoqServer(const ServerOptions& options)
      : tls_(options.tls), limits_(options.limits), endpoint_(*tls_, endpoint_options(options)) {}

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
    if (connection == nullptr) return;
    if (message.size() < dns::kHeaderOctets || message.size() > dns::kMaxMessageOctets) {
      connection->reset(stream, code(DoqError::InternalError));
      return;
    }
    if (connection->queued_bytes() + message.size() > limits_.queued_output_bytes) {
      connection->close(code(DoqError::ExcessiveLoad), "answers are not read", now);
      handle_events(now);
      return;
    }
    connection->write(stream, doq_frame(message), true);
  }

  void close(Timestamp now) override {
    endpoint_.close_all(code(DoqError::NoError), now);
    handle_events(now);
  }

 private:
  struct Place {
    ConnectionKey key;
    StreamId stream;
  };
  struct Stream {
    MessageReader query;
    bool early = false;
    bool taken = false;     ///< the query is whole and was passed on
    bool finished = false;  ///< FIN or RESET_STREAM came
    std::optional<QueryHandle> handle;
  };
  struct Peer {
    std::map<StreamId, Stream> streams;
    std::vector<std::pair<StreamId, Bytes>>
        held;  ///< early queries that must not run before the handshake is done
    double cancels_left = kCancelBurst;
    Timestamp cancels_refilled{};
  };
  struct Unfinished {
    Timestamp deadline;
    ConnectionKey key;
    StreamId stream;
  };

  static std::uint64_t code(DoqError error) { return static_cast<std::uint64_t>(error); }

  static quic::EndpointOptions endpoint_options(const ServerOptions& options) {
    quic::EndpointOptions out = options.quic;
    out.connection.max_streams_uni = 0;  // RFC 9250 §4.3.3: nobody opens them
    out.connection.max_streams_bidi =
        std::min<std::uint64_t>(out.connection.max_streams_bidi, options.limits.queries_in_flight);
    return out;
  }

  /// Returns true if there were any.
  bool handle_events(Timestamp now) {
    bool any = false;
    while (const auto key = endpoint_.poll_ready()) {
      any = true;
      quic::Connection& connection = *endpoint_.find(*key);
      while (auto event = connection.poll_event()) {
        std::visit([&](auto& e) { on(*key, connection, e, now); }, *event);
      }
    }
    while (!unfinished_.empty() && !is_unfinished(unfinished_.front())) unfinished_.pop_front();
    return any;
  }

  template <class Other>
  void on(ConnectionKey, quic::Connection&, Other&, Timestamp) {}

  void on(ConnectionKey key, quic::Connection&, quic::HandshakeCompleted&, Timestamp) {
    const auto peer = peers_.find(key);
    if (peer == peers_.end()) return;
    for (auto& [stream, message] : std::exchange(peer->second.held, {})) {
      const auto found = peer->second.streams.find(stream);
      if (found != peer->second.streams.end()) pass_on(key, stream, found->second, std::move(message));
    }
  }

  void on(ConnectionKey key, quic::Connection& connection, quic::StreamData& event, Timestamp now) {
    if (connection.is_closed()) return;
    Peer& peer = peers_[key];
    const auto [found, is_new] = peer.streams.try_emplace(event.id);
    Stream& stream = found->second;
    if (stream.taken) {
      connection.consumed(event.id, event.data.size());
      if (!event.data.empty()) return protocol_error(connection, "more than one query on a stream", now);
      stream.finished = stream.finished || event.fin;
      return;
    }
    stream.early = stream.early || event.early;
    stream.finished = stream.finished || event.fin;
    buffered_bytes_ += event.data.size();
    stream.query.feed(event.data);
    auto message = stream.query.next();
    if (!message) {
      if (event.fin) return protocol_error(connection, "the stream ended before the query", now);
      if (buffered_bytes_ > kMaxBufferedBytes) {
        return connection.close(code(DoqError::ExcessiveLoad), "too many half-sent queries", now);
      }
      if (is_new) unfinished_.push_back({now + limits_.idle_timeout, key, event.id});
      return;
    }
    // Credit comes back with the memory, so a client can make us hold one connection window and no more.
    const std::size_t excess = stream.query.buffered();
    const std::size_t size = kLengthPrefixOctets + message->size() + excess;
    connection.consumed(event.id, size);
    buffered_bytes_ -= size;
    stream.query = MessageReader();
    if (excess > 0) return protocol_error(connection, "more than one query on a stream", now);
    take_query(key, connection, peer, event.id, stream, std::move(*message), now);
  }

  void take_query(ConnectionKey key, quic::Connection& connection, Peer& peer, StreamId id, Stream& stream,
                  Bytes message, Timestamp now) {
    stream.taken = true;
    if (!stream.finished) unfinished_.push_back({now + limits_.idle_timeout, key, id});
    const auto header = dns::read_header(message);
    if (!header) return protocol_error(connection, "a query shorter than a DNS header", now);
    if (header->id != 0) return protocol_error(connection, "a query with a message ID", now);
    if (header->has(dns::kFlagResponse)) return connection.reset(id, code(DoqError::Unspecified));
    if (dns::has_edns_option(message, dns::kOptionKeepalive)) {
      return protocol_error(connection, "edns-tcp-keepalive in a query", now);
    }
    // 0-RTT can be replayed: what may change something waits for the handshake (RFC 9250 §4.5).
    const bool replayable = header->opcode() == 0 || header->opcode() == 4;  // QUERY, NOTIFY
    if (stream.early && !replayable && !connection.handshake_completed()) {
      peer.held.emplace_back(id, std::move(message));
      return;
    }
    pass_on(key, id, stream, std::move(message));
  }

  void pass_on(ConnectionKey key, StreamId id, Stream& stream, Bytes message) {
    const QueryHandle handle{next_handle_++};
    stream.handle = handle;
    places_.emplace(handle, Place{key, id});
    queries_.push_back({handle, std::move(message), stream.early});
  }

  void on(ConnectionKey key, quic::Connection& connection, quic::StreamReset& event, Timestamp now) {
    // The client took its query back: this end resets its direction too (RFC 9250 §4.3.1).
    connection.reset(event.id, code(DoqError::RequestCancelled));
    cancel(key, connection, event.id, now);
  }

  void on(ConnectionKey key, quic::Connection& connection, quic::StopSending& event, Timestamp now) {
    cancel(key, connection, event.id, now);
  }

  void cancel(ConnectionKey key, quic::Connection& connection, StreamId id, Timestamp now) {
    Peer& peer = peers_[key];
    if (const auto stream = peer.streams.find(id); stream != peer.streams.end()) {
      stream->second.finished = true;
      forget(connection, id, stream->second);
    }
    const double elapsed = std::chrono::duration<double>(now - peer.cancels_refilled).count();
    peer.cancels_left = std::min(kCancelBurst, peer.cancels_left + elapsed * kCancelsPerSecond) - 1;
    peer.cancels_refilled = now;
    if (peer.cancels_left < 0)
      connection.close(code(DoqError::ExcessiveLoad), "too many cancelled queries", now);
  }

  void on(ConnectionKey key, quic::Connection& connection, quic::StreamClosed& event, Timestamp) {
    const auto peer = peers_.find(key);
    if (peer == peers_.end()) return;
    const auto stream = peer->second.streams.find(event.id);
    if (stream == peer->second.streams.end()) return;
    forget(connection, event.id, stream->second);
    peer->second.streams.erase(stream);
  }

  void on(ConnectionKey key, quic::Connection& connection, quic::Closed&, Timestamp) {
    const auto peer = peers_.find(key);
    if (peer == peers_.end()) return;
    for (auto& [id, stream] : peer->second.streams) forget(connection, id, stream);
    peers_.erase(peer);
  }

  // Lets go of a stream's memory and of the work that was to answer it.
  void forget(quic::Connection& connection, StreamId id, Stream& stream) {
    connection.consumed(id, stream.query.buffered());
    buffered_bytes_ -= stream.query.buffered();
    stream.query = MessageReader();
    stream.taken = true;
    if (stream.handle) places_.erase(*stream.handle);
  }

  void protocol_error(quic::Connection& connection, std::string_view what, Timestamp now) {
    connection.close(code(DoqError::ProtocolError), what, now);
  }

  bool is_unfinished(const Unfinished& entry) const {
    const auto peer = peers_.find(entry.key);
    if (peer == peers_.end()) return false;
    const auto stream = peer->second.streams.find(entry.stream);
    return stream != peer->second.streams.end() && !stream->second.finished;
  }

  // A stream that stays without its FIN would occupy its place for ever (RFC 9250 §4.3.3).
  void end_stalled(Timestamp now) {
    while (!unfinished_.empty() && unfinished_.front().deadline <= now) {
      const Unfinished entry = unfinished_.front();
      unfinished_.pop_front();
      if (!is_unfinished(entry)) continue;
      if (quic::Connection* connection = endpoint_.find(entry.key)) {
        protocol_error(*connection, "no FIN after the query", now);
      }
    }
    handle_events(now);
  }

  std::shared_ptr<const tls::ServerContext> tls_;  ///< outlives the endpoint
  ServerLimits limits_;
  quic::Endpoint endpoint_;
  std::unordered_map<ConnectionKey, Peer> peers_;
  std::map<QueryHandle, Place> places_;  ///< queries that still want an answer
  std::deque<IncomingQuery> queries_;
  std::deque<Unfinished> unfinished_;  ///< by deadline
  std::size_t buffered_bytes_ = 0;
  std::uint64_t next_handle_ = 1;
};

}  // namespace

std::unique_ptr<DatagramServer> make_doq_server(const ServerOptions& options) {
  if (!options.tls) throw std::runtime_error("DoQ needs a TLS context");
  return std::make_unique<DoqServer>(options);
}

}  // namespace doxlab::transport
