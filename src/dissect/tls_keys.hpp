#pragma once
/// The keys of one direction of a TLS connection, from epoch to epoch. Internal.

#include <optional>
#include <vector>

#include "dissect/handshake.hpp"
#include "dissect/protection.hpp"

namespace doxlab::dissect {

struct OpenedRecord {
  Bytes plaintext;
  Epoch epoch = Epoch::Initial;
  std::uint64_t sequence = 0;
};

class TlsKeys {
 public:
  TlsKeys(link::Direction direction, const TlsSecrets* secrets) : direction_(direction), secrets_(secrets) {}

  /// Tries the current keys, then those that may follow them: which change of keys happened shows in which
  /// keys fit, also where the message that announced it was not captured.
  std::optional<OpenedRecord> open(BytesView record);
  /// A protected record went by that was not captured whole.
  void miss();
  /// The message behind which the sender changes its keys went by (RFC 8446 §4.4.4, §4.5, §4.6.3).
  void on_message(HandshakeType type);

  /// The epoch of the last record opened; Initial before the first.
  Epoch epoch() const { return level_.epoch; }

 private:
  /// Keys of one epoch or, within Application, of one generation.
  struct Level {
    Epoch epoch = Epoch::Initial;
    Bytes secret;
    std::vector<Aead> candidates;  // until one of them has opened a record
    std::uint64_t sequence = 0;
  };

  Level make_level(Epoch epoch, BytesView secret) const;
  Level updated() const;
  std::vector<Level> following() const;
  std::optional<OpenedRecord> try_level(Level& level, BytesView record, std::uint64_t sequence);

  link::Direction direction_;
  const TlsSecrets* secrets_;
  Level level_;
  std::uint64_t missed_ = 0;  // protected records since the last that was opened
};

}  // namespace doxlab::dissect
