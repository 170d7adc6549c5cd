#include "resolver/rdata_layout.hpp"

#include "dns/message.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"

namespace doxlab::resolver {
namespace {

/// A whole name without pointers in front of `rest`, which moves past it.
bool take_name(BytesView& rest) {
  std::size_t at = 0;
  while (at < rest.size() && rest[at] != 0) {
    if (rest[at] > dns::kMaxLabelOctets) return false;
    at += rest[at] + 1u;
  }
  if (at >= rest.size() || at >= dns::kMaxNameOctets) return false;
  rest = rest.subspan(at + 1);
  return true;
}

}  // namespace

RdataLayout layout_of(std::uint16_t type) {
  switch (type) {
    case dns::kTypeNs:
    case dns::kTypeCname:
    case dns::kTypePtr: return {.prefix = 0, .names = 1};
    case dns::kTypeMx: return {.prefix = 2, .names = 1};
    case dns::kTypeSoa: return {.prefix = 0, .names = 2};
    default: return {};
  }
}

std::size_t name_octets(BytesView bytes) {
  std::size_t at = 0;
  while (bytes[at] != 0) at += bytes[at] + 1u;
  return at + 1;
}

bool is_sound_rdata(std::uint16_t type, BytesView rdata) {
  const auto layout = layout_of(type);
  if (rdata.size() < layout.prefix) return false;
  auto rest = rdata.subspan(layout.prefix);
  for (int i = 0; i < layout.names; ++i) {
    if (!take_name(rest)) return false;
  }
  // The parser of answers is the judge of all else: one record of the root, in a message of its own.
  ByteWriter message;
  message.u32(0);
  message.u32(1);  // no question, one answer
  message.u32(0);
  message.u8(0);
  message.u16(type);
  message.u16(dns::kClassIn);
  message.u32(0);
  message.u16(static_cast<std::uint16_t>(rdata.size()));
  message.append(rdata);
  return dns::parse_message(message.bytes()).has_value();
}

}  // namespace doxlab::resolver
