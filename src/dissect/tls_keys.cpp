#include "dissect/tls_keys.hpp"

#include <algorithm>

#include "dissect/tls.hpp"

namespace doxlab::dissect {
namespace {

/// Beyond this many records that no key opens, keys are of no use.
constexpr std::uint64_t kMaxMissed = 64;

const Bytes& secret_of(const TlsSecrets& secrets, Epoch epoch, link::Direction direction) {
  static const Bytes kNoSecret;
  const bool is_client = direction == link::Direction::ToServer;
  switch (epoch) {
    case Epoch::Early:
      return is_client ? secrets.client_early : kNoSecret;
    case Epoch::Handshake:
      return is_client ? secrets.client_handshake : secrets.server_handshake;
    case Epoch::Application:
      return is_client ? secrets.client_application : secrets.server_application;
    default:
      return kNoSecret;
  }
}

}  // namespace

TlsKeys::Level TlsKeys::make_level(Epoch epoch, BytesView secret) const {
  Level level{epoch, to_bytes(secret), {}, 0};
  for (const auto cipher : ciphers_of_secret(secret.size()))
    level.candidates.emplace_back(cipher, expand_label(secret, "key", key_bytes(cipher)),
                                  expand_label(secret, "iv", 12));
  return level;
}

TlsKeys::Level TlsKeys::updated() const {
  if (level_.secret.empty()) return make_level(Epoch::Application, {});
  return make_level(Epoch::Application, expand_label(level_.secret, "traffic upd", level_.secret.size()));
}

std::vector<TlsKeys::Level> TlsKeys::following() const {
  std::vector<Level> out;
  const auto add = [&](Epoch epoch) {
    const auto& secret = secret_of(*secrets_, epoch, direction_);
    if (!secret.empty()) out.push_back(make_level(epoch, secret));
  };
  if (level_.epoch == Epoch::Initial) add(Epoch::Early);
  if (level_.epoch < Epoch::Handshake) add(Epoch::Handshake);
  if (level_.epoch < Epoch::Application)
    add(Epoch::Application);
  else
    out.push_back(updated());
  return out;
}

std::optional<OpenedRecord> TlsKeys::try_level(Level& level, BytesView record, std::uint64_t sequence) {
  for (auto& candidate : level.candidates) {
    auto plaintext =
        candidate.open(sequence, record.first(kRecordHeaderBytes), record.subspan(kRecordHeaderBytes));
    if (!plaintext) continue;
    if (level.candidates.size() > 1) {
      auto right = std::move(candidate);
      level.candidates.clear();
      level.candidates.push_back(std::move(right));
    }
    level.sequence = sequence + 1;
    missed_ = 0;
    return OpenedRecord{std::move(*plaintext), level.epoch, sequence};
  }
  return std::nullopt;
}

std::optional<OpenedRecord> TlsKeys::open(BytesView record) {
  if (secrets_ == nullptr || missed_ > kMaxMissed) return std::nullopt;
  if (auto opened = try_level(level_, record, level_.sequence)) return opened;
  for (auto& level : following()) {
    // Of the records that were missed some may have been the first ones under these keys.
    for (std::uint64_t sequence = 0, missed = missed_; sequence <= missed; ++sequence) {
      auto opened = try_level(level, record, sequence);
      if (!opened) continue;
      level_ = std::move(level);
      return opened;
    }
  }
  miss();
  return std::nullopt;
}

void TlsKeys::miss() {
  ++level_.sequence;
  ++missed_;
}

void TlsKeys::on_message(HandshakeType type) {
  if (secrets_ == nullptr) return;
  const auto enter = [&](Epoch epoch) {
    level_ = make_level(epoch, secret_of(*secrets_, epoch, direction_));
  };
  if (type == HandshakeType::EndOfEarlyData)
    enter(Epoch::Handshake);
  else if (type == HandshakeType::Finished)
    enter(Epoch::Application);
  else if (type == HandshakeType::KeyUpdate)
    level_ = updated();
}

}  // namespace doxlab::dissect
