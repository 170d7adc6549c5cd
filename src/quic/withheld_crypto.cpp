#include "quic/withheld_crypto.hpp"

#include <algorithm>
#include <optional>

namespace doxlab::quic::internal {
namespace {

constexpr std::uint64_t kPadding = 0, kPing = 1, kAck = 2, kAckEcn = 3, kCrypto = 6;
constexpr std::uint32_t kVersion2 = 0x6b3343cf;  // RFC 9369

thread_local WithheldCrypto* writing = nullptr;

/// Long header, type Initial (RFC 9000 §17.2.2, RFC 9369 §3.2).
bool is_initial(BytesView header) {
  if (header.size() < 5 || (header[0] & 0x80) == 0) return false;
  const std::uint32_t version = std::uint32_t{header[1]} << 24 | std::uint32_t{header[2]} << 16 |
                                std::uint32_t{header[3]} << 8 | header[4];
  return (header[0] >> 4 & 3) == (version == kVersion2 ? 1 : 0);
}

/// Variable-length integers one after the other (RFC 9000 §16).
class Integers {
 public:
  explicit Integers(BytesView bytes) : bytes_(bytes) {}
  std::size_t position() const { return position_; }
  bool at_end() const { return position_ == bytes_.size(); }
  std::optional<std::uint64_t> next() {
    if (at_end()) return std::nullopt;
    const std::size_t length = std::size_t{1} << (bytes_[position_] >> 6);
    if (length > bytes_.size() - position_) return std::nullopt;
    std::uint64_t value = bytes_[position_] & 0x3f;
    for (std::size_t i = 1; i < length; ++i) value = value << 8 | bytes_[position_ + i];
    position_ += length;
    return value;
  }
  bool skip(std::uint64_t count) {
    if (count > bytes_.size() - position_) return false;
    position_ += static_cast<std::size_t>(count);
    return true;
  }

 private:
  BytesView bytes_;
  std::size_t position_ = 0;
};

bool skip_ack(Integers& frames, bool has_ecn) {
  const auto largest = frames.next(), delay = frames.next(), ranges = frames.next(), first = frames.next();
  if (!largest || !delay || !ranges || !first) return false;
  for (std::uint64_t i = 0; i < *ranges; ++i)
    if (!frames.next() || !frames.next()) return false;
  for (int i = 0; has_ecn && i < 3; ++i)
    if (!frames.next()) return false;
  return true;
}

}  // namespace

void WithheldCrypto::blank_repeated(std::span<std::uint8_t> payload) {
  Integers frames(payload);
  while (!frames.at_end()) {
    const auto begin = frames.position();
    const auto type = frames.next();
    if (!type) return;
    if (*type == kPadding || *type == kPing) continue;
    if (*type == kAck || *type == kAckEcn) {
      if (!skip_ack(frames, *type == kAckEcn)) return;
      continue;
    }
    if (*type != kCrypto) return;
    const auto offset = frames.next(), length = frames.next();
    if (!offset || !length || !frames.skip(*length)) return;
    if (*offset + *length <= sent_)
      std::fill(payload.begin() + static_cast<std::ptrdiff_t>(begin),
                payload.begin() + static_cast<std::ptrdiff_t>(frames.position()), std::uint8_t{0});
    sent_ = std::max(sent_, *offset + *length);
  }
}

WithheldCrypto::Writing::Writing(WithheldCrypto* connection) : before_(writing) { writing = connection; }
WithheldCrypto::Writing::~Writing() { writing = before_; }

int WithheldCrypto::encrypt(std::uint8_t* out, const ngtcp2_crypto_aead* aead, const ngtcp2_crypto_aead_ctx* context,
                            const std::uint8_t* plaintext, std::size_t length, const std::uint8_t* nonce,
                            std::size_t nonce_length, const std::uint8_t* header, std::size_t header_length) {
  if (writing == nullptr || !is_initial({header, header_length}))
    return ngtcp2_crypto_encrypt_cb(out, aead, context, plaintext, length, nonce, nonce_length, header, header_length);
  Bytes payload(plaintext, plaintext + length);
  writing->blank_repeated(payload);
  return ngtcp2_crypto_encrypt_cb(out, aead, context, payload.data(), payload.size(), nonce, nonce_length, header,
                                  header_length);
}

}  // namespace doxlab::quic::internal
