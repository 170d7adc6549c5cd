#include "dns/scan.hpp"

#include <algorithm>

#include "dns/name.hpp"

namespace doxlab::dns {
namespace {

std::uint16_t u16_at(BytesView bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

std::uint32_t u32_at(BytesView bytes, std::size_t at) {
  return static_cast<std::uint32_t>(u16_at(bytes, at)) << 16 | u16_at(bytes, at + 2);
}

constexpr std::size_t kQuestionFixedOctets = 4;  // type, class
constexpr std::size_t kRecordFixedOctets = 10;   // type, class, TTL, rdata length
constexpr std::size_t kMinSoaOctets = 22;        // two root names and five numbers of four octets

/// RFC 2181 §8: a TTL with its top bit set counts as 0.
std::uint32_t effective_ttl(std::uint32_t ttl) { return ttl > 0x7fff'ffff ? 0 : ttl; }

}  // namespace

std::optional<Header> read_header(BytesView message) {
  if (message.size() < kHeaderOctets) return std::nullopt;
  return Header{.id = u16_at(message, 0),
                .flags = u16_at(message, 2),
                .questions = u16_at(message, 4),
                .answers = u16_at(message, 6),
                .authorities = u16_at(message, 8),
                .additionals = u16_at(message, 10)};
}

std::optional<QuestionView> read_question(BytesView message) {
  if (message.size() < kHeaderOctets || u16_at(message, 4) == 0) return std::nullopt;
  const auto octets = check_name(message, kHeaderOctets, message.size());
  if (!octets || message.size() - kHeaderOctets - *octets < kQuestionFixedOctets) return std::nullopt;
  const auto fixed = kHeaderOctets + *octets;
  return QuestionView{.name = message.subspan(kHeaderOctets, *octets),
                      .type = u16_at(message, fixed),
                      .klass = u16_at(message, fixed + 2),
                      .end = fixed + kQuestionFixedOctets};
}

RecordScanner::RecordScanner(BytesView message) : message_(message) {
  const auto header = read_header(message);
  if (!header) {
    offset_ = 0;
    problem_ = "shorter than a header";
    return;
  }
  left_ = {header->answers, header->authorities, header->additionals};
  for (int i = 0; i < header->questions; ++i) {
    const auto octets = check_name(message_, offset_, message_.size(), &expanded_octets_);
    if (!octets) {
      problem_ = "malformed name of a question";
      return;
    }
    if (message_.size() - offset_ - *octets < kQuestionFixedOctets) {
      problem_ = "question runs past the end";
      return;
    }
    offset_ += *octets + kQuestionFixedOctets;
  }
}

std::optional<RecordView> RecordScanner::stop(std::string_view problem) {
  problem_ = problem;
  return std::nullopt;
}

std::optional<RecordView> RecordScanner::next() {
  if (!problem_.empty()) return std::nullopt;
  while (section_ < left_.size() && left_[section_] == 0) ++section_;
  if (section_ == left_.size()) {
    return offset_ == message_.size() ? std::nullopt : stop("octets behind the last record");
  }
  if (offset_ == message_.size()) return stop("fewer records than the header counts");
  const auto owner = check_name(message_, offset_, message_.size(), &expanded_octets_);
  if (!owner) return stop("malformed owner name");
  const auto fixed = offset_ + *owner;
  if (message_.size() - fixed < kRecordFixedOctets) return stop("record runs past the end");
  RecordView record{.section = static_cast<Section>(section_),
                    .offset = offset_,
                    .owner_is_root = message_[offset_] == 0,
                    .type = u16_at(message_, fixed),
                    .klass = u16_at(message_, fixed + 2),
                    .ttl = u32_at(message_, fixed + 4),
                    .rdata_offset = fixed + kRecordFixedOctets,
                    .rdata = {}};
  const std::size_t length = u16_at(message_, fixed + 8);
  if (message_.size() - record.rdata_offset < length) return stop("rdata runs past the end");
  record.rdata = message_.subspan(record.rdata_offset, length);
  --left_[section_];
  offset_ = record.end();
  return record;
}

std::optional<OptionView> next_option(BytesView& rest) {
  if (rest.size() < 4) return std::nullopt;
  const std::size_t length = u16_at(rest, 2);
  if (rest.size() - 4 < length) return std::nullopt;
  const OptionView option{.code = u16_at(rest, 0), .data = rest.subspan(4, length)};
  rest = rest.subspan(4 + length);
  return option;
}

bool has_edns_option(BytesView message, std::uint16_t code) {
  RecordScanner scanner(message);
  bool found = false;
  while (const auto record = scanner.next()) {
    if (record->section != Section::Additional || record->type != kTypeOpt) continue;
    auto rest = record->rdata;
    while (const auto option = next_option(rest)) found |= option->code == code;
    if (!rest.empty()) return false;
  }
  return found && scanner.problem().empty();
}

std::optional<std::uint32_t> min_answer_ttl(BytesView response) {
  const auto header = read_header(response);
  if (!header || !header->has(kFlagResponse)) return std::nullopt;
  if (header->rcode() != kNoError && header->rcode() != kNxDomain) return std::nullopt;
  std::optional<std::uint32_t> smallest;
  const auto consider = [&](std::uint32_t ttl) {
    ttl = effective_ttl(ttl);
    smallest = smallest ? std::min(*smallest, ttl) : ttl;
  };
  RecordScanner scanner(response);
  bool denied = false;
  while (const auto record = scanner.next()) {
    if (record->section == Section::Answer && record->type != kTypeOpt) consider(record->ttl);
    if (record->section == Section::Authority && record->type == kTypeSoa) {
      if (record->rdata.size() < kMinSoaOctets) return std::nullopt;
      consider(record->ttl);
      consider(u32_at(record->rdata, record->rdata.size() - 4));
      denied = true;
    }
  }
  if (!scanner.problem().empty() || (header->rcode() == kNxDomain && !denied)) return std::nullopt;
  return smallest;
}

}  // namespace doxlab::dns
