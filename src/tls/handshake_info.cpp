// What a handshake turned out to be, and why one failed: the free functions of context.hpp.

#include <openssl/x509_vfy.h>

#include <string>
#include <utility>

#include "tls/context.hpp"
#include "tls/ssl_state.hpp"

namespace doxlab::tls {
namespace {

std::size_t peer_chain_bytes(SSL* ssl) {
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  std::size_t bytes = 0;
  for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i) {
    bytes += static_cast<std::size_t>(std::max(0, i2d_X509(sk_X509_value(chain, i), nullptr)));
  }
  return bytes;
}

EarlyData early_data_outcome(const SSL* ssl) {
  switch (SSL_get_early_data_status(ssl)) {
    case SSL_EARLY_DATA_ACCEPTED: return EarlyData::Accepted;
    case SSL_EARLY_DATA_REJECTED: return EarlyData::Rejected;
    default: return EarlyData::NotOffered;
  }
}

std::string verification_failure(SSL* ssl) {
  const long result = SSL_get_verify_result(ssl);
  if (SSL_is_server(ssl) || result == X509_V_OK || (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) == 0) return {};
  std::string text = std::string("certificate verify failed: ") + X509_verify_cert_error_string(result);
  if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    text += " (expected " + internal::state_of(ssl).expected_name + ")";
  }
  return text;
}

}  // namespace

HandshakeInfo handshake_info(SSL* ssl) {
  HandshakeInfo info;
  info.version = SSL_get_version(ssl);
  if (const char* group = SSL_get0_group_name(ssl)) info.group = group;
  if (const SSL_CIPHER* cipher = SSL_get_current_cipher(ssl)) info.cipher = SSL_CIPHER_get_name(cipher);
  const unsigned char* alpn = nullptr;
  unsigned int alpn_length = 0;
  SSL_get0_alpn_selected(ssl, &alpn, &alpn_length);
  if (alpn_length != 0) info.alpn = as_text({alpn, alpn_length});
  info.resumed = SSL_session_reused(ssl) == 1;
  info.hello_retry_request = internal::state_of(ssl).hello_retry_request;
  info.early_data = early_data_outcome(ssl);
  if (!info.resumed && !SSL_is_server(ssl)) info.peer_certificate_bytes = peer_chain_bytes(ssl);
  return info;
}

std::string last_error(SSL* ssl) {
  const std::string queued = internal::take_queued_error();
  if (std::string failure = verification_failure(ssl); !failure.empty()) return failure;
  const internal::SslState& state = internal::state_of(ssl);
  if (state.alert > 0) {
    const std::string name = internal::alert_to_string(state.alert);
    if (state.alert_received) return "the peer sent the alert " + name;
    return (queued.empty() ? "TLS failed" : queued) + " (alert sent: " + name + ")";
  }
  return queued.empty() ? "TLS failed" : queued;
}

std::string alert_name(SSL* ssl) {
  const internal::SslState& state = internal::state_of(ssl);
  return state.alert > 0 ? internal::alert_to_string(state.alert) : std::string();
}

std::string alert_name(int alert) { return internal::alert_to_string(alert); }

bool early_data_ready(SSL* ssl) { return internal::state_of(ssl).early_data_ready; }

std::optional<Ticket> take_ticket(SSL* ssl) {
  auto& tickets = internal::state_of(ssl).tickets;
  if (tickets.empty()) return std::nullopt;
  Ticket newest = std::move(tickets.back());
  tickets.clear();
  return newest;
}

}  // namespace doxlab::tls
