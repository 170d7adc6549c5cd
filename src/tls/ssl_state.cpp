#include "tls/ssl_state.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

namespace doxlab::tls::internal {
namespace {

void free_state(void*, void* state, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<SslState*>(state); }

void free_context_state(void*, void* state, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<ContextState*>(state);
}

int ssl_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, free_state);
  return index;
}

int context_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_context_state);
  return index;
}

// A HelloRetryRequest is a ServerHello whose random is SHA-256("HelloRetryRequest") (RFC 8446 §4.1.3).
constexpr std::array<std::uint8_t, 32> kHelloRetryRequestRandom = {
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C};

void on_message(int, int, int content_type, const void* data, std::size_t length, SSL* ssl, void*) {
  constexpr std::size_t kRandomOffset = 4 + 2;  // handshake header, legacy_version
  if (content_type != SSL3_RT_HANDSHAKE || length < kRandomOffset + kHelloRetryRequestRandom.size()) return;
  const auto* message = static_cast<const std::uint8_t*>(data);
  if (message[0] != SSL3_MT_SERVER_HELLO) return;
  if (std::ranges::equal(kHelloRetryRequestRandom,
                         BytesView{message + kRandomOffset, kHelloRetryRequestRandom.size()})) {
    state_of(ssl).hello_retry_request = true;
  }
}

void on_info(const SSL* ssl, int where, int value) {
  if ((where & SSL_CB_ALERT) == 0 || (value >> 8) != SSL3_AL_FATAL) return;
  auto* state = static_cast<SslState*>(SSL_get_ex_data(ssl, ssl_index()));
  state->alert = value & 0xFF;
  state->alert_received = (where & SSL_CB_READ) != 0;
}

void on_key_log(const SSL* ssl, const char* line) {
  const auto* session = static_cast<const SslState*>(SSL_get_ex_data(ssl, ssl_index()));
  if (session != nullptr && session->key_log) session->key_log(line);
  ContextState& state = context_state_of(ssl);
  if (!state.key_log) return;
  const std::lock_guard lock(state.key_log_mutex);
  state.key_log(line);
}

}  // namespace

SslState& attach_state(SSL* ssl) {
  auto state = std::make_unique<SslState>();
  if (SSL_set_ex_data(ssl, ssl_index(), state.get()) != 1) throw_openssl("TLS session state");
  return *state.release();
}

SslState& state_of(SSL* ssl) { return *static_cast<SslState*>(SSL_get_ex_data(ssl, ssl_index())); }

ContextState& attach_context_state(SSL_CTX* context) {
  auto state = std::make_unique<ContextState>();
  if (SSL_CTX_set_ex_data(context, context_index(), state.get()) != 1) throw_openssl("TLS context state");
  return *state.release();
}

ContextState& context_state_of(const SSL* ssl) {
  return *static_cast<ContextState*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index()));
}

void observe(SSL_CTX* context, bool key_log) {
  SSL_CTX_set_msg_callback(context, on_message);
  SSL_CTX_set_info_callback(context, on_info);
  if (key_log) SSL_CTX_set_keylog_callback(context, on_key_log);
}

std::string alert_to_string(int alert) {
  static constexpr std::array<std::pair<int, const char*>, 27> kNames = {{
      {0, "close_notify"},
      {10, "unexpected_message"},
      {20, "bad_record_mac"},
      {22, "record_overflow"},
      {40, "handshake_failure"},
      {42, "bad_certificate"},
      {43, "unsupported_certificate"},
      {44, "certificate_revoked"},
      {45, "certificate_expired"},
      {46, "certificate_unknown"},
      {47, "illegal_parameter"},
      {48, "unknown_ca"},
      {49, "access_denied"},
      {50, "decode_error"},
      {51, "decrypt_error"},
      {70, "protocol_version"},
      {71, "insufficient_security"},
      {80, "internal_error"},
      {86, "inappropriate_fallback"},
      {90, "user_canceled"},
      {109, "missing_extension"},
      {110, "unsupported_extension"},
      {112, "unrecognized_name"},
      {113, "bad_certificate_status_response"},
      {115, "unknown_psk_identity"},
      {116, "certificate_required"},
      {120, "no_application_protocol"},
  }};
  const auto* found = std::ranges::find(kNames, alert, &std::pair<int, const char*>::first);
  return found != kNames.end() ? found->second : "alert_" + std::to_string(alert);
}

std::string take_queued_error() {
  std::string reason;
  if (const unsigned long code = ERR_peek_error(); code != 0) {
    const char* text = ERR_reason_error_string(code);
    reason = text != nullptr ? text : "error " + std::to_string(ERR_GET_REASON(code));
  }
  ERR_clear_error();
  return reason;
}

void throw_openssl(const std::string& what) {
  const std::string reason = take_queued_error();
  throw std::runtime_error(reason.empty() ? what : what + ": " + reason);
}

}  // namespace doxlab::tls::internal
