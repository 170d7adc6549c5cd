#include "dissect/packet_tiles.hpp"

#include <algorithm>

#include "dissect/applications.hpp"
#include "dissect/tiler.hpp"

namespace doxlab::dissect {
namespace {

using capture::Protocol;

constexpr std::uint32_t kIpv4HeaderBytes = 20, kIpv6HeaderBytes = 40, kTcpHeaderBytes = 20;

void put_ip_header(Tiler& tiler, const capture::PacketHeaders& headers) {
  const auto fixed = headers.source.ip.is_v6() ? kIpv6HeaderBytes : kIpv4HeaderBytes;
  tiler.put({.kind = TileKind::IpHeader}, fixed);
  tiler.put_until(static_cast<std::uint32_t>(headers.ip_header_bytes), {.kind = TileKind::IpOptions});
}

void put_tcp(Tiler& tiler, const Dissection& out, const TcpSegment& segment) {
  tiler.put({.kind = TileKind::TcpHeader}, kTcpHeaderBytes);
  tiler.put_until(segment.payload_offset, {.kind = TileKind::TcpOptions});
  const Label fallback{.kind = TileKind::TcpPayload};
  if (!segment.stream_offset) return tiler.put(fallback, segment.payload_length);
  const auto& layout = out.tcp_connections[segment.connection].layout[side(segment.direction)];
  tiler.put_stream(layout, segment.stream_range(), segment.repeated, fallback);
}

void put_quic_frame(Tiler& tiler, const Dissection& out, const QuicPacket& packet, std::uint32_t index) {
  const auto& frame = out.quic_frames[index];
  const auto label = [&](TileKind kind) { return Label{.kind = kind, .unit = frame.unit, .frame = index}; };
  if (frame.is_malformed) return tiler.put(label(TileKind::QuicMalformed), frame.length);
  if (frame.type == kFramePadding) return tiler.put(label(TileKind::QuicPadding), frame.length);
  if (!frame.has_data()) return tiler.put(label(TileKind::QuicFrame), frame.length);
  tiler.put(label(TileKind::QuicFrameHeader), frame.header_length());
  const auto& connection = out.quic_connections[packet.connection];
  const ByteRange range{frame.stream_offset, frame.stream_end()};
  const auto put_side = [&](const auto& streams, auto id, TileKind fallback) {
    const auto found = streams.find(id);
    if (found == streams.end()) return tiler.put(label(fallback), frame.data_length);
    tiler.put_stream(found->second[side(packet.direction)].layout, range, frame.repeated, label(fallback));
  };
  if (frame.type == kFrameCrypto)
    put_side(connection.crypto, epoch_of(packet.type), TileKind::QuicCryptoData);
  else if (frame.is_stream())
    put_side(connection.streams, frame.stream_id, TileKind::QuicStreamData);
  else
    tiler.put(label(TileKind::QuicDatagramData), frame.data_length);
}

/// Connection IDs and token, and between them what tells their lengths.
void put_quic_header(Tiler& tiler, const QuicPacket& packet, std::uint32_t unit) {
  const auto put_field = [&](Span field, TileKind kind) {
    if (field.length == 0) return;
    tiler.put_until(field.offset, {.kind = TileKind::QuicHeader, .unit = unit});
    tiler.put_until(field.end(), {.kind = kind, .unit = unit});
  };
  put_field(packet.destination_id, TileKind::QuicConnectionId);
  put_field(packet.source_id, TileKind::QuicConnectionId);
  put_field(packet.token, TileKind::QuicToken);
  // Of a Retry all but the tag has been named by now.
  if (packet.type == QuicPacketType::Retry) return;
  tiler.put_until(packet.offset + packet.header_length - packet.packet_number_bytes,
                  {.kind = TileKind::QuicHeader, .unit = unit});
  tiler.put(Label{.kind = TileKind::QuicPacketNumber, .unit = unit}, packet.packet_number_bytes);
}

void put_quic_packet(Tiler& tiler, const Dissection& out, std::uint32_t index) {
  const auto& packet = out.quic_packets[index];
  const auto rest = [&](TileKind kind) { tiler.put_until(packet.end(), {.kind = kind, .unit = index}); };
  if (packet.type == QuicPacketType::StatelessReset) return rest(TileKind::QuicStatelessReset);
  put_quic_header(tiler, packet, index);
  if (packet.type == QuicPacketType::Retry) {
    tiler.put_until(packet.end() - std::uint32_t{kTagBytes}, {.kind = TileKind::QuicHeader, .unit = index});
    return rest(TileKind::QuicRetryTag);
  }
  if (packet.type == QuicPacketType::VersionNegotiation) return rest(TileKind::QuicVersionList);
  if (!packet.is_decrypted) return rest(TileKind::QuicCiphertext);
  for (auto frame = packet.first_frame; frame < packet.first_frame + packet.frames; ++frame)
    put_quic_frame(tiler, out, packet, frame);
  rest(TileKind::QuicTag);
}

void put_quic(Tiler& tiler, const Dissection& out, const DissectedPacket& packet, const RawPacket& raw) {
  for (std::uint32_t i = 0; i < packet.quic_packets; ++i)
    put_quic_packet(tiler, out, packet.first_quic_packet + i);
  const auto end = raw.payload_offset() + static_cast<std::uint32_t>(raw.headers->payload.size());
  const auto behind = raw.bytes.first(end).subspan(std::min(tiler.position(), end));
  const bool is_padding =
      packet.quic_packets > 0 && std::ranges::all_of(behind, [](auto octet) { return octet == 0; });
  tiler.put_until(end, {.kind = is_padding ? TileKind::QuicDatagramPadding : TileKind::UdpPayload});
}

void put_datagram(Tiler& tiler, Dissection& out, const DissectedPacket& packet, const RawPacket& raw,
                  bool is_dnscrypt) {
  const auto payload = raw.headers->payload;
  const bool to_server = packet.direction == link::Direction::ToServer;
  const auto port = to_server ? packet.destination.port : packet.source.port;
  const auto layout = read_datagram(out, payload, *packet.direction, port, is_dnscrypt);
  tiler.put_stream(layout, {0, payload.size()}, {}, {.kind = TileKind::UdpPayload});
}

}  // namespace

void tile_packet(Dissection& out, std::uint32_t index, const RawPacket& raw, bool is_dnscrypt) {
  auto& packet = out.packets[index];
  Tiler tiler(packet.tiles);
  if (raw.headers) {
    put_ip_header(tiler, *raw.headers);
    if (packet.segment != kNone) {
      put_tcp(tiler, out, out.segments[packet.segment]);
    } else if (packet.protocol == Protocol::Udp) {
      tiler.put_until(raw.payload_offset(), {.kind = TileKind::UdpHeader});
      if (packet.quic_packets > 0)
        put_quic(tiler, out, packet, raw);
      else
        put_datagram(tiler, out, packet, raw, is_dnscrypt);
    } else {
      tiler.put({.kind = TileKind::IpPayload}, static_cast<std::uint32_t>(raw.headers->payload.size()));
    }
    tiler.put_until(raw.captured, {.kind = TileKind::IpTrailer});
  }
  tiler.finish(raw.captured, raw.ip_bytes);
}

}  // namespace doxlab::dissect
