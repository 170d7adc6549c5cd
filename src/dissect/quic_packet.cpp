#include "dissect/quic_packet.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

constexpr std::size_t kMaxConnectionIdBytes = 20;
constexpr std::size_t kMaxPacketNumberBytes = 4;

/// RFC 9000 §17.2, and RFC 9369 §3.2, which moves each type by one.
QuicPacketType long_type(std::uint32_t version, std::uint8_t first_octet) {
  static constexpr std::array kTypes = {QuicPacketType::Initial, QuicPacketType::ZeroRtt,
                                        QuicPacketType::Handshake, QuicPacketType::Retry};
  const unsigned bits = (first_octet >> 4) & 3u;
  return kTypes[version == kQuicVersion2 ? (bits + 3) % 4 : bits];
}

std::uint32_t position(const ByteReader& in) {
  return static_cast<std::uint32_t>(in.position());
}

Span read_run(ByteReader& in, std::uint64_t length) {
  const auto offset = position(in);
  in.skip(length);
  return {offset, static_cast<std::uint32_t>(length)};
}

std::optional<QuicHeader> read_short(BytesView datagram, std::size_t id_bytes) {
  if (datagram.size() < 1 + id_bytes) return std::nullopt;
  QuicHeader out;
  out.destination_id = {1, static_cast<std::uint32_t>(id_bytes)};
  out.packet_number_offset = out.destination_id.end();
  out.length = static_cast<std::uint32_t>(datagram.size());
  return out;
}

/// The rest of the datagram belongs to the packet.
std::optional<QuicHeader> take_all(QuicHeader out, const ByteReader& in, BytesView datagram) {
  if (!in.ok()) return std::nullopt;
  out.packet_number_offset = position(in);
  out.length = static_cast<std::uint32_t>(datagram.size());
  return out;
}

}  // namespace

std::optional<QuicHeader> read_quic_header(BytesView datagram, std::size_t short_id_bytes) {
  if (!has_long_header(datagram)) return read_short(datagram, short_id_bytes);
  ByteReader in(datagram);
  const auto first = in.u8();
  QuicHeader out;
  out.version = in.u32();
  out.destination_id = read_run(in, in.u8());
  out.source_id = read_run(in, in.u8());
  if (out.version == 0) {
    out.type = QuicPacketType::VersionNegotiation;
    return take_all(out, in, datagram);
  }
  if (out.version != kQuicVersion1 && out.version != kQuicVersion2) {
    out.type = QuicPacketType::UnknownVersion;
    return take_all(out, in, datagram);
  }
  if (std::max(out.destination_id.length, out.source_id.length) > kMaxConnectionIdBytes) return std::nullopt;
  out.type = long_type(out.version, first);
  if (out.type == QuicPacketType::Retry) {
    if (in.remaining() < kTagBytes) return std::nullopt;
    out.token = read_run(in, in.remaining() - kTagBytes);
    return take_all(out, in, datagram);
  }
  if (out.type == QuicPacketType::Initial) {
    const auto length = in.varint();
    if (length > in.remaining()) return std::nullopt;
    out.token = read_run(in, length);
  }
  const auto length = in.varint();
  if (!in.ok() || length > in.remaining()) return std::nullopt;
  out.packet_number_offset = position(in);
  out.length = out.packet_number_offset + static_cast<std::uint32_t>(length);
  return out;
}

std::optional<PlainHeader> unprotect_header(QuicKeys& keys, BytesView packet, const QuicHeader& header,
                                            std::uint64_t expected) {
  const auto sample_at = header.packet_number_offset + kMaxPacketNumberBytes;
  if (header.length > packet.size() || header.length < sample_at + HeaderProtection::kSampleBytes)
    return std::nullopt;
  const auto mask = keys.header.mask(packet.subspan(sample_at, HeaderProtection::kSampleBytes));
  PlainHeader out;
  out.first_octet = packet[0] ^ (mask[0] & (has_long_header(packet) ? 0x0f : 0x1f));
  out.packet_number_bytes = static_cast<std::uint8_t>((out.first_octet & 3) + 1);
  std::uint64_t truncated = 0;
  for (std::size_t i = 0; i < out.packet_number_bytes; ++i)
    truncated =
        truncated << 8 | static_cast<std::uint8_t>(packet[header.packet_number_offset + i] ^ mask[i + 1]);
  const std::uint64_t window = std::uint64_t{1} << (8 * out.packet_number_bytes);
  const std::uint64_t half = window / 2, limit = std::uint64_t{1} << 62;
  auto number = (expected & ~(window - 1)) | truncated;
  if (number + half <= expected && number + window < limit)
    number += window;
  else if (number > expected + half && number >= window)
    number -= window;
  out.packet_number = number;
  return out;
}

std::optional<Bytes> open_packet(QuicKeys& keys, BytesView packet, const QuicHeader& header,
                                 const PlainHeader& plain) {
  const auto header_bytes = header.packet_number_offset + plain.packet_number_bytes;
  auto associated = to_bytes(packet.first(header_bytes));
  associated[0] = plain.first_octet;
  for (std::size_t i = 0; i < plain.packet_number_bytes; ++i)
    associated[header_bytes - 1 - i] = static_cast<std::uint8_t>(plain.packet_number >> (8 * i));
  return keys.aead.open(plain.packet_number, associated,
                        packet.subspan(header_bytes, header.length - header_bytes));
}

Epoch epoch_of(QuicPacketType type) {
  switch (type) {
    case QuicPacketType::Initial:
      return Epoch::Initial;
    case QuicPacketType::ZeroRtt:
      return Epoch::Early;
    case QuicPacketType::Handshake:
      return Epoch::Handshake;
    default:
      return Epoch::Application;
  }
}

std::string_view to_string(QuicPacketType type) {
  switch (type) {
    case QuicPacketType::Initial:
      return "initial";
    case QuicPacketType::ZeroRtt:
      return "0-rtt";
    case QuicPacketType::Handshake:
      return "handshake";
    case QuicPacketType::Retry:
      return "retry";
    case QuicPacketType::VersionNegotiation:
      return "version negotiation";
    case QuicPacketType::OneRtt:
      return "1-rtt";
    case QuicPacketType::StatelessReset:
      return "stateless reset";
    case QuicPacketType::UnknownVersion:
      return "unknown version";
  }
  return "";
}

}  // namespace doxlab::dissect
