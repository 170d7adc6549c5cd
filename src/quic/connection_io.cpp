// Datagrams in, datagrams out, timers, and the milestones of the handshake.

#include <algorithm>
#include <array>

#include "quic/connection_state.hpp"

namespace doxlab::quic::internal {

// ngtcp2 asserts that time never runs backwards.
ngtcp2_tstamp ConnectionState::tick(Timestamp now) {
  last_tick_ = std::max(last_tick_, to_ns(now));
  return last_tick_;
}

int ConnectionState::receive(const SocketAddress& local, const SocketAddress& remote, BytesView datagram,
                             Timestamp now) {
  if (phase_ == Phase::Closing) {
    // Answered at a falling rate, and never with more than three times what came (RFC 9000 §10.2.1, §8.1).
    ++received_while_closing_;
    const bool power_of_two = (received_while_closing_ & (received_while_closing_ - 1)) == 0;
    if (power_of_two && datagram.size() * 3 >= close_packet_.size()) close_packet_due_ = true;
    return 0;
  }
  if (phase_ != Phase::Active || datagram.empty()) return 0;
  const ngtcp2_tstamp at = tick(now);
  const PathValue path(local, remote);
  if (const int rv = ngtcp2_conn_read_pkt(conn_, path.get(), nullptr, datagram.data(), datagram.size(), at);
      rv != 0) {
    on_read_error(rv, at);
    return rv;
  }
  if (early_data_rejected_ || !awaiting_opening_.empty()) reopen_early_streams();
  if (!is_server_ && handshake_completed_) take_tickets();
  return 0;
}

void ConnectionState::on_timeout(Timestamp now) {
  const ngtcp2_tstamp at = tick(now);
  if (phase_ == Phase::Closing || phase_ == Phase::Draining) {
    if (at >= deadline_) end(Phase::Dead, at);
    return;
  }
  if (phase_ != Phase::Active || at < ngtcp2_conn_get_expiry(conn_)) return;
  switch (const int rv = ngtcp2_conn_handle_expiry(conn_, at)) {
    case 0:
      return;
    case NGTCP2_ERR_IDLE_CLOSE:
      emit_closed(CloseKind::IdleTimeout, 0, "idle timeout");
      end(Phase::Dead, at);
      return;
    default:
      fail_with(rv, at);
      return;
  }
}

std::optional<Timestamp> ConnectionState::next_timeout() const {
  switch (phase_) {
    case Phase::Dead:
      return std::nullopt;
    case Phase::Closing:
    case Phase::Draining:
      return from_ns(deadline_);
    case Phase::Active:
      break;
  }
  const ngtcp2_tstamp expiry = ngtcp2_conn_get_expiry(conn_);
  if (pacing_blocked_) return from_ns(std::min(expiry, pacing_until_));
  if (expiry == UINT64_MAX) return std::nullopt;
  return from_ns(expiry);
}

std::optional<Outgoing> ConnectionState::poll(Timestamp now) {
  if (phase_ == Phase::Closing && close_packet_due_) {
    close_packet_due_ = false;
    return Outgoing{remote_, close_packet_};
  }
  if (phase_ != Phase::Active) return std::nullopt;
  const ngtcp2_tstamp at = tick(now);
  pacing_blocked_ = false;
  // BBR's rate is known to ngtcp2 alone, so it paces itself.
  const bool own_pacing = options_.congestion != CongestionControl::Bbr;
  if (own_pacing && !pacer_.has_burst_left()) {
    ngtcp2_conn_info info;
    ngtcp2_conn_get_conn_info(conn_, &info);
    if (const auto until = pacer_.blocked_until(at, info.cwnd, info.smoothed_rtt)) {
      pacing_blocked_ = true;
      pacing_until_ = *until;
      return std::nullopt;
    }
  }
  auto packet = write_packet(at);
  if (packet) pacer_.sent(packet->payload.size());
  if (!is_server_ && !first_flight_sent_) packet = with_copies(std::move(packet));
  if (phase_ == Phase::Closing && close_packet_due_) return poll(now);  // writing failed: one last packet
  if (!packet && !own_pacing && phase_ == Phase::Active) ngtcp2_conn_update_pkt_tx_time(conn_, at);
  return packet;
}

std::optional<Outgoing> ConnectionState::with_copies(std::optional<Outgoing>&& packet) {
  if (packet) {
    for (std::size_t copy = 1; copy < options_.first_flight_copies; ++copy) copies_.push_back(*packet);
    return std::move(packet);
  }
  if (copies_.empty()) {
    first_flight_sent_ = true;
    return std::nullopt;
  }
  auto copy = std::move(copies_.front());
  copies_.pop_front();
  return copy;
}

// Takes the queued streams in turn, as many as fit, so that each makes progress in every round.
std::optional<Outgoing> ConnectionState::write_packet(ngtcp2_tstamp now) {
  const WithheldCrypto::Writing current(options_.withhold_initial_retransmission ? &withheld_ : nullptr);
  Bytes buffer(options_.datagram_bytes);
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  std::size_t candidates = sendable_.size();
  for (;;) {
    const std::optional<StreamId> id = next_sendable(candidates);
    std::array<ngtcp2_vec, 16> pieces;
    SendBuffer::Unsent unsent;
    std::uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    if (id) {
      unsent = stream(*id).output.unsent(pieces);
      flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (unsent.fin ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0u);
    }
    ngtcp2_ssize taken = -1;
    // No packet info: sockets here do not set ECN, and ngtcp2 must not believe that they do.
    const ngtcp2_ssize written =
        ngtcp2_conn_writev_stream(conn_, &path.path, nullptr, buffer.data(), buffer.size(), &taken, flags,
                                  id.value_or(-1), pieces.data(), unsent.pieces, now);
    if (id) {
      if (taken >= 0) {
        const auto bytes = static_cast<std::uint64_t>(taken);
        stream(*id).output.mark_sent(bytes, unsent.fin && bytes == unsent.bytes);
      }
      switch (written) {
        case NGTCP2_ERR_STREAM_NOT_FOUND:
          continue;
        case NGTCP2_ERR_STREAM_SHUT_WR:
          report_stop_sending(*id, stream(*id), 0);
          continue;
        case NGTCP2_ERR_STREAM_DATA_BLOCKED:
          // By the stream's window: extend_max_stream_data puts it back. By the connection's, which has no
          // callback: it stays in the queue and is tried again with the next packet.
          if (ngtcp2_conn_get_max_stream_data_left(conn_, *id) == 0) {
            stream(*id).blocked = true;
          } else {
            enqueue(*id, stream(*id));
          }
          continue;
        default:
          break;
      }
      if (taken < 0 && written >= 0) {
        stream(*id).queued = true;  // no room this time: still first in the queue
        sendable_.push_front(*id);
      } else {
        enqueue(*id, stream(*id));
      }
      if (written == NGTCP2_ERR_WRITE_MORE) continue;
    }
    if (written < 0) {
      fail_with(static_cast<int>(written), now);
      return std::nullopt;
    }
    if (written == 0) return std::nullopt;
    buffer.resize(static_cast<std::size_t>(written));
    return Outgoing{from_kernel(path.path.remote.addr), std::move(buffer)};
  }
}

void ConnectionState::on_handshake_completed() {
  handshake_completed_ = true;
  const tls::HandshakeInfo info = tls::handshake_info(ssl_.get());
  if (is_server_) {
    const Bytes token = hooks_->make_address_token(remote_, last_tick_);
    if (!token.empty()) ngtcp2_conn_submit_new_token(conn_, token.data(), token.size());
  } else if (early_data_offered_ && info.early_data != tls::EarlyData::Accepted) {
    // Throws every stream away; receive() opens them again once ngtcp2 is out of this callback.
    ngtcp2_conn_tls_early_data_rejected(conn_);
    early_data_rejected_ = true;
  }
  events_.push_back(HandshakeCompleted{info});
}

void ConnectionState::take_tickets() {
  while (auto ticket = tls::take_ticket(ssl_.get())) {
    std::array<std::uint8_t, 256> encoded;
    const ngtcp2_ssize length =
        ngtcp2_conn_encode_0rtt_transport_params(conn_, encoded.data(), encoded.size());
    Bytes parameters;
    if (length > 0) parameters.assign(encoded.begin(), encoded.begin() + length);
    events_.push_back(TicketReceived{std::move(*ticket), std::move(parameters)});
  }
}

std::optional<Event> ConnectionState::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

Counters ConnectionState::counters() const {
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(conn_, &info);
  return {.packets_sent = info.pkt_sent,
          .packets_received = info.pkt_recv,
          .packets_lost = info.pkt_lost,
          .packets_discarded = info.pkt_discarded,
          .smoothed_rtt = Duration{static_cast<std::int64_t>(info.smoothed_rtt)},
          .congestion_window_bytes = info.cwnd};
}

}  // namespace doxlab::quic::internal
