#pragma once
/// QUIC connections from the datagrams of an observer: packets told apart and decrypted, frames, and the
/// streams that they carry (RFC 9000, 9001, 9221, 9369). Connections are followed by connection ID: the one
/// that the client made up, the one of a Retry, those of both ends' long headers and of NEW_CONNECTION_ID,
/// and by addresses where IDs are empty.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.hpp"
#include "base/time.hpp"
#include "dissect/carrier.hpp"
#include "dissect/quic_frame.hpp"
#include "dissect/quic_packet.hpp"
#include "dissect/stream_buffer.hpp"

namespace doxlab::dissect {

/// One QUIC packet. Offsets count from the first octet of the IP header.
struct QuicPacket {
  std::uint32_t packet = 0;          ///< index of the IP packet
  std::uint32_t connection = kNone;  ///< index of the QuicConnection
  link::Direction direction = link::Direction::ToServer;
  QuicPacketType type = QuicPacketType::OneRtt;
  std::uint32_t version = 0;  ///< of the connection for short headers; 0 for Version Negotiation
  std::uint32_t offset = 0, length = 0;
  Span destination_id, source_id, token;
  std::uint32_t header_length = 0;  ///< octets in front of the payload, packet number included if it is known
  bool is_decrypted = false;
  std::uint64_t packet_number = 0;
  std::uint8_t packet_number_bytes = 0;  ///< 0: not known
  bool key_phase = false;
  bool is_retry_authentic = false;            ///< Retry: its integrity tag is right
  std::uint32_t first_frame = 0, frames = 0;  ///< in QuicDissector::frames

  std::uint32_t end() const { return offset + length; }
};

/// One direction of a stream, put together from its STREAM or CRYPTO frames.
struct QuicStreamSide {
  explicit QuicStreamSide(MemoryBudget& budget) : data(budget) {}
  StreamBuffer data;
  Layout layout;  ///< names of its octets; of STREAM data to be filled in by who knows the application
  RangeOwners delivered_by;  ///< the IP packet that brought each octet first
  bool has_fin = false;
};
/// Both directions; see side().
using QuicStream = std::array<QuicStreamSide, 2>;

struct QuicConnection {
  SocketAddress client, server;        ///< of its first packet
  std::uint32_t original_version = 0;  ///< of the client's first packet
  std::uint32_t version = 0;           ///< negotiated (RFC 9368), as far as it was seen
  Bytes original_destination_id;       ///< that the client made up
  bool has_retry = false;
  std::optional<TlsRandom> client_random;
  bool has_secrets = false;  ///< the key log knows this session
  Hellos hellos;
  std::map<Epoch, QuicStream>
      crypto;  ///< of Initial, Handshake and Application; 0-RTT packets have no CRYPTO
  std::map<std::uint64_t, QuicStream> streams;  ///< by stream ID, at most kMaxStreams
  static constexpr std::size_t kMaxStreams = 4096;
};

/// A datagram as it was observed.
struct QuicDatagram {
  std::uint32_t packet = 0;  ///< index of the IP packet
  std::uint32_t offset = 0;  ///< of `payload` in it
  BytesView payload;         ///< UDP payload; borrowed until finish()
  SocketAddress source, destination;
  std::optional<link::Direction> direction;  ///< if the observer knows
  std::optional<Timestamp> delivered;        ///< empty: it never arrived
};

class QuicDissector {
 public:
  /// Handshake messages are appended to `messages`. Lifetime: all three outlive the dissector.
  QuicDissector(const KeyLog& keys, MemoryBudget& budget, std::vector<HandshakeMessage>& messages);
  ~QuicDissector();

  /// Takes datagrams in order of sending. False: this is not QUIC, or no QUIC that could be followed.
  bool add(const QuicDatagram& datagram);
  /// Decrypts what had to wait for keys, and fills the streams.
  void finish();

  // Results.
  std::vector<QuicPacket> packets;
  std::vector<QuicFrame> frames;
  std::vector<QuicConnection> connections;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::dissect
