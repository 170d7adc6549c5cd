// Streams: opening, writing, resetting, credit, and 0-RTT streams that must be sent again.

#include <utility>

#include "quic/connection_state.hpp"

namespace doxlab::quic::internal {

std::optional<StreamId> ConnectionState::open(bool bidirectional) {
  // IDs are given in order, so streams of rejected 0-RTT come first.
  if (phase_ != Phase::Active || !awaiting_opening_.empty()) return std::nullopt;
  StreamId id = -1;
  const int rv = bidirectional ? ngtcp2_conn_open_bidi_stream(conn_, &id, nullptr)
                               : ngtcp2_conn_open_uni_stream(conn_, &id, nullptr);
  if (rv != 0) return std::nullopt;
  stream(id);
  return id;
}

void ConnectionState::write(StreamId id, BytesView data, bool fin) {
  const auto found = streams_.find(id);
  if (phase_ != Phase::Active || found == streams_.end() || found->second.reset_code) return;
  found->second.output.append(data, fin);
  enqueue(id, found->second);
}

void ConnectionState::reset(StreamId id, std::uint64_t code) {
  const auto found = streams_.find(id);
  if (phase_ != Phase::Active || found == streams_.end()) return;
  found->second.reset_code = code;
  // What was sent stays in the buffer until ngtcp2 lets go of the stream.
  ngtcp2_conn_shutdown_stream_write(conn_, 0, id, code);
}

void ConnectionState::stop_sending(StreamId id, std::uint64_t code) {
  const auto found = streams_.find(id);
  if (phase_ != Phase::Active || found == streams_.end()) return;
  found->second.stop_code = code;
  ngtcp2_conn_shutdown_stream_read(conn_, 0, id, code);
}

void ConnectionState::consumed(StreamId id, std::size_t count) {
  if (phase_ != Phase::Active || count == 0) return;
  ngtcp2_conn_extend_max_stream_offset(conn_, id, count);
  ngtcp2_conn_extend_max_offset(conn_, count);
}

std::uint64_t ConnectionState::queued_bytes() const {
  std::uint64_t total = 0;
  for (const auto& [id, stream] : streams_) total += stream.output.unacknowledged_bytes();
  return total;
}

void ConnectionState::enqueue(StreamId id, Stream& stream) {
  if (stream.queued || stream.blocked || stream.awaits_opening || stream.reset_code ||
      !stream.output.has_pending()) {
    return;
  }
  stream.queued = true;
  sendable_.push_back(id);
}

// Takes the next stream out of the queue. `candidates` bounds a round: those put back count for the next.
std::optional<StreamId> ConnectionState::next_sendable(std::size_t& candidates) {
  while (candidates > 0 && !sendable_.empty()) {
    --candidates;
    const StreamId id = sendable_.front();
    sendable_.pop_front();
    const auto found = streams_.find(id);
    if (found == streams_.end()) continue;
    found->second.queued = false;
    if (found->second.output.has_pending() && !found->second.reset_code) return id;
  }
  return std::nullopt;
}

void ConnectionState::report_stop_sending(StreamId id, Stream& stream, std::uint64_t code) {
  if (std::exchange(stream.stop_reported, true)) return;
  events_.push_back(StopSending{id, code});
}

void ConnectionState::push_stream_data(StreamData&& data) {
  if (!events_.empty()) {
    auto* last = std::get_if<StreamData>(&events_.back());
    if (last != nullptr && last->id == data.id && last->early == data.early && !last->fin) {
      last->data.insert(last->data.end(), data.data.begin(), data.data.end());
      last->fin = data.fin;
      return;
    }
  }
  events_.push_back(std::move(data));
}

// ngtcp2 has forgotten the streams of rejected 0-RTT and their IDs. Opened again in the same order they get
// the same IDs, and what was written on them is sent once more. If the server now allows fewer, the rest
// waits for its MAX_STREAMS.
void ConnectionState::reopen_early_streams() {
  if (std::exchange(early_data_rejected_, false)) {
    sendable_.clear();
    for (auto& [id, stream] : streams_) {
      stream.queued = stream.blocked = false;
      if (!is_local(id)) continue;
      stream.output.rewind();
      stream.awaits_opening = true;
      awaiting_opening_.push_back(id);
    }
  }
  std::deque<StreamId> still_waiting;
  for (const StreamId id : std::exchange(awaiting_opening_, {})) {
    StreamId opened = -1;
    const int rv = ngtcp2_is_bidi_stream(id) != 0 ? ngtcp2_conn_open_bidi_stream(conn_, &opened, nullptr)
                                                  : ngtcp2_conn_open_uni_stream(conn_, &opened, nullptr);
    if (rv != 0) {
      still_waiting.push_back(id);
      continue;
    }
    Stream& again = stream(id);
    again.awaits_opening = false;
    if (again.reset_code) ngtcp2_conn_shutdown_stream_write(conn_, 0, id, *again.reset_code);
    if (again.stop_code) ngtcp2_conn_shutdown_stream_read(conn_, 0, id, *again.stop_code);
    enqueue(id, again);
  }
  awaiting_opening_ = std::move(still_waiting);
}

}  // namespace doxlab::quic::internal
