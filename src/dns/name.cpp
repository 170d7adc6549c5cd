#include "dns/name.hpp"

#include <algorithm>
#include <format>

#include "dns/message.hpp"

namespace doxlab::dns {
namespace {

bool is_plain(std::uint8_t octet) {
  const auto lower = to_lower(octet);
  return (lower >= 'a' && lower <= 'z') || (octet >= '0' && octet <= '9') || octet == '-' || octet == '_' ||
         octet == '*' || octet == '/';
}

bool is_printable(std::uint8_t octet) { return octet > 0x20 && octet < 0x7f; }

/// For messages: long or binary input is cut and made printable.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (auto octet : as_bytes(text.substr(0, kShown))) {
    if (is_printable(octet)) {
      out.push_back(static_cast<char>(octet));
    } else {
      out += std::format("\\{:03}", octet);
    }
  }
  return out + (text.size() > kShown ? "...'" : "'");
}

/// One octet of a label, after its escape if it has one; `at` moves past it.
Result<std::uint8_t> read_octet(std::string_view text, std::size_t& at) {
  const auto octet = static_cast<std::uint8_t>(text[at]);
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  if (octet != '\\') {
    if (!is_printable(octet)) {
      return fail(std::format("octet {} at position {} of the name {} must be written as \\{:03}{}", octet, at,
                              quoted(text), octet, octet >= 0x80 ? " (international names: in punycode)" : ""));
    }
    ++at;
    return octet;
  }
  if (at + 1 == text.size()) return fail(std::format("the name {} ends within an escape", quoted(text)));
  if (!digit(at + 1)) {
    at += 2;
    return static_cast<std::uint8_t>(text[at - 1]);
  }
  if (!digit(at + 2) || !digit(at + 3)) {
    return fail(std::format("the escape at position {} of the name {} needs three digits", at, quoted(text)));
  }
  const int value = (text[at + 1] - '0') * 100 + (text[at + 2] - '0') * 10 + (text[at + 3] - '0');
  if (value > 255) {
    return fail(std::format("the escape \\{} in the name {} is above 255", value, quoted(text)));
  }
  at += 4;
  return static_cast<std::uint8_t>(value);
}

/// Walks a name of a message label by label. `on_label` gets each label with its length octet.
template <class OnLabel>
std::optional<std::size_t> walk_name(BytesView message, std::size_t at, std::size_t end, OnLabel&& on_label) {
  std::size_t expanded = 1;
  std::size_t limit = at;  // a pointer must go before the run of labels that it ends
  std::optional<std::size_t> octets;
  const auto start = at;
  end = std::min(end, message.size());
  for (int hops = 0;;) {
    if (at >= end) return std::nullopt;
    const std::uint8_t length = message[at];
    if (length == 0) return octets ? octets : at + 1 - start;
    if (length >= 0xc0) {
      if (end - at < 2 || ++hops > kMaxPointerHops) return std::nullopt;
      const std::size_t target = (length & 0x3fu) << 8 | message[at + 1];
      if (target >= limit || target < 12) return std::nullopt;
      if (!octets) octets = at + 2 - start;
      at = limit = target;
      end = message.size();
      continue;
    }
    if (length > kMaxLabelOctets || end - at < length + 1u) return std::nullopt;
    expanded += length + 1u;
    if (expanded > kMaxNameOctets) return std::nullopt;
    on_label(message.subspan(at, length + 1u));
    at += length + 1u;
  }
}

}  // namespace

Result<Bytes> name_to_wire(std::string_view text) {
  if (text.empty()) return fail("the name is empty; the root is '.'");
  if (text == ".") return Bytes{0};
  Bytes wire;
  for (std::size_t at = 0; at < text.size();) {
    const auto label = wire.size();
    wire.push_back(0);
    while (at < text.size() && text[at] != '.') {
      const auto octet = read_octet(text, at);
      if (!octet) return std::unexpected(octet.error());
      wire.push_back(*octet);
    }
    const auto length = wire.size() - label - 1;
    if (length == 0) return fail(std::format("empty label at position {} of the name {}", at, quoted(text)));
    if (length > kMaxLabelOctets) {
      return fail(std::format("label of {} octets in {}: at most {}", length, quoted(text), kMaxLabelOctets));
    }
    wire[label] = static_cast<std::uint8_t>(length);
    if (at < text.size()) ++at;
  }
  wire.push_back(0);
  if (wire.size() > kMaxNameOctets) {
    return fail(std::format("the name {} takes {} octets: at most {}", quoted(text), wire.size(), kMaxNameOctets));
  }
  return wire;
}

std::string name_to_text(BytesView wire) {
  if (wire[0] == 0) return ".";
  std::string out;
  for (std::size_t at = 0; wire[at] != 0; at += wire[at] + 1u) {
    for (auto octet : wire.subspan(at + 1, wire[at])) {
      if (is_plain(octet)) {
        out.push_back(static_cast<char>(octet));
      } else if (is_printable(octet) && octet != '#') {
        out.push_back('\\');
        out.push_back(static_cast<char>(octet));
      } else {
        const char escape[] = {'\\', static_cast<char>('0' + octet / 100),
                               static_cast<char>('0' + octet / 10 % 10), static_cast<char>('0' + octet % 10)};
        out.append(escape, sizeof escape);
      }
    }
    out.push_back('.');
  }
  return out;
}

std::optional<ExpandedName> expand_name(BytesView message, std::size_t at, std::size_t end) {
  ExpandedName out;
  const auto octets = walk_name(message, at, end, [&](BytesView label) {
    out.wire.insert(out.wire.end(), label.begin(), label.end());
  });
  if (!octets) return std::nullopt;
  out.wire.push_back(0);
  out.octets_in_message = *octets;
  return out;
}

std::optional<std::size_t> check_name(BytesView message, std::size_t at, std::size_t end,
                                      std::size_t* expanded_octets) {
  std::size_t expanded = 1;
  const auto octets = walk_name(message, at, end, [&](BytesView label) { expanded += label.size(); });
  if (octets && expanded_octets) *expanded_octets += expanded;
  return octets;
}

bool equal_ignoring_case(BytesView a, BytesView b) {
  return std::ranges::equal(a, b, [](auto x, auto y) { return to_lower(x) == to_lower(y); });
}

Result<std::string> normalize_name(std::string_view text) {
  return name_to_wire(text).transform([](const Bytes& wire) { return name_to_text(wire); });
}

}  // namespace doxlab::dns
