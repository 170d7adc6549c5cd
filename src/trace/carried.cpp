#include "trace/carried.hpp"

#include <format>
#include <map>

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::HandshakeType;
using dissect::QuicPacketType;
using dissect::Tile;
using dissect::TileKind;


/// What of a packet is worth a word; empty: nothing.
std::string name_of(const Dissection& dissection, const Tile& tile) {
  switch (tile.kind) {
    case TileKind::TlsHandshake: {
      if (tile.item >= dissection.handshake.size()) return "handshake";
      const auto& message = dissection.handshake[tile.item];
      return message.is_hello_retry_request ? "HelloRetryRequest" : std::string(to_string(message.type));
    }
    case TileKind::TlsAlert: return "alert";
    case TileKind::TlsChangeCipherSpec: return "ChangeCipherSpec";
    case TileKind::TlsCiphertext:
    case TileKind::TlsApplicationData: return "TLS data";
    case TileKind::TcpPayload:
    case TileKind::UdpPayload: return "data";
    case TileKind::QuicFrame: {
      if (tile.frame >= dissection.quic_frames.size()) return {};
      return std::string(dissect::frame_name(dissection.quic_frames[tile.frame].type));
    }
    case TileKind::QuicPadding:
    case TileKind::QuicDatagramPadding: return "PADDING";
    case TileKind::QuicCryptoData: return "CRYPTO";
    case TileKind::QuicStreamData: return "STREAM";
    case TileKind::QuicCiphertext: return "encrypted";
    case TileKind::QuicStatelessReset: return "stateless reset";
    case TileKind::Http2Preface: return "HTTP/2 preface";
    case TileKind::HttpFrameHeader:
    case TileKind::HttpFramePayload:
      return tile.item < dissection.http_frames.size() ? std::string(http_frame_name(dissection.http_frames[tile.item]))
                                                       : "HTTP";
    case TileKind::Http3StreamType: return "stream type";
    case TileKind::QpackInstructions: return "QPACK";
    case TileKind::DnsHeader:
    case TileKind::DnsQuestion:
    case TileKind::DnsRecord:
    case TileKind::DnsOpt:
    case TileKind::DnsPadding:
      return tile.item < dissection.dns_messages.size() && dissection.dns_messages[tile.item].is_response ? "DNS answer"
                                                                                                         : "DNS query";
    case TileKind::DnscryptHeader:
    case TileKind::DnscryptCiphertext: return "DNSCrypt message";
    case TileKind::Unreadable:
    case TileKind::NotCaptured: return std::string(to_string(tile.kind));
    default: return {};
  }
}

std::string flags_of(const dissect::TcpSegment& segment) {
  const bool ack = (segment.flags & dissect::kTcpAck) != 0;
  if ((segment.flags & dissect::kTcpSyn) != 0) return ack ? "SYN-ACK" : "SYN";
  if ((segment.flags & dissect::kTcpRst) != 0) return "RST";
  if ((segment.flags & dissect::kTcpFin) != 0) return "FIN";
  return segment.payload_length == 0 ? "ACK" : "";
}

/// Writes "name octets" with separators; adds up neighbours of the same name.
class Line {
 public:
  /// What follows is of this QUIC packet.
  void begin_unit(std::string title) {
    flush();
    if (!text_.empty()) text_ += ", ";
    text_ += std::move(title);
    separator_ = ": ";
  }
  void add(std::string_view name, std::uint32_t octets, bool repeated) {
    if (name != name_ || repeated != repeated_) flush();
    name_ = name;
    repeated_ = repeated;
    octets_ += octets;
  }
  std::string finish() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (name_.empty()) return;
    text_ += separator_;
    text_ += octets_ == 0 ? name_ : std::format("{} {}", name_, octets_);
    if (repeated_) text_ += " again";
    separator_ = " + ";
    name_.clear();
    octets_ = 0;
  }

  std::string text_, name_;
  std::string_view separator_;
  std::uint32_t octets_ = 0;
  bool repeated_ = false;
};

void note_segment(const dissect::TcpSegment& segment, Carried& out) {
  out.syn = (segment.flags & dissect::kTcpSyn) != 0;
  out.fin = (segment.flags & dissect::kTcpFin) != 0;
  out.reset = (segment.flags & dissect::kTcpRst) != 0;
  out.close |= out.reset;
  out.has_ack = (segment.flags & dissect::kTcpAck) != 0;
  out.ack_eliciting = out.syn || out.fin || segment.payload_length > 0;
}

void note_quic(const Dissection& dissection, const dissect::QuicPacket& packet, Carried& out) {
  out.is_quic = true;
  out.retry |= packet.type == QuicPacketType::Retry;
  out.version_negotiation |= packet.type == QuicPacketType::VersionNegotiation;
  out.close |= packet.type == QuicPacketType::StatelessReset;
  for (std::uint32_t f = packet.first_frame; f < packet.first_frame + packet.frames; ++f) {
    const auto& frame = dissection.quic_frames[f];
    out.has_ack |= frame.type == dissect::kFrameAck || frame.type == dissect::kFrameAckEcn;
    out.close |= frame.type == dissect::kFrameConnectionClose || frame.type == dissect::kFrameConnectionCloseApplication;
    if (!is_ack_eliciting(frame.type)) continue;
    out.ack_eliciting = true;
    if (!out.space) out.space = epoch_of(packet.type);
  }
}

