#pragma once
/// What doxlab remembers beside each SSL and each SSL_CTX, in OpenSSL's ex_data. Private to the room.

#include <openssl/ssl.h>

#include <deque>
#include <atomic>
#include <mutex>
#include <string>

#include "tls/options.hpp"

namespace doxlab::tls::internal {

/// Belongs to one SSL and dies with it.
struct SslState {
  std::string expected_name;       ///< client: what the certificate must name
  std::deque<Ticket> tickets;      ///< client: received, not yet taken
  bool early_data_ready = false;   ///< client: see tls::early_data_ready
  bool hello_retry_request = false;
  bool for_quic = false;           ///< server: transport parameters must be there
  bool lacks_transport_parameters = false;  ///< server for QUIC: they were not
  int alert = -1;                  ///< fatal alert sent or received
  bool alert_received = false;
  KeyLog key_log;                  ///< of this session alone, beside that of its context
};

/// Belongs to one SSL_CTX and dies with it, so it outlives every SSL of that SSL_CTX.
struct ContextState {
  KeyLog key_log;
  std::mutex key_log_mutex;
  bool alpn_required = false;
  std::string alpn_wire;           ///< server: accepted protocols with length octets (RFC 7301 §3.1)
  std::atomic<bool> early_data_accepted = true;  ///< server: false rejects what its tickets allow
};

/// Attaches a fresh SslState. Throws std::runtime_error without memory.
SslState& attach_state(SSL* ssl);
/// The SslState of an SSL made by a context of this room.
SslState& state_of(SSL* ssl);

/// Attaches a fresh ContextState. Throws std::runtime_error without memory.
ContextState& attach_context_state(SSL_CTX* context);
ContextState& context_state_of(const SSL* ssl);

/// Watches messages for HelloRetryRequest and alerts, and serves the key logs of the context and of its sessions where
/// one may be asked for.
void observe(SSL_CTX* context, bool key_log);

/// The RFC 8446 §6 name of an alert, or "alert_NN".
std::string alert_to_string(int alert);

/// Takes the error queue's first reason and empties the queue. Empty if there was none.
std::string take_queued_error();

/// std::runtime_error with `what` and the queued reason.
[[noreturn]] void throw_openssl(const std::string& what);

}  // namespace doxlab::tls::internal
