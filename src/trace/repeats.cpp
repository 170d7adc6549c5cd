#include "trace/repeats.hpp"

#include "trace/carried.hpp"

namespace doxlab::trace {
namespace {

using dissect::ByteRange;
using dissect::Dissection;
using dissect::QuicFrame;

bool overlap(const ByteRange& one, const ByteRange& other) { return one.begin < other.end && other.begin < one.end; }

bool repeats_segment(const dissect::TcpSegment& one, const dissect::TcpSegment& earlier) {
  if (one.connection != earlier.connection || one.direction != earlier.direction) return false;
  if ((one.flags & earlier.flags & (dissect::kTcpSyn | dissect::kTcpFin)) != 0) return true;
  return one.payload_length > 0 && earlier.payload_length > 0 && one.stream_offset && earlier.stream_offset &&
         overlap(one.stream_range(), earlier.stream_range());
}

bool repeats_frame(const dissect::QuicPacket& packet, const QuicFrame& one, const dissect::QuicPacket& earlier_packet,
                   const QuicFrame& earlier) {
  if (packet.connection != earlier_packet.connection) return false;
  const bool crypto = one.type == dissect::kFrameCrypto && earlier.type == dissect::kFrameCrypto &&
                      epoch_of(packet.type) == epoch_of(earlier_packet.type);
  const bool stream = one.is_stream() && earlier.is_stream() && one.stream_id == earlier.stream_id;
  return (crypto || stream) &&
         overlap({one.stream_offset, one.stream_end()}, {earlier.stream_offset, earlier.stream_end()});
}

bool repeats_quic(const Dissection& dissection, const dissect::DissectedPacket& packet,
                  const dissect::DissectedPacket& earlier) {
  for (auto p = packet.first_quic_packet; p < packet.first_quic_packet + packet.quic_packets; ++p)
    for (auto e = earlier.first_quic_packet; e < earlier.first_quic_packet + earlier.quic_packets; ++e) {
      const auto& one = dissection.quic_packets[p];
      const auto& other = dissection.quic_packets[e];
      for (auto f = one.first_frame; f < one.first_frame + one.frames; ++f)
        for (auto g = other.first_frame; g < other.first_frame + other.frames; ++g)
          if (repeats_frame(one, dissection.quic_frames[f], other, dissection.quic_frames[g])) return true;
    }
  return false;
}

}  // namespace

bool repeats(const Dissection& dissection, std::size_t packet, std::size_t earlier) {
  const auto& here = dissection.packets[packet];
  const auto& there = dissection.packets[earlier];
  if (here.direction != there.direction || here.protocol != there.protocol) return false;
  if (here.segment != dissect::kNone && there.segment != dissect::kNone)
    return repeats_segment(dissection.segments[here.segment], dissection.segments[there.segment]);
  if (here.quic_packets > 0 || there.quic_packets > 0) return repeats_quic(dissection, here, there);
  if (here.protocol != capture::Protocol::Udp) return false;
  const auto asks = what_it_carried(dissection, packet).asks;
  return asks != Asks::Nothing && asks == what_it_carried(dissection, earlier).asks;
}

}  // namespace doxlab::trace
