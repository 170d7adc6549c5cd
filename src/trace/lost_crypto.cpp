#include "trace/lost_crypto.hpp"

#include <algorithm>
#include <format>
#include <map>
#include <set>

namespace doxlab::trace {
namespace {

using dissect::ByteRange;
using dissect::Dissection;
using dissect::Epoch;
using dissect::ObservedPacket;
using link::Direction;

/// The first probe timeout of an end that has measured no round trip is three times 333 ms (RFC 9002 §6.2.2).
constexpr auto kLossMustShow = 1s;
constexpr std::size_t kLeastLaterPackets = 2;

/// CRYPTO frames of one stream, in order of sending.
struct Sent {
  ByteRange range;
  std::uint32_t packet = 0;  ///< index of the IP packet
};
struct StreamKey {
  std::uint32_t connection = 0;
  Direction direction = Direction::ToServer;
  Epoch epoch = Epoch::Initial;
  auto operator<=>(const StreamKey&) const = default;
};

std::map<StreamKey, std::vector<Sent>> crypto_frames(const Dissection& dissection) {
  std::map<StreamKey, std::vector<Sent>> out;
  for (const auto& frame : dissection.quic_frames) {
    if (frame.type != dissect::kFrameCrypto || frame.unit >= dissection.quic_packets.size()) continue;
    const auto& packet = dissection.quic_packets[frame.unit];
    if (packet.connection == dissect::kNone || packet.type == dissect::QuicPacketType::OneRtt) continue;
    out[{packet.connection, packet.direction, epoch_of(packet.type)}].push_back(
        {{frame.stream_offset, frame.stream_end()}, packet.packet});
  }
  return out;
}

std::string_view space_name(Epoch epoch) { return epoch == Epoch::Initial ? "Initial" : "Handshake"; }

}  // namespace

std::vector<Detected> find_lost_crypto(const Dissection& dissection, std::span<const ObservedPacket> packets,
                                       const std::vector<Carried>& carried) {
  std::vector<Detected> out;
  for (const auto& [key, frames] : crypto_frames(dissection)) {
    dissect::RangeOwners delivered;
    for (const auto& sent : frames)
      if (packets[sent.packet].delivered) delivered.claim(sent.range, sent.packet);
    std::set<std::uint32_t> lost, later;
    std::uint64_t octets = 0;
    for (const auto& sent : frames) {
      const auto missing = delivered.claim(sent.range, sent.packet);
      if (missing.empty() || packets[sent.packet].delivered) continue;
      const bool sent_again = std::ranges::any_of(frames, [&](const Sent& other) {
        return other.packet != sent.packet && other.range.begin < missing.back().end && missing.front().begin < other.range.end;
      });
      if (sent_again) continue;
      const auto shows = packets[sent.packet].sent + kLossMustShow;
      std::set<std::uint32_t> after;
      for (std::uint32_t i = 0; i < packets.size(); ++i)
        if (packets[i].direction == key.direction && carried[i].is_quic && !carried[i].close && packets[i].sent >= shows)
          after.insert(i);
      if (after.size() < kLeastLaterPackets) continue;
      lost.insert(sent.packet);
      later.merge(after);
      for (const auto& range : missing) octets += range.length();
    }
    if (lost.empty()) continue;
    std::vector<std::uint32_t> evidence(lost.begin(), lost.end());
    evidence.insert(evidence.end(), later.begin(), later.end());
    const bool probes_elsewhere = std::ranges::any_of(later, [&](auto i) {
      return carried[i].ack_eliciting && carried[i].space && *carried[i].space != key.epoch;
    });
    out.push_back({Finding::LostCryptoNotResent,
                   std::format("{} lost {} octets of {} CRYPTO data and never sent them again; the {} packets that it sent "
                               "later were {} (RFC 9002 section 6.2.4 asks for that data in its probes).",
                               key.direction == Direction::ToServer ? "The client" : "The server", octets,
                               space_name(key.epoch), later.size(),
                               probes_elsewhere ? "probes in another packet number space" : "acknowledgements or probes "
                                                                                             "without it"),
                   std::move(evidence)});
  }
  return out;
}

}  // namespace doxlab::trace