void note_tile(const Dissection& dissection, std::size_t packet, const Tile& tile, Carried& out) {
  const auto note_stream = [&](bool handshake) {
    out.repeated |= tile.repeated;
    out.new_data |= !tile.repeated;
    if (handshake) out.new_handshake |= !tile.repeated;
  };
  switch (tile.kind) {
    case TileKind::TlsHandshake: {
      note_stream(true);
      if (tile.item >= dissection.handshake.size()) return;
      const auto& message = dissection.handshake[tile.item];
      out.client_hello |= message.type == HandshakeType::ClientHello;
      out.hello_retry_request |= message.is_hello_retry_request;
      out.server_hello |= message.type == HandshakeType::ServerHello && !message.is_hello_retry_request;
      return;
    }
    case TileKind::QuicCryptoData: return note_stream(true);
    case TileKind::TlsAlert: out.close = true; return note_stream(false);
    case TileKind::DnsHeader:
    case TileKind::DnsQuestion:
    case TileKind::DnsRecord:
    case TileKind::DnsOpt:
    case TileKind::DnsPadding: {
      note_stream(false);
      if (tile.item >= dissection.dns_messages.size()) return;
      const auto& message = dissection.dns_messages[tile.item];
      const bool certificate = message.is_response && message.is_dnscrypt_certificate();
      out.certificate_answer |= certificate;
      out.answer |= message.is_response && !certificate;
      out.truncated_answer |= message.is_truncated && message.carrier.kind == dissect::CarrierKind::Udp;
      if (!message.is_response && message.carrier.kind == dissect::CarrierKind::Udp)
        out.asks = message.is_dnscrypt_certificate() ? Asks::DnscryptCertificate : Asks::Dns;
      return;
    }
    case TileKind::DnscryptHeader:
    case TileKind::DnscryptCiphertext: {
      const bool is_datagram = dissection.packets[packet].protocol == capture::Protocol::Udp;
      if (is_datagram && dissection.packets[packet].direction == link::Direction::ToServer) out.asks = Asks::Dnscrypt;
      return note_stream(false);
    }
    case TileKind::TcpPayload:
    case TileKind::TlsRecordHeader:
    case TileKind::TlsChangeCipherSpec:
    case TileKind::TlsCiphertext:
    case TileKind::TlsApplicationData:
    case TileKind::QuicStreamData:
    case TileKind::QuicCiphertext:
    case TileKind::Http2Preface:
    case TileKind::HttpFrameHeader:
    case TileKind::HttpFramePayload:
    case TileKind::DnsLengthPrefix:
    case TileKind::DnsMalformed: return note_stream(false);
    default: return;
  }
}

}  // namespace

bool is_ack_eliciting(std::uint64_t type) {
  return type != dissect::kFramePadding && type != dissect::kFrameAck && type != dissect::kFrameAckEcn &&
         type != dissect::kFrameConnectionClose && type != dissect::kFrameConnectionCloseApplication;
}

std::string describe_packet(const Dissection& dissection, std::size_t index) {
  const auto& packet = dissection.packets[index];
  Line line;
  if (packet.segment != dissect::kNone)
    if (const auto flags = flags_of(dissection.segments[packet.segment]); !flags.empty()) line.add(flags, 0, false);
  std::uint32_t unit = dissect::kNone;
  for (const auto& tile : packet.tiles) {
    if (packet.quic_packets > 0 && tile.unit != unit && tile.unit >= packet.first_quic_packet &&
        tile.unit < packet.first_quic_packet + packet.quic_packets) {
      unit = tile.unit;
      const auto& quic = dissection.quic_packets[unit];
      line.begin_unit(quic.packet_number_bytes > 0 ? std::format("{} {}", to_string(quic.type), quic.packet_number)
                                                   : std::string(to_string(quic.type)));
      if (quic.type == QuicPacketType::Retry) line.add("token", quic.token.length, false);
      if (quic.type == QuicPacketType::VersionNegotiation) line.add("versions", 0, false);
    }
    if (const auto name = name_of(dissection, tile); !name.empty()) line.add(name, tile.length, tile.repeated);
  }
  auto text = line.finish();
  return text.empty() ? "nothing" : text;
}

Carried what_it_carried(const Dissection& dissection, std::size_t index) {
  const auto& packet = dissection.packets[index];
  Carried out;
  if (packet.segment != dissect::kNone) note_segment(dissection.segments[packet.segment], out);
  for (std::uint32_t q = 0; q < packet.quic_packets; ++q)
    note_quic(dissection, dissection.quic_packets[packet.first_quic_packet + q], out);
  for (const auto& tile : packet.tiles) {
    note_tile(dissection, index, tile, out);
    // Zeros behind the last packet of a datagram count for the limits of RFC 9000 §8.1 too.
    if (packet.protocol == capture::Protocol::Udp && tile.kind != TileKind::IpHeader && tile.kind != TileKind::IpOptions &&
        tile.kind != TileKind::UdpHeader && tile.kind != TileKind::IpTrailer)
      out.udp_payload_bytes += tile.length;
  }
  return out;
}

std::vector<Carried> what_they_carried(const Dissection& dissection) {
  std::vector<Carried> out;
  out.reserve(dissection.packets.size());
  std::map<std::pair<std::uint32_t, link::Direction>, int> syns, fins;  // by connection
  for (std::size_t i = 0; i < dissection.packets.size(); ++i) {
    auto carried = what_it_carried(dissection, i);
    const auto& packet = dissection.packets[i];
    if (carried.syn || carried.fin) {
      const auto& segment = dissection.segments[packet.segment];
      carried.repeated |= (carried.syn ? syns : fins)[{segment.connection, segment.direction}]++ > 0;
    }
    out.push_back(carried);
  }
  return out;
}

}  // namespace doxlab::trace
