#include "experiment/explain_capture.hpp"

#include <algorithm>
#include <array>
#include <format>

#include "experiment/analysis.hpp"

namespace doxlab::experiment {
namespace {

using dissect::Dissection;
using dissect::ObservedPacket;
using link::Direction;

/// Between a packet and the next one of the other direction, at the least: towards the client it is the way to the
/// client and back, as seen from where the capture was made.
std::array<Duration, 2> shortest_ways_back(std::span<const ObservedPacket> packets) {
  std::array<std::optional<Duration>, 2> least;
  for (std::size_t i = 1; i < packets.size(); ++i) {
    const auto& before = packets[i - 1];
    const auto& here = packets[i];
    if (!before.direction || !here.direction || *before.direction == *here.direction) continue;
    auto& way = least[dissect::side(*before.direction)];
    const Duration gap = here.sent - before.sent;
    way = way ? std::min(*way, gap) : gap;
  }
  return {least[0].value_or(Duration{}), least[1].value_or(Duration{})};
}

/// Gives every packet the times at which its two ends sent and got it, as far as the capture lets one say.
void place_ends(std::vector<ObservedPacket>& packets) {
  // A way back of less than this is the reaction of the end next to the capture.
  constexpr auto kNear = 2ms;
  const auto ways = shortest_ways_back(packets);
  const auto half = [&](Direction towards) {
    const auto way = ways[dissect::side(towards)];
    return way < kNear ? Duration{} : way / 2;
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

/// When the first answer was complete.
Answer find_answer(const Dissection& dissection, std::span<const ObservedPacket> packets) {
  Answer out;
  std::optional<std::uint32_t> message;
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    if (packets[i].direction != Direction::ToClient) continue;
    for (const auto& tile : dissection.packets[i].tiles) {
      if (tile.kind == dissect::TileKind::DnscryptCiphertext && !message) return {packets[i].delivered, {}};
      const bool is_dns = tile.kind == dissect::TileKind::DnsHeader || tile.kind == dissect::TileKind::DnsRecord ||
                          tile.kind == dissect::TileKind::DnsQuestion || tile.kind == dissect::TileKind::DnsOpt ||
                          tile.kind == dissect::TileKind::DnsPadding;
      if (!is_dns || tile.item >= dissection.dns_messages.size() || tile.repeated) continue;
      const auto& here = dissection.dns_messages[tile.item];
      if (!here.is_response || here.is_dnscrypt_certificate() || (message && *message != tile.item)) continue;
      message = tile.item;
      out.when = packets[i].delivered;
    }
  }
  if (out.when) return out;
  const auto carried = trace::what_they_carried(dissection);
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    if (packets[i].direction != Direction::ToClient) continue;
    if (carried[i].close || carried[i].fin) break;
    if (carried[i].new_data) out.when = packets[i].delivered;
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
    const auto first = dissect::dissect(packets, keys);
    for (std::size_t i = 0; i < packets.size(); ++i) packets[i].direction = first.packets[i].direction;
  }
  std::erase_if(packets, [](const ObservedPacket& packet) { return !packet.direction; });
  const auto begin = std::ranges::find(packets, std::optional(Direction::ToServer), &ObservedPacket::direction);
  if (begin == packets.end()) return std::nullopt;
  place_ends(packets);
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
