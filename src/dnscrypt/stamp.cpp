#include "dnscrypt/stamp.hpp"

#include <algorithm>
#include <charconv>
#include <format>

namespace doxlab::dnscrypt {
namespace {

constexpr std::string_view kScheme = "sdns://";
constexpr std::uint8_t kDnscrypt = 0x01;
constexpr int kBase64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

Result<Bytes> decode_base64url(std::string_view text) {
  Bytes out(text.size() / 4 * 3 + 3);
  std::size_t size = 0;
  const char* end = nullptr;
  const int status =
      sodium_base642bin(out.data(), out.size(), text.data(), text.size(), nullptr, &size, &end, kBase64);
  if (status != 0 || end != text.data() + text.size()) return fail("the stamp is not base64url");
  out.resize(size);
  return out;
}

Result<SocketAddress> parse_address(std::string_view text) {
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos) return fail(std::format("no closing bracket in '{}'", text));
    host = text.substr(1, bracket - 1);
    port = text.substr(bracket + 1);
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  const auto ip = IpAddress::parse(host);
  if (!ip) return std::unexpected(ip.error());
  if (ip->is_v6() != text.starts_with('['))
    return fail(std::format("'{}' has brackets in the wrong place", text));
  SocketAddress address{*ip, kDefaultPort};
  if (port.empty()) return address;
  const char* end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data() + 1, end, address.port);
  if (!port.starts_with(':') || error != std::errc() || stop != end || address.port == 0) {
    return fail(std::format("'{}' has no valid port", text));
  }
  return address;
}

void append_field(ByteWriter& out, BytesView field) {
  out.u8(static_cast<std::uint8_t>(field.size()));
  out.append(field);
}

}  // namespace

Result<Stamp> parse_stamp(std::string_view text) {
  if (!text.starts_with(kScheme)) return fail("a stamp begins with sdns://");
  const auto octets = decode_base64url(text.substr(kScheme.size()));
  if (!octets) return std::unexpected(octets.error());
  ByteReader reader(*octets);
  const auto protocol = reader.u8();
  if (reader.ok() && protocol != kDnscrypt)
    return fail(std::format("the stamp is for protocol {}, not DNSCrypt", protocol));
  Stamp stamp;
  for (int shift = 0; shift < 64; shift += 8) stamp.properties |= std::uint64_t{reader.u8()} << shift;
  const auto address_text = reader.take(reader.u8());
  const auto key = reader.take(reader.u8());
  const auto name = reader.take(reader.u8());
  if (!reader.ok()) return fail("the stamp is cut off");
  if (!reader.at_end()) return fail("the stamp has octets left over");
  if (key.size() != kKeyOctets)
    return fail(std::format("the stamp's provider key has {} octets, not 32", key.size()));
  if (name.empty()) return fail("the stamp has no provider name");
  const auto address = parse_address(as_text(address_text));
  if (!address) return std::unexpected(address.error());
  stamp.address = *address;
  std::ranges::copy(key, stamp.provider_key.begin());
  stamp.provider_name = as_text(name);
  return stamp;
}

std::string to_string(const Stamp& stamp) {
  ByteWriter out;
  out.u8(kDnscrypt);
  for (int shift = 0; shift < 64; shift += 8) out.u8(static_cast<std::uint8_t>(stamp.properties >> shift));
  std::string address = stamp.address.to_string();
  if (stamp.address.port == kDefaultPort) address.resize(address.rfind(':'));
  append_field(out, as_bytes(address));
  append_field(out, stamp.provider_key);
  append_field(out, as_bytes(stamp.provider_name));
  std::string text(sodium_base64_encoded_len(out.size(), kBase64), '\0');
  sodium_bin2base64(text.data(), text.size(), out.bytes().data(), out.size(), kBase64);
  text.pop_back();  // the terminator
  return std::string(kScheme) + text;
}

}  // namespace doxlab::dnscrypt
