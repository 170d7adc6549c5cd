#include <algorithm>
#include <array>
#include <charconv>
#include <format>

#include "dns/libknot.hpp"
#include "dns/message.hpp"
#include "dns/scan.hpp"

namespace doxlab::dns {
namespace {

constexpr std::array<std::string_view, 24> kRcodes = {
    "NOERROR", "FORMERR",  "SERVFAIL",  "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",
    "NXRRSET", "NOTAUTH",  "NOTZONE",   "DSOTYPENI", "",      "",        "",         "",
    "BADVERS", "BADKEY",   "BADTIME",   "BADMODE",  "BADNAME", "BADALG", "BADTRUNC", "BADCOOKIE"};

std::string opcode_to_string(std::uint8_t opcode) {
  constexpr std::array<std::string_view, 7> kOpcodes = {"QUERY", "IQUERY", "STATUS", "", "NOTIFY", "UPDATE", "DSO"};
  if (opcode < kOpcodes.size() && !kOpcodes[opcode].empty()) return std::string(kOpcodes[opcode]);
  return std::format("OPCODE{}", opcode);
}

std::string class_to_string(std::uint16_t klass) {
  std::array<char, 16> buffer;
  if (knot_rrclass_to_string(klass, buffer.data(), buffer.size()) < 0) return std::format("CLASS{}", klass);
  return buffer.data();
}

std::string option_to_string(const EdnsOption& option) {
  constexpr std::size_t kShownOctets = 64;
  const BytesView data = option.data;
  const auto hex = to_hex(data.first(std::min(data.size(), kShownOctets))) + (data.size() > kShownOctets ? "..." : "");
  switch (option.code) {
    case kOptionCookie: return "cookie " + hex;
    case kOptionExtendedError:
      if (data.size() < 2) break;
      return std::format("extended error {}", data[0] << 8 | data[1]);
    case kOptionKeepalive:
      if (data.size() != 2) break;
      return std::format("keepalive {}.{} s", (data[0] << 8 | data[1]) / 10, (data[0] << 8 | data[1]) % 10);
    default: break;
  }
  return std::format("option {}{}", option.code, hex.empty() ? "" : " " + hex);
}

void append_edns(const Message& message, std::string& out) {
  if (!message.edns) return;
  out += std::format(";; EDNS: version {}{}, udp {}", message.edns_version, message.dnssec_ok ? ", do" : "",
                     message.edns_udp_payload_size);
  for (const auto& option : message.edns_options) out += ", " + option_to_string(option);
  if (message.has_padding) out += std::format(", padding {}", message.padding_bytes);
  out += '\n';
}

void append_section(std::string_view title, const std::vector<Record>& records, std::string& out) {
  if (records.empty()) return;
  out += std::format("\n;; {}\n", title);
  for (const auto& record : records) {
    out += std::format("{}\t{}\t{}\t{}\t{}\n", record.name, record.ttl, class_to_string(record.klass),
                       type_to_string(record.type), record.rdata);
  }
}

}  // namespace

Result<std::uint16_t> parse_type(std::string_view text) {
  std::uint16_t type = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), type);
  if (error == std::errc{} && end == text.data() + text.size()) return type;
  constexpr std::size_t kLongestMnemonic = 16;
  if (text.size() <= kLongestMnemonic && text.find('\0') == text.npos &&
      knot_rrtype_from_string(std::string(text).c_str(), &type) == 0) {
    return type;
  }
  return fail(std::format("unknown record type '{}'; give a name such as AAAA, TYPE65400 or a number up to 65535",
                          text.substr(0, 40)));
}

std::string type_to_string(std::uint16_t type) {
  std::array<char, 32> buffer;
  if (knot_rrtype_to_string(type, buffer.data(), buffer.size()) < 0) return std::format("TYPE{}", type);
  return buffer.data();
}

std::string rcode_to_string(std::uint16_t rcode) {
  if (rcode < kRcodes.size() && !kRcodes[rcode].empty()) return std::string(kRcodes[rcode]);
  return std::format("RCODE{}", rcode);
}

std::string to_text(const Message& message) {
  std::string out = std::format(";; opcode: {}, status: {}, id: {}\n;; flags:", opcode_to_string(message.opcode),
                                rcode_to_string(message.rcode), message.id);
  const std::pair<bool, std::string_view> flags[] = {
      {message.is_response, " qr"},         {message.authoritative, " aa"},  {message.truncated, " tc"},
      {message.recursion_desired, " rd"},   {message.recursion_available, " ra"},
      {message.authentic_data, " ad"},      {message.checking_disabled, " cd"}};
  for (const auto& [set, name] : flags) {
    if (set) out += name;
  }
  out += std::format("; QUERY: {}, ANSWER: {}, AUTHORITY: {}, ADDITIONAL: {}\n", message.question ? 1 : 0,
                     message.answer.size(), message.authority.size(),
                     message.additional.size() + (message.edns ? 1 : 0));
  append_edns(message, out);
  if (message.question) {
    out += std::format("\n;; QUESTION SECTION:\n;{}\t\t{}\t{}\n", message.question->name,
                       class_to_string(message.question->klass), type_to_string(message.question->type));
  }
  append_section("ANSWER SECTION:", message.answer, out);
  append_section("AUTHORITY SECTION:", message.authority, out);
  append_section("ADDITIONAL SECTION:", message.additional, out);
  return out;
}

}  // namespace doxlab::dns
