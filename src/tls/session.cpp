#include "tls/session.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tls/ssl_state.hpp"

namespace doxlab::tls {

struct Session::State {
  explicit State(SslPtr from) : ssl(std::move(from)) {
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    if (in == nullptr || out == nullptr) {
      BIO_free(in);
      BIO_free(out);
      throw std::runtime_error("memory for a TLS session");
    }
    BIO_set_mem_eof_return(in, -1);  // empty means "not yet", never the end
    SSL_set_bio(ssl.get(), in, out);
    reading_early = SSL_is_server(ssl.get()) == 1 && SSL_get_max_early_data(ssl.get()) > 0;
    early_room = early_data_ready(ssl.get()) ? SSL_SESSION_get_max_early_data(SSL_get0_session(ssl.get())) : 0;
  }

  Result<void> advance();
  Result<void> read_early();
  Result<void> handshake();
  Result<void> read();
  Result<void> flush_pending();
  Result<bool> write_early(BytesView plaintext);
  Result<void> check(int outcome);
  Result<void> fail_for_good();
  bool done() const { return SSL_is_init_finished(ssl.get()) == 1; }

  SslPtr ssl;
  BIO* in = nullptr;   // owned by ssl
  BIO* out = nullptr;  // owned by ssl
  Bytes plaintext;
  // One entry a write: joined in one record, messages would hang in servers that read one message and then
  // wait for the socket.
  std::vector<Bytes> pending;  // waits for the end of the handshake
  std::vector<Bytes> early;    // client: sent as early data, kept until it is known to be accepted
  std::size_t early_room = 0;     // client: octets that may still go as early data
  bool reading_early = false;     // server: SSL_read_early_data has not come to its end
  bool early_outcome_known = false;
  bool started = false;
  bool has_early_plaintext = false;
  bool taken_plaintext_was_early = false;
  bool closed = false;       // close() was called
  bool peer_closed = false;
  std::string failure;       // non-empty: nothing works any more
};

Result<void> Session::State::fail_for_good() {
  failure = last_error(ssl.get());
  return fail(failure);
}

// Sorts the outcome of an OpenSSL call into "fine", "needs more input" and failure.
Result<void> Session::State::check(int outcome) {
  switch (SSL_get_error(ssl.get(), outcome)) {
    case SSL_ERROR_NONE:
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: ERR_clear_error(); return {};
    case SSL_ERROR_ZERO_RETURN: peer_closed = true; return {};
    default: return fail_for_good();
  }
}

// Server: takes the ClientHello, sends its flight, then reads early data until its end (or finds none).
Result<void> Session::State::read_early() {
  std::array<std::uint8_t, 16384> buffer;
  while (reading_early) {
    std::size_t length = 0;
    ERR_clear_error();
    const int outcome = SSL_read_early_data(ssl.get(), buffer.data(), buffer.size(), &length);
    if (outcome == SSL_READ_EARLY_DATA_ERROR) return check(-1);
    if (outcome == SSL_READ_EARLY_DATA_FINISH) reading_early = false;
    if (length != 0) {
      plaintext.insert(plaintext.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length));
      has_early_plaintext = true;
    }
  }
  return {};
}

Result<void> Session::State::handshake() {
  ERR_clear_error();
  const int outcome = SSL_do_handshake(ssl.get());
  if (outcome != 1) return check(outcome);
  if (!early.empty() && SSL_get_early_data_status(ssl.get()) == SSL_EARLY_DATA_REJECTED) {
    pending.insert(pending.begin(), early.begin(), early.end());
  }
  early.clear();
  return flush_pending();
}

Result<void> Session::State::flush_pending() {
  for (const Bytes& bytes : pending) {
    std::size_t written = 0;
    ERR_clear_error();
    // A memory BIO takes everything, so the write is whole or it is a failure.
    if (SSL_write_ex(ssl.get(), bytes.data(), bytes.size(), &written) != 1) return fail_for_good();
  }
  pending.clear();
  return {};
}

Result<void> Session::State::read() {
  std::array<std::uint8_t, 16384> buffer;
  for (;;) {
    std::size_t length = 0;
    ERR_clear_error();
    if (SSL_read_ex(ssl.get(), buffer.data(), buffer.size(), &length) != 1) return check(0);
    plaintext.insert(plaintext.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length));
  }
}

