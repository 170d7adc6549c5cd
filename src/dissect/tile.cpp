#include "dissect/tile.hpp"

#include <algorithm>

namespace doxlab::dissect {

std::string_view to_string(TileKind kind) {
  switch (kind) {
    case TileKind::Unreadable:
      return "unreadable";
    case TileKind::NotCaptured:
      return "not captured";
    case TileKind::IpHeader:
      return "IP header";
    case TileKind::IpOptions:
      return "IP options";
    case TileKind::IpPayload:
      return "IP payload";
    case TileKind::IpTrailer:
      return "IP trailer";
    case TileKind::UdpHeader:
      return "UDP header";
    case TileKind::UdpPayload:
      return "UDP payload";
    case TileKind::TcpHeader:
      return "TCP header";
    case TileKind::TcpOptions:
      return "TCP options";
    case TileKind::TcpPayload:
      return "TCP payload";
    case TileKind::TlsRecordHeader:
      return "TLS record header";
    case TileKind::TlsAlert:
      return "TLS alert";
    case TileKind::TlsChangeCipherSpec:
      return "TLS change_cipher_spec";
    case TileKind::TlsContentType:
      return "TLS content type";
    case TileKind::TlsPadding:
      return "TLS padding";
    case TileKind::TlsTag:
      return "TLS tag";
    case TileKind::TlsCiphertext:
      return "TLS ciphertext";
    case TileKind::TlsApplicationData:
      return "TLS application data";
    case TileKind::TlsHandshake:
      return "TLS handshake";
    case TileKind::QuicHeader:
      return "QUIC header";
    case TileKind::QuicConnectionId:
      return "QUIC connection ID";
    case TileKind::QuicToken:
      return "QUIC token";
    case TileKind::QuicPacketNumber:
      return "QUIC packet number";
    case TileKind::QuicFrame:
      return "QUIC frame";
    case TileKind::QuicFrameHeader:
      return "QUIC frame header";
    case TileKind::QuicPadding:
      return "QUIC padding";
    case TileKind::QuicCryptoData:
      return "QUIC CRYPTO data";
    case TileKind::QuicStreamData:
      return "QUIC stream data";
    case TileKind::QuicDatagramData:
      return "QUIC DATAGRAM data";
    case TileKind::QuicMalformed:
      return "QUIC malformed";
    case TileKind::QuicTag:
      return "QUIC tag";
    case TileKind::QuicRetryTag:
      return "QUIC Retry integrity tag";
    case TileKind::QuicVersionList:
      return "QUIC version list";
    case TileKind::QuicCiphertext:
      return "QUIC ciphertext";
    case TileKind::QuicStatelessReset:
      return "QUIC stateless reset";
    case TileKind::QuicDatagramPadding:
      return "QUIC datagram padding";
    case TileKind::Http2Preface:
      return "HTTP/2 preface";
    case TileKind::HttpFrameHeader:
      return "HTTP frame header";
    case TileKind::HttpFramePayload:
      return "HTTP frame payload";
    case TileKind::HttpDataPadding:
      return "HTTP data padding";
    case TileKind::Http3StreamType:
      return "HTTP/3 stream type";
    case TileKind::QpackInstructions:
      return "QPACK instructions";
    case TileKind::DnsLengthPrefix:
      return "DNS length prefix";
    case TileKind::DnsHeader:
      return "DNS header";
    case TileKind::DnsQuestion:
      return "DNS question";
    case TileKind::DnsRecord:
      return "DNS record";
    case TileKind::DnsOpt:
      return "DNS OPT";
    case TileKind::DnsPadding:
      return "DNS padding";
    case TileKind::DnsMalformed:
      return "DNS malformed";
    case TileKind::DnscryptHeader:
      return "DNSCrypt header";
    case TileKind::DnscryptCiphertext:
      return "DNSCrypt ciphertext";
  }
  return "unreadable";
}

void Layout::add(std::uint64_t begin, std::uint64_t end, const Label& label) {
  if (begin >= end || (!runs_.empty() && begin < runs_.back().end)) return;
  runs_.push_back({begin, end, label});
}

std::size_t Layout::first_behind(std::uint64_t begin) const {
  const auto found = std::ranges::upper_bound(runs_, begin, {}, &Run::end);
  return static_cast<std::size_t>(found - runs_.begin());
}

}  // namespace doxlab::dissect
