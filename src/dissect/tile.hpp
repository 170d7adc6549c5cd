#pragma once
/// What the octets of a packet are. The tiles of a packet lie side by side, in order, without gap or overlap,
/// from the first octet of its IP header to the last octet of the packet; whatever cannot be read is a tile
/// that says so. Hence every IP octet has exactly one name, and sums are exact.

#include <cstdint>
#include <string_view>
#include <vector>

#include "dissect/ranges.hpp"

namespace doxlab::dissect {

/// An index that points to nothing.
inline constexpr std::uint32_t kNone = 0xffff'ffff;

enum class TileKind : std::uint8_t {
  // Network and transport.
  Unreadable,   ///< neither IPv4 nor IPv6 with TCP or UDP inside
  NotCaptured,  ///< cut off by the capture
  IpHeader,     ///< 20 octets of IPv4, 40 of IPv6
  IpOptions,    ///< options of IPv4, extension headers of IPv6
  IpPayload,    ///< a later fragment's part of something
  IpTrailer,    ///< behind the end of a UDP datagram that is shorter than its packet
  UdpHeader,    ///< 8 octets
  UdpPayload,   ///< of no protocol that is known here
  TcpHeader,    ///< 20 octets
  TcpOptions,
  TcpPayload,  ///< of no protocol that is known here, or behind a gap in the stream
  // TLS over TCP. `unit`: the TlsRecord.
  TlsRecordHeader,  ///< 5 octets
  TlsAlert,
  TlsChangeCipherSpec,
  TlsContentType,      ///< the octet behind the content of a protected record (RFC 8446 §5.2)
  TlsPadding,          ///< zeros behind it (RFC 8446 §5.4)
  TlsTag,              ///< of the AEAD, 16 octets
  TlsCiphertext,       ///< of a record for which there is no key
  TlsApplicationData,  ///< of an application that is not known here
  // TLS handshake messages, in records or in CRYPTO frames. `item`: the HandshakeMessage, `part`: its part.
  TlsHandshake,
  // QUIC. `unit`: the QuicPacket. `frame`: the QuicFrame.
  QuicHeader,  ///< first octet, version, lengths of connection IDs, token and packet
  QuicConnectionId,
  QuicToken,
  QuicPacketNumber,
  QuicFrame,            ///< a whole frame without data: ACK, PING, HANDSHAKE_DONE, ...
  QuicFrameHeader,      ///< type, stream ID, offset and length in front of data
  QuicPadding,          ///< a run of PADDING frames
  QuicCryptoData,       ///< of a CRYPTO frame, not readable as a handshake message
  QuicStreamData,       ///< of a STREAM frame, not readable
  QuicDatagramData,     ///< of a DATAGRAM frame
  QuicMalformed,        ///< behind a frame of a type that is not known
  QuicTag,              ///< of the AEAD, 16 octets
  QuicRetryTag,         ///< Retry integrity tag, 16 octets
  QuicVersionList,      ///< of a Version Negotiation packet
  QuicCiphertext,       ///< of a packet for which there is no key
  QuicStatelessReset,   ///< a whole stateless reset (RFC 9000 §10.3)
  QuicDatagramPadding,  ///< zeros behind the last packet of a datagram
  // HTTP/2 and HTTP/3. `item`: the HttpFrame.
  Http2Preface,       ///< 24 octets (RFC 9113 §3.4)
  HttpFrameHeader,    ///< type, length, flags, stream
  HttpFramePayload,   ///< HEADERS, SETTINGS, ... and DATA that is no DNS message
  HttpDataPadding,    ///< pad length and padding of an HTTP/2 DATA frame
  Http3StreamType,    ///< in front of a unidirectional stream (RFC 9114 §6.2)
  QpackInstructions,  ///< of the encoder's or the decoder's stream (RFC 9204 §4.2)
  // DNS. `item`: the DnsMessage.
  DnsLengthPrefix,  ///< 2 octets over TCP, TLS and DoQ
  DnsHeader,        ///< 12 octets
  DnsQuestion,
  DnsRecord,   ///< other than OPT
  DnsOpt,      ///< the OPT record without its padding option
  DnsPadding,  ///< the padding option with its header (RFC 7830)
  DnsMalformed,
  // DNSCrypt.
  DnscryptHeader,      ///< magic, client key, nonce
  DnscryptCiphertext,  ///< with its tag
};
std::string_view to_string(TileKind kind);

/// Says what a run of octets is and to which structures it belongs. Indexes point into the Dissection's
/// lists.
struct Label {
  TileKind kind = TileKind::Unreadable;
  std::uint32_t unit = kNone;     ///< TlsRecord or QuicPacket
  std::uint32_t frame = kNone;    ///< QuicFrame
  std::uint32_t item = kNone;     ///< HandshakeMessage, HttpFrame or DnsMessage
  std::uint32_t item_offset = 0;  ///< octets of the item (of the frame's payload for HTTP) before these
  std::uint16_t part = 0;         ///< of a handshake message
};

struct Tile : Label {
  std::uint32_t offset = 0;  ///< from the first octet of the IP header
  std::uint32_t length = 0;
  bool repeated = false;  ///< the sender has sent these octets of the stream before
};

/// The names of a stream's octets, so that any packet which carries a piece of it can be cut into tiles.
class Layout {
 public:
  /// Names [begin, end). Calls come in order; a hole between two stays without name.
  void add(std::uint64_t begin, std::uint64_t end, const Label& label);
  /// Calls `emit(begin, end, label)` for the pieces of `range` in order. What has no name gets `fallback`. A
  /// piece that begins inside of a named run has its `item_offset` moved on.
  template <class Emit>
  void slice(ByteRange range, const Label& fallback, Emit emit) const;
  bool empty() const { return runs_.empty(); }

 private:
  struct Run {
    std::uint64_t begin = 0, end = 0;
    Label label;
  };
  std::size_t first_behind(std::uint64_t begin) const;

  std::vector<Run> runs_;
};

template <class Emit>
void Layout::slice(ByteRange range, const Label& fallback, Emit emit) const {
  auto at = range.begin;
  for (auto i = first_behind(at); i < runs_.size() && runs_[i].begin < range.end; ++i) {
    const auto& run = runs_[i];
    if (at < run.begin) emit(at, run.begin, fallback);
    const auto begin = at < run.begin ? run.begin : at;
    const auto end = run.end < range.end ? run.end : range.end;
    auto label = run.label;
    label.item_offset += static_cast<std::uint32_t>(begin - run.begin);
    emit(begin, end, label);
    at = end;
  }
  if (at < range.end) emit(at, range.end, fallback);
}

}  // namespace doxlab::dissect
