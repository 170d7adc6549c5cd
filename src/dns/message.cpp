#include "dns/message.hpp"

#include <format>

#include "dns/name.hpp"
#include "dns/rdata.hpp"
#include "dns/scan.hpp"

namespace doxlab::dns {
namespace {

/// Far above what an honest message needs; keeps hostile compression from turning 64 KiB into hundreds of
/// milliseconds of work.
constexpr std::size_t kMaxExpandedOctets = 1 << 20;

Error malformed(std::string_view what, std::size_t offset) {
  return Error{std::format("malformed message: {} at offset {}", what, offset)};
}

void read_flags(const Header& header, Message& out) {
  out.id = header.id;
  out.is_response = header.has(kFlagResponse);
  out.authoritative = header.has(kFlagAuthoritative);
  out.truncated = header.has(kFlagTruncated);
  out.recursion_desired = header.has(kFlagRecursionDesired);
  out.recursion_available = header.has(kFlagRecursionAvailable);
  out.authentic_data = header.has(kFlagAuthenticData);
  out.checking_disabled = header.has(kFlagCheckingDisabled);
  out.opcode = header.opcode();
  out.rcode = header.rcode();
}

/// Reads an OPT record (RFC 6891 §6.1.2). Empty: fine; else what is wrong.
std::string_view read_opt(const RecordView& record, Message& out) {
  if (record.section != Section::Additional) return "OPT record outside the additional section";
  if (!record.owner_is_root) return "OPT record with an owner name";
  if (out.edns) return "second OPT record";
  out.edns = true;
  out.edns_udp_payload_size = record.klass;
  out.rcode = static_cast<std::uint16_t>(out.rcode | (record.ttl >> 24) << 4);
  out.edns_version = static_cast<std::uint8_t>(record.ttl >> 16);
  out.dnssec_ok = (record.ttl & 0x8000) != 0;
  auto rest = record.rdata;
  while (const auto option = next_option(rest)) {
    if (option->code == kOptionPadding) {
      out.has_padding = true;
      out.padding_bytes += option->data.size();
    } else {
      out.edns_options.push_back({option->code, to_bytes(option->data)});
    }
  }
  return rest.empty() ? "" : "EDNS option runs past the end of its OPT record";
}

std::vector<Record>& section_of(Message& message, Section section) {
  switch (section) {
    case Section::Answer: return message.answer;
    case Section::Authority: return message.authority;
    case Section::Additional: break;
  }
  return message.additional;
}

}  // namespace

Result<Message> parse_message(BytesView wire) {
  const auto header = read_header(wire);
  if (!header) return fail(std::format("malformed message: {} octets, a header takes 12", wire.size()));
  if (wire.size() > kMaxMessageOctets) {
    return fail(std::format("malformed message: {} octets, at most 65535 are possible", wire.size()));
  }
  Message out;
  read_flags(*header, out);
  if (header->questions > 1) {
    return std::unexpected(malformed(std::format("{} questions instead of at most one", header->questions), 4));
  }
  RecordScanner scanner(wire);
  if (const auto question = read_question(wire); question && scanner.problem().empty()) {
    out.question = Question{name_to_text(question->name), question->type, question->klass};
  }
  std::size_t rdata_expanded = 0;
  while (const auto record = scanner.next()) {
    if (record->type == kTypeOpt) {
      if (const auto wrong = read_opt(*record, out); !wrong.empty()) {
        return std::unexpected(malformed(wrong, record->offset));
      }
      continue;
    }
    auto rdata = rdata_to_text(wire, *record, rdata_expanded);
    if (!rdata) {
      return std::unexpected(malformed(rdata.error().message + " of a record", record->offset));
    }
    if (rdata_expanded + scanner.expanded_octets() > kMaxExpandedOctets) {
      return std::unexpected(malformed("names expand to more than 1 MiB", record->offset));
    }
    section_of(out, record->section)
        .push_back({.name = name_to_text(expand_name(wire, record->offset, wire.size())->wire),
                    .type = record->type,
                    .klass = record->klass,
                    .ttl = record->ttl,
                    .rdata = std::move(*rdata)});
  }
  if (!scanner.problem().empty()) return std::unexpected(malformed(scanner.problem(), scanner.offset()));
  return out;
}

bool is_answer_to(BytesView query, BytesView response) {
  const auto asked = read_header(query), answered = read_header(response);
  if (!asked || !answered || asked->id != answered->id) return false;
  if (asked->has(kFlagResponse) || !answered->has(kFlagResponse) || asked->opcode() != answered->opcode()) {
    return false;
  }
  if (response.size() == kHeaderOctets && answered->questions == 0) {
    const auto rcode = answered->rcode();
    return rcode == kFormErr || rcode == kServFail || rcode == kNotImp || rcode == kRefused;
  }
  if (answered->questions != 1) return false;
  const auto question = read_question(query), echoed = read_question(response);
  return question && echoed && question->type == echoed->type && question->klass == echoed->klass &&
         equal_ignoring_case(question->name, echoed->name);
}

std::uint16_t message_id(BytesView message) { return static_cast<std::uint16_t>(message[0] << 8 | message[1]); }

void set_message_id(Bytes& message, std::uint16_t id) {
  message[0] = static_cast<std::uint8_t>(id >> 8);
  message[1] = static_cast<std::uint8_t>(id);
}

bool is_truncated(BytesView message) { return (message[2] & (kFlagTruncated >> 8)) != 0; }

}  // namespace doxlab::dns
