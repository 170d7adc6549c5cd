#include "dissect/quic_frame.hpp"

namespace doxlab::dissect {
namespace {

constexpr std::size_t kMaxAckRanges = 256;

// RFC 9000 §19.3.
void read_ack(ByteReader& in, QuicFrame& out) {
  auto largest = in.varint();
  out.value = in.varint();
  auto more = in.varint();
  for (auto length = in.varint(); in.ok();) {
    if (length > largest) {
      out.is_malformed = true;
      return;
    }
    const auto smallest = largest - length;
    if (out.acked.size() < kMaxAckRanges) out.acked.push_back({smallest, largest});
    if (more-- == 0) break;
    const auto gap = in.varint();
    length = in.varint();
    if (in.ok() && gap + 2 > smallest) {
      out.is_malformed = true;
      return;
    }
    largest = smallest - gap - 2;
  }
  if (out.type == kFrameAckEcn)
    for (int counter = 0; counter < 3; ++counter) in.varint();
}

void take_data(ByteReader& in, QuicFrame& out, bool has_length) {
  const auto length = has_length ? in.varint() : in.remaining();
  in.skip(length);
  if (in.ok()) out.data_length = static_cast<std::uint32_t>(length);
}

void read_stream(ByteReader& in, QuicFrame& out) {
  out.stream_id = in.varint();
  if ((out.type & 4) != 0) out.stream_offset = in.varint();
  out.fin = (out.type & 1) != 0;
  take_data(in, out, (out.type & 2) != 0);
}

void read_connection_close(ByteReader& in, QuicFrame& out) {
  out.value = in.varint();
  if (out.type == kFrameConnectionClose) in.varint();
  in.skip(in.varint());
}

void skip_padding(ByteReader& in, BytesView payload) {
  while (!in.at_end() && payload[in.position()] == 0) in.skip(1);
}

/// The frame behind its type.
void read_body(ByteReader& in, QuicFrame& out, BytesView payload) {
  if (out.is_stream()) return read_stream(in, out);
  switch (out.type) {
    case kFramePadding:
      return skip_padding(in, payload);
    case kFramePing:
    case kFrameHandshakeDone:
      return;
    case kFrameAck:
    case kFrameAckEcn:
      return read_ack(in, out);
    case kFrameResetStream:
      out.stream_id = in.varint();
      out.value = in.varint();
      in.varint();
      return;
    case kFrameStopSending:
      out.stream_id = in.varint();
      out.value = in.varint();
      return;
    case kFrameCrypto:
      out.stream_offset = in.varint();
      return take_data(in, out, true);
    case kFrameNewToken:
      out.value = in.varint();
      return in.skip(out.value);
    case kFrameMaxStreamData:
    case kFrameStreamDataBlocked:
      out.stream_id = in.varint();
      out.value = in.varint();
      return;
    case kFrameMaxData:
    case kFrameMaxStreamsBidi:
    case kFrameMaxStreamsUni:
    case kFrameDataBlocked:
    case kFrameStreamsBlockedBidi:
    case kFrameStreamsBlockedUni:
    case kFrameRetireConnectionId:
      out.value = in.varint();
      return;
    case kFrameNewConnectionId:
      out.value = in.varint();
      in.varint();
      in.skip(in.u8());
      return in.skip(kResetTokenBytes);
    case kFramePathChallenge:
    case kFramePathResponse:
      return in.skip(8);
    case kFrameConnectionClose:
    case kFrameConnectionCloseApplication:
      return read_connection_close(in, out);
    case kFrameDatagram:
    case kFrameDatagramWithLength:
      return take_data(in, out, out.type == kFrameDatagramWithLength);
    default:
      out.is_malformed = true;
  }
}

}  // namespace

std::vector<QuicFrame> read_quic_frames(BytesView payload, std::uint32_t offset) {
  std::vector<QuicFrame> out;
  for (ByteReader in(payload); !in.at_end();) {
    const auto begin = in.position();
    QuicFrame frame;
    frame.type = in.varint();
    frame.offset = offset + static_cast<std::uint32_t>(begin);
    read_body(in, frame, payload);
    frame.is_malformed |= !in.ok() || frame.stream_offset + frame.data_length >= std::uint64_t{1} << 62;
    if (frame.is_malformed) frame.data_length = 0;
    const auto end = frame.is_malformed ? payload.size() : in.position();
    frame.length = static_cast<std::uint32_t>(end - begin);
    out.push_back(std::move(frame));
    if (out.back().is_malformed) break;
  }
  return out;
}

NewConnectionId read_new_connection_id(BytesView frame) {
  ByteReader in(frame);
  for (int i = 0; i < 3; ++i) in.varint();  // type, sequence number, retire prior to
  NewConnectionId out;
  out.id = in.take(in.u8());
  out.stateless_reset_token = in.take(kResetTokenBytes);
  return out;
}

std::string_view frame_name(std::uint64_t type) {
  static constexpr std::string_view kNames[] = {"PADDING",
                                                "PING",
                                                "ACK",
                                                "ACK_ECN",
                                                "RESET_STREAM",
                                                "STOP_SENDING",
                                                "CRYPTO",
                                                "NEW_TOKEN",
                                                "STREAM",
                                                "STREAM",
                                                "STREAM",
                                                "STREAM",
                                                "STREAM",
                                                "STREAM",
                                                "STREAM",
                                                "STREAM",
                                                "MAX_DATA",
                                                "MAX_STREAM_DATA",
                                                "MAX_STREAMS_BIDI",
                                                "MAX_STREAMS_UNI",
                                                "DATA_BLOCKED",
                                                "STREAM_DATA_BLOCKED",
                                                "STREAMS_BLOCKED_BIDI",
                                                "STREAMS_BLOCKED_UNI",
                                                "NEW_CONNECTION_ID",
                                                "RETIRE_CONNECTION_ID",
                                                "PATH_CHALLENGE",
                                                "PATH_RESPONSE",
                                                "CONNECTION_CLOSE",
                                                "CONNECTION_CLOSE_APPLICATION",
                                                "HANDSHAKE_DONE"};
  if (type < std::size(kNames)) return kNames[type];
  if ((type & ~1ull) == kFrameDatagram) return "DATAGRAM";
  return "unknown";
}

}  // namespace doxlab::dissect
