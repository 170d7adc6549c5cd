#include "experiment/packet_text.hpp"

#include <algorithm>
#include <format>
#include <optional>
#include <vector>

namespace doxlab::experiment {
namespace {

using namespace dissect;

constexpr std::uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;

/// Neighbouring octets of one thing.
struct Piece {
  std::string name;
  std::uint32_t begin = 0, length = 0;  // `begin` of it, where it is larger than what is here
  std::uint32_t whole = 0;              // 0: not known
  bool repeated = false;
  std::uint32_t item = kNone;

  std::string text() const {
    const auto again = repeated ? " again" : "";
    if (whole == 0) return name + again;
    if (length >= whole) return std::format("{} {} B{}", name, whole, again);
    return std::format("{} {}..{}{}", name, begin, begin + length, again);
  }
};

/// Name and whole length of what a tile is a part of; empty: headers and the like.
std::optional<Piece> piece_of(const Dissection& dissection, const Tile& tile) {
  const auto plain = [&](std::string_view name) {
    return Piece{.name = std::string(name), .length = tile.length, .repeated = tile.repeated};
  };
  const auto counted = [&](std::string_view name) {
    auto piece = plain(name);
    piece.whole = tile.length;
    return piece;
  };
  switch (tile.kind) {
    case TileKind::TlsHandshake: {
      if (tile.item == kNone) return counted("handshake");
      const auto& message = dissection.handshake[tile.item];
      return Piece{.name = message.is_hello_retry_request ? "HelloRetryRequest" : std::string(to_string(message.type)),
                   .begin = tile.item_offset,
                   .length = tile.length,
                   .whole = message.length,
                   .repeated = tile.repeated,
                   .item = tile.item};
    }
    case TileKind::DnsHeader:
    case TileKind::DnsQuestion:
    case TileKind::DnsRecord:
    case TileKind::DnsOpt:
    case TileKind::DnsPadding: {
      if (tile.item == kNone) return counted("DNS");
      auto piece = plain(dissection.dns_messages[tile.item].is_response ? "answer" : "query");
      piece.item = tile.item;
      return piece;
    }
    case TileKind::HttpFrameHeader:
      return tile.item == kNone ? plain("HTTP") : plain(http_frame_name(dissection.http_frames[tile.item]));
    case TileKind::Http2Preface: return plain("HTTP/2 preface");
    case TileKind::Http3StreamType: return plain("HTTP/3 stream");
    case TileKind::QuicFrame: return plain(frame_name(dissection.quic_frames[tile.frame].type));
    case TileKind::QuicCryptoData: return counted("CRYPTO");
    case TileKind::QuicStreamData: return counted("STREAM");
    case TileKind::QuicCiphertext:
    case TileKind::TlsCiphertext: return counted("ciphertext");
    case TileKind::QuicRetryTag: return plain("token");
    case TileKind::QuicStatelessReset: return plain("stateless reset");
    case TileKind::TlsChangeCipherSpec: return plain("ChangeCipherSpec");
    case TileKind::TlsAlert: return plain("alert");
    case TileKind::TlsApplicationData: return counted("application data");
    case TileKind::TcpPayload:
    case TileKind::UdpPayload:
    case TileKind::DnscryptCiphertext: return counted("payload");
    default: return std::nullopt;
  }
}

bool goes_on(const Piece& before, const Piece& piece) {
  return before.name == piece.name && before.item == piece.item && before.repeated == piece.repeated;
}

std::string joined(const std::vector<Piece>& pieces) {
  std::string out;
  for (const auto& piece : pieces) out += (out.empty() ? "" : ", ") + piece.text();
  return out;
}

std::string tcp_flags(const TcpSegment& segment) {
  std::string out;
  for (const auto& [flag, name] : {std::pair{kSyn, "SYN"}, {kFin, "FIN"}, {kRst, "RST"}})
    if ((segment.flags & flag) != 0) out += (out.empty() ? "" : "+") + std::string(name);
  return (segment.flags & kSyn) != 0 && (segment.flags & kAck) != 0 ? out + "+ACK" : out;
}

std::vector<Piece> pieces_between(const Dissection& dissection, std::size_t packet, std::uint32_t begin,
                                  std::uint32_t end) {
  std::vector<Piece> out;
  for (const auto& tile : dissection.packets[packet].tiles) {
    if (tile.offset < begin || tile.offset >= end) continue;
    auto piece = piece_of(dissection, tile);
    if (!piece) continue;
    if (!out.empty() && goes_on(out.back(), *piece))
      out.back().length += piece->length;
    else
      out.push_back(std::move(*piece));
  }
  return out;
}

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.begin < b.end && b.begin < a.end;
}

/// True if `later` carries again what `lost` carried: a SYN, octets of the same stream, the same question.
bool carries_again(const Dissection& dissection, std::size_t lost, std::size_t later) {
  const auto& a = dissection.packets[lost];
  const auto& b = dissection.packets[later];
  if (a.direction != b.direction || a.protocol != b.protocol) return false;
  if (a.segment != kNone && b.segment != kNone) {
    const auto& one = dissection.segments[a.segment];
    const auto& other = dissection.segments[b.segment];
    if ((one.flags & kSyn) != 0) return (other.flags & kSyn) != 0;
    return one.connection == other.connection && one.stream_offset && other.stream_offset &&
           overlap(one.stream_range(), other.stream_range());
  }
  const auto frames_of = [&](const DissectedPacket& packet) {
    std::vector<std::pair<const QuicFrame*, Epoch>> out;
    for (auto q = packet.first_quic_packet; q < packet.first_quic_packet + packet.quic_packets; ++q)
      for (auto f = dissection.quic_packets[q].first_frame;
           f < dissection.quic_packets[q].first_frame + dissection.quic_packets[q].frames; ++f)
        if (dissection.quic_frames[f].has_data())
          out.emplace_back(&dissection.quic_frames[f], epoch_of(dissection.quic_packets[q].type));
    return out;
  };
  if (a.quic_packets > 0) {
    for (const auto& [one, epoch] : frames_of(a))
      for (const auto& [other, other_epoch] : frames_of(b))
        if (one->is_stream() == other->is_stream() && one->stream_id == other->stream_id &&
            (one->is_stream() || epoch == other_epoch) &&
            overlap({one->stream_offset, one->stream_end()}, {other->stream_offset, other->stream_end()}))
          return true;
    return false;
  }
  return b.quic_packets == 0 && a.ip_bytes == b.ip_bytes;
}

/// True if there is something in the packet that its sender will send again unless it is acknowledged.
bool wants_delivery(const Dissection& dissection, std::size_t index) {
  const auto& packet = dissection.packets[index];
  if (packet.segment != kNone) {
    const auto& segment = dissection.segments[packet.segment];
    return (segment.flags & (kSyn | kFin)) != 0 || segment.payload_length > 0;
  }
  if (packet.quic_packets == 0) return true;
  for (auto q = packet.first_quic_packet; q < packet.first_quic_packet + packet.quic_packets; ++q)
    for (auto f = dissection.quic_packets[q].first_frame;
         f < dissection.quic_packets[q].first_frame + dissection.quic_packets[q].frames; ++f)
      if (const auto type = dissection.quic_frames[f].type; type != kFrameAck && type != kFramePadding) return true;
  return dissection.quic_packets[packet.first_quic_packet].frames == 0;
}

}  // namespace

