#include "resolver/answer_writer.hpp"

#include <algorithm>

#include "dns/name.hpp"
#include "resolver/rdata_layout.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::size_t kOptFixedOctets = 11, kOptionHeaderOctets = 4, kExtendedErrorOctets = 2;
constexpr std::uint16_t kOwnUdpPayloadSize = 1232;  // what we would accept; flag day 2020
constexpr std::size_t kMaxPointerTarget = 0x3fff;
constexpr int kMaxProbes = 8;

}  // namespace

AnswerWriter::AnswerWriter(const Query& query, std::size_t limit) : query_(query), limit_(limit) {
  constexpr std::size_t kTypicalOctets = 512;
  out_.reserve(kTypicalOctets);
  restart();
}

void AnswerWriter::restart() {
  out_.assign(dns::kHeaderOctets, 0);
  slots_ = {};
  counts_ = {};
  rcode_ = dns::kNoError;
  flags_ = 0;
  if (query_.question.name.empty()) return;
  name(query_.question.name);
  u16(query_.question.type);
  u16(query_.question.klass);
}

bool AnswerWriter::append(dns::Section section, BytesView owner, const RrSet& set, std::uint32_t ttl) {
  constexpr std::size_t kRecordOverhead = 12;  // compressed owner and fixed fields
  const auto room = limit_ - std::min(limit_, opt_octets());
  const auto expected = set.octets + set.rdata.size() * kRecordOverhead;
  out_.reserve(std::min(room, out_.size() + expected) + opt_octets());
  for (const auto& bytes : set.rdata) {
    name(owner);
    u16(set.type);
    u16(dns::kClassIn);
    u32(ttl);
    rdata(set.type, bytes);
    if (out_.size() > room) return false;
    ++counts_[static_cast<std::size_t>(section)];
  }
  return true;
}

void AnswerWriter::set_extended_error(std::uint16_t code) {
  if (query_.edns) extended_error_ = code;
}

Bytes AnswerWriter::finish(std::size_t pad_to_multiple) {
  if (query_.edns) opt(pad_to_multiple);
  // RD and CD come back as they were (RFC 1035 §4.1.1, RFC 4035 §3.2.2); Z and the rest are ours.
  constexpr std::uint16_t kCopied = dns::kOpcodeMask | dns::kFlagRecursionDesired | dns::kFlagCheckingDisabled;
  const auto flags = dns::kFlagResponse | flags_ | (query_.header.flags & kCopied) | (rcode_ & 15);
  const std::size_t words[] = {query_.header.id,
                               static_cast<std::size_t>(flags),
                               query_.question.name.empty() ? 0u : 1u,
                               counts_[0],
                               counts_[1],
                               counts_[2] + (query_.edns ? 1u : 0u)};
  for (std::size_t i = 0; i < std::size(words); ++i) {
    out_[2 * i] = static_cast<std::uint8_t>(words[i] >> 8);
    out_[2 * i + 1] = static_cast<std::uint8_t>(words[i]);
  }
  return std::move(out_);
}

std::size_t AnswerWriter::opt_octets() const {
  if (!query_.edns) return 0;
  return kOptFixedOctets + (extended_error_ ? kOptionHeaderOctets + kExtendedErrorOctets : 0);
}

void AnswerWriter::opt(std::size_t pad_to_multiple) {
  const auto unpadded = out_.size() + opt_octets();
  std::optional<std::size_t> padding;
  if (pad_to_multiple != 0 && unpadded + kOptionHeaderOctets <= limit_) {
    const auto size = unpadded + kOptionHeaderOctets;
    const auto padded = (size + pad_to_multiple - 1) / pad_to_multiple * pad_to_multiple;
    padding = std::min(padded, limit_) - size;
  }
  out_.push_back(0);
  u16(dns::kTypeOpt);
  u16(kOwnUdpPayloadSize);
  u32(static_cast<std::uint32_t>(rcode_ >> 4) << 24 | (query_.dnssec_ok ? 0x8000u : 0u));  // version 0
  u16(opt_octets() - kOptFixedOctets + (padding ? kOptionHeaderOctets + *padding : 0));
  if (extended_error_) {
    u16(dns::kOptionExtendedError);
    u16(kExtendedErrorOctets);
    u16(*extended_error_);
  }
  if (padding) {
    u16(dns::kOptionPadding);
    u16(*padding);
    out_.resize(out_.size() + *padding);
  }
}

