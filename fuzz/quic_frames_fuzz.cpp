// The frames of a QUIC packet, by themselves, and sealed in a client's Initial packets as anyone can make them,
// so that what lies behind the decryption meets them: streams, hellos, tiles. Each run of 0xff 0xff in the
// input begins another packet.
#include <algorithm>

#include "dissect/quic_frame.hpp"
#include "dissection_check.hpp"
#include "unit/dissect/seal.hpp"
#include "unit/dissect/wire.hpp"

using namespace doxlab;
using namespace doxlab::dissect;
using fuzz::require;

namespace {

constexpr std::size_t kMostPackets = 16, kMostFrameBytes = 1100;

void read_frames(BytesView payload) {
  std::uint64_t at = 100;
  for (const auto& frame : read_quic_frames(payload, 100)) {
    require(frame.offset == at && frame.length > 0 && frame.data_length <= frame.length);
    require(frame.acked.size() <= 256 && frame.stream_end() <= std::uint64_t{1} << 62);
    require(!frame_name(frame.type).empty());
    for (const auto& range : frame.acked) require(range.smallest <= range.largest);
    if (frame.type == kFrameNewConnectionId && !frame.is_malformed)
      read_new_connection_id(payload.subspan(frame.offset - 100, frame.length));
    at += frame.length;
  }
  require(at == 100 + payload.size());
}

void dissect_packets(BytesView input) {
  static const Bytes kDestination(8, 0xd1), kSource(8, 0x51);
  static constexpr std::array<std::uint8_t, 2> kNext = {0xff, 0xff};
  std::vector<Bytes> packets;
  while (packets.size() < kMostPackets) {
    const auto end = std::ranges::search(input, kNext);
    const auto length = static_cast<std::size_t>(end.begin() - input.begin());
    packets.push_back(dissect::test::udp(dissect::test::client_of(853), dissect::test::server_of(853),
                                dissect::test::seal_client_initial(kDestination, kSource,
                                                          static_cast<std::uint32_t>(packets.size()),
                                                          to_bytes(input.first(std::min(length, kMostFrameBytes))))));
    if (end.empty()) break;
    input = input.subspan(length + kNext.size());
  }
  std::vector<ObservedPacket> observed;
  for (const auto& packet : packets)
    observed.push_back({.bytes = packet,
                        .ip_bytes = static_cast<std::uint32_t>(packet.size()),
                        .sent = Timestamp{1s},
                        .delivered = Timestamp{1s},
                        .direction = {}});
  const auto dissection = dissect::dissect(observed, {});
  fuzz::check_dissection(dissection);
  require(dissection.quic_packets.size() >= packets.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView input(data, size);
  read_frames(input);
  dissect_packets(input);
  return 0;
}
