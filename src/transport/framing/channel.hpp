#pragma once
/// What carries the stream of framed messages: TCP itself (Do53/TCP) or TLS records over it (DoT).

#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "tls/options.hpp"

namespace doxlab::transport {

class StreamChannel {
 public:
  virtual ~StreamChannel() = default;

  /// Client: begins the handshake, if there is one.
  virtual Result<void> start() = 0;
  /// Bytes of the TCP stream. Errors are fatal; what to tell the peer is then in take_output().
  virtual Result<void> receive(BytesView input) = 0;
  virtual Bytes take_plaintext() = 0;
  /// Whether the plaintext taken last came as 0-RTT.
  virtual bool plaintext_was_early() const = 0;
  virtual Result<void> write(BytesView plaintext) = 0;
  /// Bytes for the TCP stream.
  virtual Bytes take_output() = 0;
  /// Says goodbye where the protocol has a word for it.
  virtual void close() = 0;
  /// Plaintext flows both ways.
  virtual bool established() const = 0;
  /// The peer said goodbye.
  virtual bool peer_closed() const = 0;
  /// Once established; nullopt where there is no handshake.
  virtual std::optional<tls::HandshakeInfo> handshake_info() const = 0;
  virtual std::optional<tls::Ticket> take_ticket() = 0;
};

/// TCP as it is.
class PlainChannel final : public StreamChannel {
 public:
  Result<void> start() override { return {}; }
  Result<void> receive(BytesView input) override {
    plaintext_.insert(plaintext_.end(), input.begin(), input.end());
    return {};
  }
  Bytes take_plaintext() override { return std::exchange(plaintext_, {}); }
  bool plaintext_was_early() const override { return false; }
  Result<void> write(BytesView plaintext) override {
    output_.insert(output_.end(), plaintext.begin(), plaintext.end());
    return {};
  }
  Bytes take_output() override { return std::exchange(output_, {}); }
  void close() override {}
  bool established() const override { return true; }
  bool peer_closed() const override { return false; }
  std::optional<tls::HandshakeInfo> handshake_info() const override { return std::nullopt; }
  std::optional<tls::Ticket> take_ticket() override { return std::nullopt; }

 private:
  Bytes plaintext_, output_;
};

}  // namespace doxlab::transport