void AnswerWriter::u16(std::size_t value) {
  out_.push_back(static_cast<std::uint8_t>(value >> 8));
  out_.push_back(static_cast<std::uint8_t>(value));
}

void AnswerWriter::u32(std::uint32_t value) {
  u16(value >> 16);
  u16(value & 0xffff);
}

void AnswerWriter::copy(BytesView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

void AnswerWriter::rdata(std::uint16_t type, BytesView bytes) {
  const auto length_at = out_.size();
  u16(bytes.size());
  const auto layout = layout_of(type);
  if (layout.names == 0) return copy(bytes);
  copy(bytes.first(layout.prefix));
  bytes = bytes.subspan(layout.prefix);
  for (int i = 0; i < layout.names; ++i) {
    const auto octets = name_octets(bytes);
    name(bytes.first(octets));
    bytes = bytes.subspan(octets);
  }
  copy(bytes);
  const auto length = out_.size() - length_at - 2;
  out_[length_at] = static_cast<std::uint8_t>(length >> 8);
  out_[length_at + 1] = static_cast<std::uint8_t>(length);
}

void AnswerWriter::name(BytesView wire) {
  constexpr std::size_t kMaxLabels = dns::kMaxNameOctets / 2;
  std::array<std::uint8_t, kMaxLabels> starts;
  std::array<std::uint32_t, kMaxLabels> hashes;
  std::size_t labels = 0;
  for (std::size_t at = 0; wire[at] != 0; at += wire[at] + 1u) starts[labels++] = static_cast<std::uint8_t>(at);
  std::uint32_t hash = 2166136261;  // FNV-1a, from the root outwards so that each suffix has its own value
  for (std::size_t i = labels; i-- > 0;) {
    for (auto octet : wire.subspan(starts[i], wire[starts[i]] + 1u)) hash = (hash ^ dns::to_lower(octet)) * 16777619;
    hashes[i] = hash;
  }
  const auto base = out_.size();
  for (std::size_t i = 0; i < labels; ++i) {
    if (const auto target = known(hashes[i], wire.subspan(starts[i]))) {
      copy(wire.first(starts[i]));
      return u16(0xc000 | *target);
    }
    remember(hashes[i], base + starts[i]);
  }
  copy(wire);
}

void AnswerWriter::remember(std::uint32_t hash, std::size_t offset) {
  if (offset > kMaxPointerTarget) return;
  for (std::uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    auto& slot = slots_[(hash + probe) % slots_.size()];
    if (slot.offset != 0) continue;
    slot = {hash, static_cast<std::uint16_t>(offset)};
    return;
  }
}

std::optional<std::size_t> AnswerWriter::known(std::uint32_t hash, BytesView suffix) const {
  for (std::uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const auto& slot = slots_[(hash + probe) % slots_.size()];
    if (slot.offset == 0) return std::nullopt;
    if (slot.hash == hash && stands_at(slot.offset, suffix)) return slot.offset;
  }
  return std::nullopt;
}

bool AnswerWriter::stands_at(std::size_t offset, BytesView suffix) const {
  // Everything at or behind `offset` was written by name(), so pointers go backwards and labels are whole;
  // a name that is being written ends at the end of the message.
  std::size_t at = 0;
  for (;;) {
    if (offset >= out_.size()) return false;
    const std::size_t length = out_[offset];
    if (length >= 0xc0) {
      offset = (length & 0x3f) << 8 | out_[offset + 1];
      continue;
    }
    if (length != suffix[at]) return false;
    if (length == 0) return true;
    const auto written = BytesView(out_).subspan(offset, length + 1);
    if (!dns::equal_ignoring_case(written, suffix.subspan(at, length + 1))) return false;
    offset += length + 1;
    at += length + 1;
  }
}

}  // namespace doxlab::resolver