std::string describe_packet(const Dissection& dissection, std::size_t index) {
  const auto& packet = dissection.packets[index];
  if (packet.segment != kNone) {
    const auto flags = tcp_flags(dissection.segments[packet.segment]);
    const auto content = joined(pieces_between(dissection, index, 0, packet.ip_bytes));
    if (flags.empty()) return content.empty() ? "ACK only" : content;
    return content.empty() ? flags : flags + ", " + content;
  }
  if (packet.quic_packets == 0) return joined(pieces_between(dissection, index, 0, packet.ip_bytes));
  std::string out;
  for (auto q = packet.first_quic_packet; q < packet.first_quic_packet + packet.quic_packets; ++q) {
    const auto& quic = dissection.quic_packets[q];
    out += std::format("{}{}: {}", out.empty() ? "" : " + ", to_string(quic.type),
                       joined(pieces_between(dissection, index, quic.offset, quic.end())));
  }
  return out;
}

std::string describe_recovery(const Dissection& dissection, std::span<const capture::RecordedPacket> packets,
                              std::size_t lost) {
  const auto& here = packets[lost];
  if (!wants_delivery(dissection, lost)) return "nothing in it to send again";
  const auto sent_again = [&] {
    for (auto i = lost + 1; i < packets.size(); ++i)
      if (!packets[i].duplicate && carries_again(dissection, lost, i)) return std::optional(i);
    return std::optional<std::size_t>();
  }();
  if (!sent_again) return "not sent again";
  const auto& again = packets[*sent_again];
  // What its sender heard last before that, if it was just then.
  constexpr Duration kAtOnce = 2ms;
  const bool prompted = std::ranges::any_of(packets, [&](const auto& packet) {
    return packet.place.direction != again.place.direction && packet.delivered && *packet.delivered <= again.sent &&
           again.sent - *packet.delivered <= kAtOnce;
  });
  return std::format("sent again after {:.1f} ms, {}{}", to_ms(again.sent - here.sent),
                     prompted ? "when a packet of the other end came" : "by a timer",
                     again.delivered ? "" : ", and lost once more");
}

}  // namespace doxlab::experiment
