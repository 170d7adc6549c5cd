#include "dissect/flow_collector.hpp"

#include <algorithm>

#include "capture/pcapng.hpp"

namespace doxlab::dissect {
namespace {

/// What a packet takes beside its octets, and a flow beside its packets, about.
constexpr std::size_t kPacketOverhead = 64, kFlowOverhead = 512;

/// Addresses and ports as far as the packet has them; a packet that was cut is filled up with zeros.
capture::PacketHeaders headers_of(const CapturedPacket& packet) {
  constexpr std::uint32_t kMaxIpBytes = 65'575;
  if (auto headers = capture::parse_headers(packet.bytes)) return *headers;
  if (!packet.is_cut()) return {};
  Bytes filled = to_bytes(packet.bytes);
  filled.resize(std::clamp<std::size_t>(packet.ip_bytes, filled.size(),
                                        std::max<std::size_t>(filled.size(), kMaxIpBytes)));
  auto headers = capture::parse_headers(filled).value_or(capture::PacketHeaders{});
  headers.payload = {};
  return headers;
}

}  // namespace

std::vector<ObservedPacket> Flow::observe() const {
  std::vector<ObservedPacket> out;
  out.reserve(packets.size());
  for (const auto& packet : packets)
    out.push_back({.bytes = packet.bytes,
                   .ip_bytes = packet.ip_bytes,
                   .sent = from_ns(packet.time_ns),
                   .delivered = packet.never_arrived ? std::nullopt : std::optional(from_ns(packet.time_ns)),
                   .direction = {}});
  return out;
}

FlowCollector::FlowCollector(Handler on_flow, FlowLimits limits)
    : on_flow_(std::move(on_flow)), limits_(limits) {}

void FlowCollector::add(const CapturedPacket& packet) {
  const auto idle = static_cast<std::uint64_t>(limits_.idle.count());
  while (!flows_.empty() && packet.time_ns > idle && flows_.front().last_ns < packet.time_ns - idle)
    hand_over(flows_.begin());
  const auto headers = headers_of(packet);
  const auto [low, high] = std::minmax(headers.source, headers.destination);
  const Key key{headers.protocol, low, high};
  auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    flows_.push_back({.key = key, .flow = {}});
    found = by_key_.emplace(key, std::prev(flows_.end())).first;
    auto& flow = flows_.back().flow;
    flow.protocol = headers.protocol;
    flow.first_source = headers.source;
    flow.first_destination = headers.destination;
    flow.bytes = kFlowOverhead;
    bytes_ += kFlowOverhead;
  } else {
    flows_.splice(flows_.end(), flows_, found->second);
  }
  auto& open = flows_.back();
  open.last_ns = packet.time_ns;
  open.flow.packets.push_back({.number = packet.number,
                               .time_ns = packet.time_ns,
                               .ip_bytes = packet.ip_bytes,
                               .never_arrived = packet.comment.contains(capture::kNeverArrived) ||
                                                packet.comment.contains(capture::kArrivedCorrupted),
                               .bytes = to_bytes(packet.bytes)});
  const auto kept = packet.bytes.size() + kPacketOverhead;
  open.flow.bytes += kept;
  bytes_ += kept;
  if (open.flow.bytes > limits_.flow_bytes) hand_over(std::prev(flows_.end()));
  while (bytes_ > limits_.total_bytes) hand_over(flows_.begin());
}

void FlowCollector::finish() {
  while (!flows_.empty()) hand_over(flows_.begin());
}

void FlowCollector::hand_over(Flows::iterator flow) {
  auto done = std::move(flow->flow);
  bytes_ -= done.bytes;
  by_key_.erase(flow->key);
  flows_.erase(flow);
  on_flow_(std::move(done));
}

}  // namespace doxlab::dissect
