#pragma once
/// Walks a DNS message record by record without copying or allocating: what the resolver, the matching of
/// answers and the caches' lifetimes need. Rdata is not looked into; parse_message() does that.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"

namespace doxlab::dns {

inline constexpr std::size_t kHeaderOctets = 12;
inline constexpr std::size_t kMaxMessageOctets = 65'535;

/// Bits of the second header word (RFC 1035 §4.1.1, RFC 4035 §3).
enum HeaderFlag : std::uint16_t {
  kFlagResponse = 0x8000,
  kFlagAuthoritative = 0x0400,
  kFlagTruncated = 0x0200,
  kFlagRecursionDesired = 0x0100,
  kFlagRecursionAvailable = 0x0080,
  kFlagAuthenticData = 0x0020,
  kFlagCheckingDisabled = 0x0010,
};
inline constexpr std::uint16_t kOpcodeMask = 0x7800;

enum RecordType : std::uint16_t {
  kTypeA = 1, kTypeNs = 2, kTypeCname = 5, kTypeSoa = 6, kTypePtr = 12, kTypeMx = 15, kTypeTxt = 16, kTypeAaaa = 28,
  kTypeDname = 39, kTypeOpt = 41, kTypeIxfr = 251, kTypeAxfr = 252, kTypeAny = 255,
};
inline constexpr std::uint16_t kClassIn = 1;

enum Rcode : std::uint16_t {
  kNoError = 0, kFormErr = 1, kServFail = 2, kNxDomain = 3, kNotImp = 4, kRefused = 5, kBadVers = 16,
};

/// EDNS option codes used here (RFC 7828, 7830, 7873, 8914).
enum OptionCode : std::uint16_t {
  kOptionCookie = 10, kOptionKeepalive = 11, kOptionPadding = 12, kOptionExtendedError = 15,
};

struct Header {
  std::uint16_t id = 0, flags = 0;
  std::uint16_t questions = 0, answers = 0, authorities = 0, additionals = 0;

  bool has(HeaderFlag flag) const { return (flags & flag) != 0; }
  std::uint8_t opcode() const { return static_cast<std::uint8_t>((flags & kOpcodeMask) >> 11); }
  std::uint8_t rcode() const { return flags & 15; }
};
/// nullopt: shorter than 12 octets.
std::optional<Header> read_header(BytesView message);

/// The first question. `name` borrows from the message and is uncompressed: nothing stands before it that
/// a pointer could refer to.
struct QuestionView {
  BytesView name;
  std::uint16_t type = 0, klass = 0;
  std::size_t end = 0;  ///< offset behind the question
};
/// nullopt: no question, or it is malformed.
std::optional<QuestionView> read_question(BytesView message);

enum class Section : std::uint8_t { Answer, Authority, Additional };

/// One record where it stands. Borrows from the message.
struct RecordView {
  Section section = Section::Answer;
  std::size_t offset = 0;        ///< of the owner name
  bool owner_is_root = false;
  std::uint16_t type = 0, klass = 0;
  std::uint32_t ttl = 0;         ///< as sent; RFC 2181 §8 reads values above 2^31-1 as 0
  std::size_t rdata_offset = 0;
  BytesView rdata;
  std::size_t end() const { return rdata_offset + rdata.size(); }
};

/// Yields the records of a message in order. Owner names are checked (see check_name).
class RecordScanner {
 public:
  /// Skips the header and all questions.
  explicit RecordScanner(BytesView message);

  /// nullopt: no more records, or the message is malformed: see problem().
  std::optional<RecordView> next();
  /// Empty while all is well, else what is wrong, for example "record runs past the end".
  std::string_view problem() const { return problem_; }
  /// Where the scanner stands; after a problem, where the malformed part begins.
  std::size_t offset() const { return offset_; }
  /// Octets of all owner names so far once uncompressed.
  std::size_t expanded_octets() const { return expanded_octets_; }

 private:
  std::optional<RecordView> stop(std::string_view problem);

  BytesView message_;
  std::size_t offset_ = kHeaderOctets;
  std::array<std::uint16_t, 3> left_{};
  std::size_t section_ = 0;
  std::size_t expanded_octets_ = 0;
  std::string_view problem_;
};

/// One EDNS option (RFC 6891 §6.1.2). Borrows from the rdata.
struct OptionView {
  std::uint16_t code = 0;
  BytesView data;
};
/// The option at the front of `rest`, which moves past it; nullopt: at the end, or malformed (then `rest` is
/// not empty).
std::optional<OptionView> next_option(BytesView& rest);

/// True if a well-formed message carries this EDNS option. Linear in the message's size.
bool has_edns_option(BytesView message, std::uint16_t code);

/// Seconds that a response may be kept (RFC 2308 §5, RFC 8484 §5.1): the smallest TTL of the answer section;
/// if an SOA in the authority section says that something does not exist, also its TTL and its MINIMUM.
/// nullopt: nothing to keep (failure, no SOA), or malformed.
std::optional<std::uint32_t> min_answer_ttl(BytesView response);

}  // namespace doxlab::dns
