#pragma once
/// The frames of QUIC packets: all of RFC 9000 §19, DATAGRAM (RFC 9221). Other extensions are malformed here.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "dissect/tile.hpp"

namespace doxlab::dissect {

/// Frame types (RFC 9000 §19, RFC 9221 §4). STREAM is 0x08 to 0x0f.
enum QuicFrameType : std::uint64_t {
  kFramePadding = 0x00,
  kFramePing = 0x01,
  kFrameAck = 0x02,
  kFrameAckEcn = 0x03,
  kFrameResetStream = 0x04,
  kFrameStopSending = 0x05,
  kFrameCrypto = 0x06,
  kFrameNewToken = 0x07,
  kFrameStream = 0x08,
  kFrameMaxData = 0x10,
  kFrameMaxStreamData = 0x11,
  kFrameMaxStreamsBidi = 0x12,
  kFrameMaxStreamsUni = 0x13,
  kFrameDataBlocked = 0x14,
  kFrameStreamDataBlocked = 0x15,
  kFrameStreamsBlockedBidi = 0x16,
  kFrameStreamsBlockedUni = 0x17,
  kFrameNewConnectionId = 0x18,
  kFrameRetireConnectionId = 0x19,
  kFramePathChallenge = 0x1a,
  kFramePathResponse = 0x1b,
  kFrameConnectionClose = 0x1c,
  kFrameConnectionCloseApplication = 0x1d,
  kFrameHandshakeDone = 0x1e,
  kFrameDatagram = 0x30,
  kFrameDatagramWithLength = 0x31,
};

/// Packet numbers from `smallest` to `largest`, both acknowledged.
struct AckRange {
  std::uint64_t smallest = 0, largest = 0;
  bool operator==(const AckRange&) const = default;
};

struct QuicFrame {
  std::uint64_t type = 0;
  std::uint32_t unit = kNone;       ///< the QuicPacket
  std::uint32_t offset = 0;         ///< from the first octet of the IP header
  std::uint32_t length = 0;         ///< a run of PADDING frames is one frame here
  std::uint32_t data_length = 0;    ///< CRYPTO, STREAM, DATAGRAM: octets of data, at the frame's end
  std::uint64_t stream_id = 0;      ///< of frames that name a stream
  std::uint64_t stream_offset = 0;  ///< CRYPTO and STREAM
  /// NEW_TOKEN: octets of the token. RESET_STREAM, STOP_SENDING, CONNECTION_CLOSE: the error code. MAX_* and
  /// *_BLOCKED: the limit. NEW_CONNECTION_ID, RETIRE_CONNECTION_ID: the sequence number. ACK: the delay as
  /// sent.
  std::uint64_t value = 0;
  bool fin = false;             ///< STREAM
  bool is_malformed = false;    ///< and so the rest of the packet
  std::vector<AckRange> acked;  ///< ACK, from the largest down
  /// Octets of data that the sender had sent before, as offsets of the stream.
  std::vector<ByteRange> repeated;

  bool is_stream() const { return type >= 0x08 && type <= 0x0f; }
  /// Carries data that the frame does not own: CRYPTO, STREAM, DATAGRAM.
  bool has_data() const { return is_stream() || type == kFrameCrypto || (type & ~1ull) == kFrameDatagram; }
  std::uint32_t header_length() const { return length - data_length; }
  std::uint64_t stream_end() const { return stream_offset + data_length; }
};
/// "PADDING", "ACK", "CRYPTO", "STREAM", ...
std::string_view frame_name(std::uint64_t type);

/// Reads the frames of a decrypted payload; the frames lie side by side and fill it. `offset` is added to
/// theirs. Acknowledged ranges are kept up to a bound of 256 a frame. Never fails: see is_malformed.
std::vector<QuicFrame> read_quic_frames(BytesView payload, std::uint32_t offset);

inline constexpr std::size_t kResetTokenBytes = 16;

/// What a NEW_CONNECTION_ID frame gives. Borrows from the payload.
struct NewConnectionId {
  BytesView id, stateless_reset_token;
};
/// `frame` is that frame's octets.
NewConnectionId read_new_connection_id(BytesView frame);

}  // namespace doxlab::dissect
