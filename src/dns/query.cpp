#include <algorithm>

#include "dns/message.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"

namespace doxlab::dns {
namespace {

constexpr std::size_t kOptionHeaderOctets = 4;
constexpr std::uint32_t kDnssecOkBit = 0x8000;

/// Octets of padding data that bring a message of `size`, with the option's header, to a multiple.
std::size_t padding_for(std::size_t size, std::size_t multiple) {
  size += kOptionHeaderOctets;
  const auto missing = (multiple - size % multiple) % multiple;
  return std::min(missing, kMaxMessageOctets - size);
}

}  // namespace

Result<Bytes> compose_query(std::string_view name, std::uint16_t type, const QueryOptions& options) {
  const auto wire = name_to_wire(name);
  if (!wire) return std::unexpected(wire.error());
  ByteWriter out;
  out.u16(options.id);
  out.u16(options.recursion_desired ? kFlagRecursionDesired : 0);
  out.u16(1);  // questions
  out.u32(0);  // answers, authorities
  out.u16(options.edns ? 1 : 0);
  out.append(*wire);
  out.u16(type);
  out.u16(kClassIn);
  if (!options.edns) return out.take();

  out.u8(0);
  out.u16(kTypeOpt);
  out.u16(options.udp_payload_size);
  out.u32(options.dnssec_ok ? kDnssecOkBit : 0);
  if (options.pad_to_multiple == 0) {
    out.u16(0);
    return out.take();
  }
  const auto padding = padding_for(out.size() + 2, options.pad_to_multiple);
  out.u16(static_cast<std::uint16_t>(kOptionHeaderOctets + padding));
  out.u16(kOptionPadding);
  out.u16(static_cast<std::uint16_t>(padding));
  out.append(Bytes(padding));
  return out.take();
}

}  // namespace doxlab::dns