Result<void> Session::State::advance() {
  if (reading_early) {
    if (auto result = read_early(); !result || reading_early) return result;
  }
  if (!done()) {
    if (auto result = handshake(); !result || !done()) return result;
  }
  return read();
}

// Client: true if the plaintext went as early data. Server: true if it went ahead of the client's Finished.
Result<bool> Session::State::write_early(BytesView bytes) {
  const bool server = SSL_is_server(ssl.get()) == 1;
  if (!pending.empty()) return false;  // order
  if (server) {
    if (SSL_get_early_data_status(ssl.get()) != SSL_EARLY_DATA_ACCEPTED) return false;
  } else if (!started || early_outcome_known || bytes.size() > early_room) {
    return false;
  }
  std::size_t written = 0;
  ERR_clear_error();
  if (SSL_write_early_data(ssl.get(), bytes.data(), bytes.size(), &written) != 1) {
    return std::unexpected(fail_for_good().error());
  }
  if (!server) {
    if (!bytes.empty()) early.push_back(to_bytes(bytes));
    early_room -= bytes.size();
  }
  return true;
}

Session::Session(SslPtr ssl) : state_(std::make_unique<State>(std::move(ssl))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<void> Session::start() {
  State& s = *state_;
  if (s.started) return {};
  s.started = true;
  if (SSL_is_server(s.ssl.get())) return {};
  const std::size_t first = s.pending.empty() ? 0 : s.pending.front().size();
  if (s.early_room == 0 || first > s.early_room) {
    s.early_room = 0;
    return s.handshake();
  }
  // The ClientHello leaves with the first early data; with none it only announces what later writes fill.
  std::vector<Bytes> waiting = std::exchange(s.pending, {});
  if (waiting.empty()) waiting.emplace_back();
  for (Bytes& bytes : waiting) {
    const auto sent = s.write_early(bytes);
    if (!sent) return std::unexpected(sent.error());
    if (!*sent) s.pending.push_back(std::move(bytes));
  }
  return {};
}

Result<void> Session::receive(BytesView records) {
  State& s = *state_;
  if (!s.failure.empty()) return fail(s.failure);
  if (records.empty() || peer_closed()) return {};  // nothing counts after close_notify
  std::size_t written = 0;
  if (BIO_write_ex(s.in, records.data(), records.size(), &written) != 1) return s.fail_for_good();
  s.early_outcome_known = true;
  return s.advance();
}

Bytes Session::take_plaintext() {
  state_->taken_plaintext_was_early = std::exchange(state_->has_early_plaintext, false);
  return std::exchange(state_->plaintext, {});
}

bool Session::plaintext_was_early() const { return state_->taken_plaintext_was_early; }

Result<void> Session::write(BytesView plaintext) {
  State& s = *state_;
  if (!s.failure.empty()) return fail(s.failure);
  if (s.closed) return fail("written after close");
  if (plaintext.empty()) return {};
  if (!s.done()) {
    auto sent = s.write_early(plaintext);
    if (!sent) return std::unexpected(sent.error());
    if (*sent) return {};
  }
  s.pending.push_back(to_bytes(plaintext));
  return s.done() ? s.flush_pending() : Result<void>{};
}

Bytes Session::take_output() {
  char* data = nullptr;
  const long length = BIO_get_mem_data(state_->out, &data);
  Bytes output;
  if (length > 0) {
    output.assign(data, data + length);
    BIO_reset(state_->out);
  }
  return output;
}

void Session::close() {
  State& s = *state_;
  if (s.closed) return;
  s.closed = true;
  if (s.failure.empty() && s.done()) {
    SSL_shutdown(s.ssl.get());
    ERR_clear_error();
  }
}

bool Session::handshake_done() const { return state_->done(); }

bool Session::peer_closed() const {
  return state_->peer_closed || (SSL_get_shutdown(state_->ssl.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

HandshakeInfo Session::info() const { return handshake_info(state_->ssl.get()); }

std::optional<Ticket> Session::take_ticket() { return tls::take_ticket(state_->ssl.get()); }

}  // namespace doxlab::tls
