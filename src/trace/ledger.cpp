#include "trace/ledger.hpp"

#include <algorithm>
#include <utility>

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::HandshakeType;
using dissect::PartKind;
using dissect::Tile;
using dissect::TileKind;
using link::Direction;

struct OwnerNames {
  std::string_view json, display;
};

constexpr std::array<OwnerNames, kOwners> kOwnerNames{{
    {"ip_header", "IP header"},
    {"udp_header", "UDP header"},
    {"tcp_header", "TCP header"},
    {"quic_header", "QUIC headers"},
    {"quic_token", "QUIC token"},
    {"quic_tag", "QUIC tags"},
    {"quic_padding", "QUIC padding"},
    {"quic_ack", "QUIC ACK"},
    {"quic_control", "other QUIC frames"},
    {"quic_close", "QUIC close"},
    {"tls_record", "TLS records"},
    {"tls_alert", "TLS alerts"},
    {"client_hello", "ClientHello"},
    {"key_share", "key shares"},
    {"server_hello", "ServerHello"},
    {"certificate", "certificate"},
    {"signature", "CertificateVerify"},
    {"handshake", "other handshake"},
    {"ticket", "session ticket"},
    {"http_framing", "HTTP"},
    {"dns_query", "DNS query"},
    {"dns_answer", "DNS answer"},
    {"dns_padding", "DNS padding"},
    {"dnscrypt", "DNSCrypt"},
    {"other", "not read"},
}};

Owner owner_of_handshake(const Dissection& dissection, const Tile& tile) {
  if (tile.item >= dissection.handshake.size()) return Owner::Handshake;
  const auto& message = dissection.handshake[tile.item];
  switch (message.type) {
    case HandshakeType::ClientHello:
    case HandshakeType::ServerHello:
      if (tile.part < message.parts.size() && message.parts[tile.part].kind == PartKind::Extension &&
          message.parts[tile.part].code == dissect::kKeyShare)
        return Owner::KeyShare;
      return message.type == HandshakeType::ClientHello ? Owner::ClientHello : Owner::ServerHello;
    case HandshakeType::Certificate:
    case HandshakeType::CompressedCertificate:
    case HandshakeType::CertificateStatus: return Owner::Certificate;
    case HandshakeType::CertificateVerify: return Owner::Signature;
    case HandshakeType::NewSessionTicket: return Owner::Ticket;
    default: return Owner::Handshake;
  }
}

Owner owner_of_frame(const Dissection& dissection, const Tile& tile) {
  if (tile.frame >= dissection.quic_frames.size()) return Owner::QuicControl;
  switch (dissection.quic_frames[tile.frame].type) {
    case dissect::kFrameAck:
    case dissect::kFrameAckEcn: return Owner::QuicAck;
    case dissect::kFrameConnectionClose:
    case dissect::kFrameConnectionCloseApplication: return Owner::QuicClose;
    case dissect::kFramePadding: return Owner::QuicPadding;
    case dissect::kFrameNewToken: return Owner::QuicToken;
    default: return Owner::QuicControl;
  }
}

Owner owner_of_dns(const Dissection& dissection, const Tile& tile, Direction direction) {
  if (tile.item >= dissection.dns_messages.size())
    return direction == Direction::ToServer ? Owner::DnsQuery : Owner::DnsAnswer;
  const auto& message = dissection.dns_messages[tile.item];
  if (!message.is_response) return Owner::DnsQuery;
  return message.is_dnscrypt_certificate() ? Owner::Certificate : Owner::DnsAnswer;
}

}  // namespace

std::string_view to_string(Owner owner) { return kOwnerNames[static_cast<std::size_t>(owner)].json; }
std::string_view display_name(Owner owner) { return kOwnerNames[static_cast<std::size_t>(owner)].display; }

Owner owner_of(const Dissection& dissection, const Tile& tile, Direction direction) {
  switch (tile.kind) {
    case TileKind::IpHeader:
    case TileKind::IpOptions: return Owner::IpHeader;
    case TileKind::UdpHeader: return Owner::UdpHeader;
    case TileKind::TcpHeader:
    case TileKind::TcpOptions: return Owner::TcpHeader;
    case TileKind::TlsRecordHeader:
    case TileKind::TlsContentType:
    case TileKind::TlsPadding:
    case TileKind::TlsTag: return Owner::TlsRecord;
    case TileKind::TlsAlert:
    case TileKind::TlsChangeCipherSpec: return Owner::TlsAlert;
    case TileKind::TlsHandshake: return owner_of_handshake(dissection, tile);
    case TileKind::QuicHeader:
    case TileKind::QuicConnectionId:
    case TileKind::QuicPacketNumber:
    case TileKind::QuicFrameHeader:
    case TileKind::QuicVersionList: return Owner::QuicHeader;
    case TileKind::QuicToken: return Owner::QuicToken;
    case TileKind::QuicTag:
    case TileKind::QuicRetryTag: return Owner::QuicTag;
    case TileKind::QuicPadding:
    case TileKind::QuicDatagramPadding: return Owner::QuicPadding;
    case TileKind::QuicFrame: return owner_of_frame(dissection, tile);
    case TileKind::QuicStatelessReset: return Owner::QuicClose;
    case TileKind::Http2Preface:
    case TileKind::HttpFrameHeader:
    case TileKind::HttpFramePayload:
    case TileKind::HttpDataPadding:
    case TileKind::Http3StreamType:
    case TileKind::QpackInstructions: return Owner::HttpFraming;
    case TileKind::DnsLengthPrefix:
    case TileKind::DnsHeader:
    case TileKind::DnsQuestion:
    case TileKind::DnsRecord:
    case TileKind::DnsOpt:
    case TileKind::DnsMalformed: return owner_of_dns(dissection, tile, direction);
    case TileKind::DnsPadding: return Owner::DnsPadding;
    case TileKind::DnscryptHeader:
    case TileKind::DnscryptCiphertext: return Owner::Dnscrypt;
    case TileKind::Unreadable:
    case TileKind::NotCaptured:
    case TileKind::IpPayload:
    case TileKind::IpTrailer:
    case TileKind::UdpPayload:
    case TileKind::TcpPayload:
    case TileKind::TlsCiphertext:
    case TileKind::TlsApplicationData:
    case TileKind::QuicCryptoData:
    case TileKind::QuicStreamData:
    case TileKind::QuicDatagramData:
    case TileKind::QuicMalformed:
    case TileKind::QuicCiphertext: return Owner::Other;
  }
  std::unreachable();
}

Amount Ledger::total() const {
  Amount out;
  for (const auto& amount : amounts) {
    out.to_server += amount.to_server;
    out.to_client += amount.to_client;
    out.repeated += amount.repeated;
  }
  return out;
}

Ledger count_ledger(const Dissection& dissection, const std::function<bool(std::size_t)>& counts) {
  Ledger out;
  for (std::size_t i = 0; i < dissection.packets.size(); ++i) {
    const auto& packet = dissection.packets[i];
    if (!packet.direction || !counts(i)) continue;
    for (const auto& tile : packet.tiles) {
      auto& amount = out.amounts[static_cast<std::size_t>(owner_of(dissection, tile, *packet.direction))];
      (*packet.direction == Direction::ToServer ? amount.to_server : amount.to_client) += tile.length;
      if (tile.repeated) amount.repeated += tile.length;
    }
  }
  return out;
}

}  // namespace doxlab::trace
