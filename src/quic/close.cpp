// How a connection ends (RFC 9000 §10).

#include <array>
#include <format>

#include "quic/connection_state.hpp"

namespace doxlab::quic {

std::string transport_error_text(std::uint64_t code) {
  static constexpr std::array kNames = {
      "NO_ERROR", "INTERNAL_ERROR", "CONNECTION_REFUSED", "FLOW_CONTROL_ERROR", "STREAM_LIMIT_ERROR",
      "STREAM_STATE_ERROR", "FINAL_SIZE_ERROR", "FRAME_ENCODING_ERROR", "TRANSPORT_PARAMETER_ERROR",
      "CONNECTION_ID_LIMIT_ERROR", "PROTOCOL_VIOLATION", "INVALID_TOKEN", "APPLICATION_ERROR",
      "CRYPTO_BUFFER_EXCEEDED", "KEY_UPDATE_ERROR", "AEAD_LIMIT_REACHED", "NO_VIABLE_PATH"};
  if (code < kNames.size()) return std::format("{} ({:#x})", kNames[code], code);
  if (code >= 0x100 && code <= 0x1ff)
    return std::format("the TLS alert {} ({:#x})", tls::alert_name(static_cast<int>(code - 0x100)), code);
  return std::format("QUIC error {:#x}", code);
}

}  // namespace doxlab::quic

namespace doxlab::quic::internal {

void ConnectionState::close(std::uint64_t application_code, std::string_view reason, Timestamp now) {
  if (phase_ != Phase::Active) return;
  const ngtcp2_tstamp at = tick(now);
  ngtcp2_ccerr error;
  ngtcp2_ccerr_set_application_error(&error, application_code,
                                     reinterpret_cast<const std::uint8_t*>(reason.data()), reason.size());
  send_close(error, at);
  emit_closed(CloseKind::Local, application_code, std::string(reason));
}

void ConnectionState::on_read_error(int library_error, ngtcp2_tstamp now) {
  switch (library_error) {
    case NGTCP2_ERR_RETRY:
    case NGTCP2_ERR_DROP_CONN:
      end(Phase::Dead, now);  // the endpoint drops it; the application has never seen it
      return;
    case NGTCP2_ERR_DRAINING:
      on_peer_close(now);
      return;
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
      emit_closed(CloseKind::VersionMismatch, 0, "the server does not speak this QUIC version");
      end(Phase::Dead, now);
      return;
    default:
      fail_with(library_error, now);
      return;
  }
}

void ConnectionState::on_peer_close(ngtcp2_tstamp now) {
  if (stateless_reset_) {
    emit_closed(CloseKind::StatelessReset, 0, "stateless reset");
    end(Phase::Draining, now);
    return;
  }
  const ngtcp2_ccerr* error = ngtcp2_conn_get_ccerr(conn_);
  const CloseKind kind =
      error->type == NGTCP2_CCERR_TYPE_APPLICATION ? CloseKind::PeerApplication : CloseKind::PeerTransport;
  std::string reason;
  if (error->reason != nullptr) reason = as_text({error->reason, error->reasonlen});
  emit_closed(kind, error->error_code, std::move(reason));
  end(Phase::Draining, now);
}

void ConnectionState::fail_with(int library_error, ngtcp2_tstamp now) {
  ngtcp2_ccerr error;
  ngtcp2_ccerr_default(&error);
  CloseKind kind = CloseKind::ProtocolError;
  std::string detail = ngtcp2_strerror(library_error);
  if (library_error == NGTCP2_ERR_CRYPTO) {
    if (const std::uint8_t alert = ngtcp2_conn_get_tls_alert(conn_); alert != 0) {
      ngtcp2_ccerr_set_tls_alert(&error, alert, nullptr, 0);
      kind = CloseKind::Refused;
      detail = tls::last_error(ssl_.get());
    } else if (const int inner = ngtcp2_conn_get_tls_error(conn_); inner != 0) {
      ngtcp2_ccerr_set_liberr(&error, inner, nullptr, 0);  // for example bad transport parameters
      detail = ngtcp2_strerror(inner);
    } else {
      ngtcp2_ccerr_set_liberr(&error, library_error, nullptr, 0);
      kind = CloseKind::Refused;
      detail = tls::last_error(ssl_.get());
    }
  } else {
    ngtcp2_ccerr_set_liberr(&error, library_error, nullptr, 0);
    if (library_error == NGTCP2_ERR_HANDSHAKE_TIMEOUT) {
      kind = CloseKind::HandshakeTimeout;
      detail = "handshake timeout";
    } else if (library_error == NGTCP2_ERR_VERSION_NEGOTIATION_FAILURE) {
      kind = CloseKind::VersionMismatch;
    }
  }
  const std::uint64_t code = error.error_code;
  send_close(error, now);
  emit_closed(kind, code, std::move(detail));
}

// Keeps the packet: ngtcp2 makes it once, and after that nothing else may be written.
void ConnectionState::send_close(const ngtcp2_ccerr& error, ngtcp2_tstamp now) {
  Bytes packet(options_.datagram_bytes);
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  const ngtcp2_ssize written = ngtcp2_conn_write_connection_close(conn_, &path.path, nullptr, packet.data(),
                                                                  packet.size(), &error, now);
  if (written <= 0) {
    // Nothing was ever sent, or the amplification limit leaves no room: there is nothing to say goodbye to.
    end(Phase::Dead, now);
    return;
  }
  packet.resize(static_cast<std::size_t>(written));
  close_packet_ = std::move(packet);
  close_packet_due_ = true;
  end(Phase::Closing, now);
}

void ConnectionState::end(Phase phase, ngtcp2_tstamp now) {
  phase_ = phase;
  if (phase == Phase::Closing || phase == Phase::Draining) deadline_ = now + 3 * ngtcp2_conn_get_pto(conn_);
}

void ConnectionState::emit_closed(CloseKind kind, std::uint64_t code, std::string detail) {
  events_.push_back(Closed{kind, code, std::move(detail)});
}

}  // namespace doxlab::quic::internal
