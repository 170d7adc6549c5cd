#include "experiment/explain_capture.hpp"

#include <algorithm>
#include <array>
#include <format>

#include "experiment/analysis.hpp"
#include "trace/ways_back.hpp"

namespace doxlab::experiment {
namespace {

using dissect::Dissection;
using dissect::ObservedPacket;
using link::Direction;

/// Gives every packet the times at which its two ends sent and got it, as far as the capture lets one say. The shortest way to
/// an end and back is the one that nothing delayed, and keeps causes before effects.
void place_ends(std::vector<ObservedPacket>& packets, const Dissection& dissection) {
  const auto ways = trace::ways_back(dissection, packets);
  // An end that answers at once, or at once compared with the other, is next to the capture.
  constexpr auto kNear = 2ms;
  const auto half = [&](Direction towards) {
    const auto way = ways[dissect::side(towards)], other = ways[1 - dissect::side(towards)];
    if (way < std::max<Duration>(kNear, other / 10)) return Duration{};
    // A little less, since packets are not all as fast as the fastest.
    return (way - way / 100) / 2;
  };
  const auto to_server = half(Direction::ToServer), to_client = half(Direction::ToClient);
  for (auto& packet : packets) {
    const bool asks = packet.direction != Direction::ToClient;
    const auto seen = packet.sent;
    packet.sent = seen - (asks ? to_client : to_server);
    if (packet.delivered) packet.delivered = seen + (asks ? to_server : to_client);
  }
  std::ranges::stable_sort(packets, {}, &ObservedPacket::sent);
}

std::string transport_of(const Dissection& dissection) {
  if (!dissection.quic_connections.empty()) {
    const auto alpn = dissection.quic_connections[0].hellos.alpn();
    return alpn == "doq" ? "DoQ" : alpn == "h3" ? "DoH3" : "QUIC";
  }
  if (!dissection.tcp_connections.empty()) {
    const auto& connection = dissection.tcp_connections[0];
    if (!connection.tls) return dissection.dns_messages.empty() ? "TCP" : "Do53/TCP";
    const auto alpn = connection.tls->hellos.alpn();
    return alpn == "h2" ? "DoH" : alpn == "dot" || connection.server.port == 853 ? "DoT" : "TLS";
  }
  return dissection.dns_messages.empty() ? "UDP" : "Do53";
}

struct Answer {
  std::optional<Timestamp> when;
  std::string caveat;
};

bool is_of_message(const dissect::Tile& tile) {
  using enum dissect::TileKind;
  return tile.kind == DnsHeader || tile.kind == DnsQuestion || tile.kind == DnsRecord || tile.kind == DnsOpt ||
         tile.kind == DnsPadding;
}

/// When all octets of the first answer had arrived, whichever copies of them did.
Answer find_answer(const Dissection& dissection, std::span<const ObservedPacket> packets) {
  Answer out;
  std::optional<std::uint32_t> message;
  dissect::RangeOwners arrived;
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    if (packets[i].direction != Direction::ToClient || !packets[i].delivered) continue;
    for (const auto& tile : dissection.packets[i].tiles) {
      if (tile.kind == dissect::TileKind::DnscryptCiphertext && !message) return {packets[i].delivered, {}};
      if (!is_of_message(tile) || tile.item >= dissection.dns_messages.size()) continue;
      const auto& here = dissection.dns_messages[tile.item];
      if (!here.is_response || here.is_dnscrypt_certificate() || message.value_or(tile.item) != tile.item) continue;
      message = tile.item;
      if (!arrived.claim({tile.item_offset, std::uint64_t{tile.item_offset} + tile.length}, i).empty())
        out.when = packets[i].delivered;
    }
  }
  if (out.when) return out;
  const auto carried = trace::what_they_carried(dissection);
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    if (packets[i].direction != Direction::ToClient || !packets[i].delivered) continue;
    if (carried[i].close || carried[i].fin) break;
    if (carried[i].new_data || carried[i].repeated) out.when = packets[i].delivered;
  }
  if (out.when)
    out.caveat = "no DNS answer can be read, for want of secrets or because there is none; explained up to the last data of "
                 "the server";
  return out;
}

}  // namespace

std::optional<results::Explanation> explain_flow(const dissect::Flow& flow, const dissect::KeyLog& keys) {
  auto packets = flow.observe();
  {
    const auto seen = dissect::dissect(packets, keys);
    for (std::size_t i = 0; i < packets.size(); ++i) packets[i].direction = seen.packets[i].direction;
    if (!std::ranges::contains(packets, std::optional(Direction::ToServer), &ObservedPacket::direction)) return std::nullopt;
    place_ends(packets, seen);
  }
  std::erase_if(packets, [](const ObservedPacket& packet) { return !packet.direction; });
  const auto dissection = dissect::dissect(packets, keys);
  const auto started = std::ranges::find(packets, std::optional(Direction::ToServer), &ObservedPacket::direction)->sent;

  results::Explanation out;
  const auto& asked = *std::ranges::find(dissection.packets, std::optional(Direction::ToServer),
                                         &dissect::DissectedPacket::direction);
  out.what = std::format("{} > {}", asked.source.to_string(), asked.destination.to_string());
  out.transport = transport_of(dissection);
  const auto answer = find_answer(dissection, packets);
  out.outcome = answer.when ? "answered" : "no answer";
  out.caveat = answer.caveat;
  if (std::ranges::any_of(dissection.packets, [](const auto& packet) { return packet.captured_bytes < packet.ip_bytes; }))
    out.caveat += std::format("{}packets were cut off by the capture", out.caveat.empty() ? "" : "; ");
  out.is_whole = out.caveat.empty();
  std::optional<trace::Causes> causes;
  if (answer.when) {
    out.ms = to_ms(*answer.when - started);
    causes = trace::find_causes(dissection, packets, started, *answer.when, std::nullopt);
  }
  const auto findings = trace::detect(dissection, packets, causes ? &*causes : nullptr,
                                      {.answered = answer.when, .sees_both_ends = false});
  describe(out, causes, findings, started);
  const auto until = [&](std::size_t i, bool before) {
    return (!answer.when || packets[i].sent <= *answer.when) == before;
  };
  out.ledger = ledger_rows(trace::count_ledger(dissection, [&](std::size_t i) { return until(i, true); }),
                           trace::count_ledger(dissection, [&](std::size_t i) { return until(i, false); }));
  const auto since_start = [&](const std::optional<Timestamp>& when) {
    return when ? std::optional(to_ms(*when - started)) : std::nullopt;
  };
  for (std::size_t i = 0; i < packets.size(); ++i)
    out.packets.push_back({.direction = std::string(link::to_string(*packets[i].direction)),
                           .sent_ms = to_ms(packets[i].sent - started),
                           .delivered_ms = since_start(packets[i].delivered),
                           .fate = packets[i].delivered ? "delivered" : "lost",
                           .ip_bytes = packets[i].ip_bytes,
                           .carried = trace::describe_packet(dissection, i)});
  return out;
}

}  // namespace doxlab::experiment
