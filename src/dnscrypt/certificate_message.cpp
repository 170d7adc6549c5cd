#include "dnscrypt/certificate_message.hpp"

#include <algorithm>
#include <format>
#include <optional>

#include "dns/message.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"

namespace doxlab::dnscrypt {
namespace {

constexpr std::size_t kMaxStringOctets = 255;  // RFC 1035 §3.3
constexpr std::size_t kOptOctets = 11;
constexpr std::size_t kRecordHeaderOctets = 12;  // a pointer to the question's name, type, class, TTL, length
constexpr std::uint16_t kPointerToQuestion = 0xc00c;
constexpr std::uint16_t kUdpPayloadOctets = 1232;  // DNS flag day 2020

Bytes to_character_strings(BytesView octets) {
  Bytes out;
  while (!octets.empty()) {
    const auto part = octets.first(std::min(octets.size(), kMaxStringOctets));
    out.push_back(static_cast<std::uint8_t>(part.size()));
    out.insert(out.end(), part.begin(), part.end());
    octets = octets.subspan(part.size());
  }
  return out;
}

std::optional<Bytes> join_character_strings(BytesView rdata) {
  ByteReader reader(rdata);
  Bytes out;
  while (!reader.at_end()) {
    const auto part = reader.take(reader.u8());
    if (!reader.ok()) return std::nullopt;
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

/// The EDNS version of a query that has an OPT record.
std::optional<std::uint8_t> edns_version(BytesView query) {
  dns::RecordScanner records(query);
  while (const auto record = records.next()) {
    if (record->type == dns::kTypeOpt && record->section == dns::Section::Additional) {
      return static_cast<std::uint8_t>(record->ttl >> 16);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Bytes> compose_certificate_query(std::string_view provider_name, std::uint16_t id,
                                        std::size_t pad_to_multiple) {
  return dns::compose_query(provider_name, dns::kTypeTxt,
                            {.id = id, .edns = pad_to_multiple != 0, .pad_to_multiple = pad_to_multiple});
}

bool is_certificate_query(BytesView message, BytesView provider_name) {
  const auto header = dns::read_header(message);
  if (!header || header->has(dns::kFlagResponse) || header->opcode() != 0 || header->questions != 1)
    return false;
  const auto question = dns::read_question(message);
  return question && question->type == dns::kTypeTxt && question->klass == dns::kClassIn &&
         dns::equal_ignoring_case(question->name, provider_name);
}

Bytes compose_certificate_answer(BytesView query, std::span<const Bytes> certificates,
                                 const CertificateAnswerOptions& options) {
  const auto header = dns::read_header(query);
  const auto question = dns::read_question(query);
  if (!header || !question) return {};
  const auto edns = edns_version(query);
  const bool bad_version = edns.value_or(0) != 0;
  std::size_t size = question->end + (edns ? kOptOctets : 0);
  std::uint16_t count = 0;
  ByteWriter records;
  bool truncated = false;
  for (const Bytes& certificate : certificates) {
    if (bad_version) break;
    const Bytes rdata = to_character_strings(certificate);
    truncated = size + kRecordHeaderOctets + rdata.size() > options.max_octets;
    if (truncated) break;
    size += kRecordHeaderOctets + rdata.size();
    ++count;
    records.u16(kPointerToQuestion);
    records.u16(dns::kTypeTxt);
    records.u16(dns::kClassIn);
    records.u32(options.ttl);
    records.u16(static_cast<std::uint16_t>(rdata.size()));
    records.append(rdata);
  }
  ByteWriter out;
  out.u16(header->id);
  out.u16(static_cast<std::uint16_t>(dns::kFlagResponse | dns::kFlagRecursionAvailable |
                                     (header->flags & dns::kFlagRecursionDesired) |
                                     (truncated ? dns::kFlagTruncated : 0)));
  out.u16(1);
  out.u16(count);
  out.u16(0);
  out.u16(edns ? 1 : 0);
  out.append(query.subspan(dns::kHeaderOctets, question->end - dns::kHeaderOctets));
  out.append(records.bytes());
  if (edns) {
    out.u8(0);
    out.u16(dns::kTypeOpt);
    out.u16(kUdpPayloadOctets);
    out.u32(bad_version ? std::uint32_t{dns::kBadVers >> 4} << 24 : 0);
    out.u16(0);
  }
  return out.take();
}

Result<std::vector<Bytes>> certificates_of(BytesView answer, BytesView provider_name) {
  const auto header = dns::read_header(answer);
  if (!header) return fail("the certificate answer is shorter than a DNS header");
  if (header->rcode() != dns::kNoError) {
    return fail(
        std::format("the server answers {} to the certificate query", dns::rcode_to_string(header->rcode())));
  }
  std::vector<Bytes> out;
  dns::RecordScanner records(answer);
  while (const auto record = records.next()) {
    if (record->section != dns::Section::Answer) break;
    if (record->type != dns::kTypeTxt || record->klass != dns::kClassIn) continue;
    const auto owner = dns::expand_name(answer, record->offset, record->rdata_offset);
    if (!owner || !dns::equal_ignoring_case(owner->wire, provider_name)) continue;
    if (auto certificate = join_character_strings(record->rdata)) out.push_back(std::move(*certificate));
  }
  if (!records.problem().empty()) {
    return fail(
        std::format("the certificate answer is malformed at {}: {}", records.offset(), records.problem()));
  }
  return out;
}

}  // namespace doxlab::dnscrypt
