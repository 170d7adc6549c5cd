#include <algorithm>
#include <format>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

/// What ladder.js draws; shorter names, and only what it needs.
struct LadderPacket {
  bool up = true;
  double sent = 0;
  std::optional<double> delivered;
  std::string fate, carried;
  std::uint64_t bytes = 0;
};
struct LadderSpan {
  std::string name, at, kind;
  double begin = 0, ms = 0;
  std::vector<std::uint32_t> packets;
};
struct Ladder {
  std::string transport, which, outcome;
  std::optional<double> ms;
  std::vector<LadderPacket> packets;
  std::vector<LadderSpan> spans;
};

constexpr std::size_t kMostOfALookup = 400;

std::string kind_of(std::string_view cause) {
  switch (group_of_cause(cause)) {
    case 4: case 6: return "wait";
    case 7: case 3: return "extra";
    case 8: return "computing";
    case 9: return "unexplained";
    default: return "way";
  }
}

Ladder ladder_of(std::string_view transport, std::string_view which, const results::Explanation& e) {
  Ladder out{.transport = transport_name(transport), .which = std::string(which), .outcome = e.outcome, .ms = e.ms};
  for (const auto& p : e.packets) {
    if (out.packets.size() == kMostOfALookup) break;
    out.packets.push_back({p.direction == "c2s", p.sent_ms, p.delivered_ms, p.fate, p.carried, p.ip_bytes});
  }
  for (const auto& s : e.spans) out.spans.push_back({s.name, s.at, kind_of(s.cause), s.begin_ms, s.ms, s.packets});
  return out;
}

void add_lists(Html& html, const Ladder& ladder) {
  html.open("details");
  html.element("summary", std::format("{}, {}: {} in {}", ladder.transport, ladder.which, ladder.ms ? ms_text(*ladder.ms) : ladder.outcome,
                                      counted(ladder.packets.size(), "packet", "packets")));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < ladder.packets.size(); ++i) {
    const auto& p = ladder.packets[i];
    rows.push_back({std::to_string(i), p.up ? "to the server" : "to the client", std::format("{:.3f}", p.sent),
                    p.delivered ? std::format("{:.3f}", *p.delivered) : p.fate, whole(static_cast<double>(p.bytes)), p.carried});
  }
  const auto name = std::format("{}, {}", ladder.transport, ladder.which);
  add_table(html, "Packets: " + name, {{"packet"}, {"direction", true}, {"sent, ms"}, {"delivered, ms"}, {"IP bytes"}, {"it carried", true}}, rows);
  rows.clear();
  if (ladder.spans.empty()) {  // there is none of a lookup without an answer
    html.close();
    return;
  }
  for (const auto& s : ladder.spans)
    rows.push_back({std::format("{:.3f}", s.begin), std::format("{:.3f}", s.ms),
                    s.at == "c2s"   ? "to the server"
                    : s.at == "s2c" ? "to the client"
                                    : s.at,
                    s.name});
  add_table(html, "Time: " + name, {{"from, ms"}, {"ms"}, {"where", true}, {"cause", true}}, rows);
  html.close();
}

template <class Run>
std::vector<Ladder> ladders_of(const std::optional<Run>& run) {
  std::vector<Ladder> out;
  if (!run) return out;
  for (const auto* key : in_order(run->results)) {
    const auto& accounting = run->results.at(key).accounting;
    if (!accounting) continue;
    if (accounting->median) out.push_back(ladder_of(key, "the median lookup", *accounting->median));
    if (accounting->slowest) out.push_back(ladder_of(key, "the slowest lookup", *accounting->slowest));
  }
  return out;
}

}  // namespace

void add_ladder(Html& html, const results::Study& study) {
  auto ladders = ladders_of(study.loss);
  const bool lossy = !ladders.empty();
  if (ladders.empty()) ladders = ladders_of(study.packets);
  if (ladders.empty()) ladders = ladders_of(study.as_published);
  if (ladders.empty()) return;
  open_section(html, "ladder", "Packet by packet",
               std::format("The median and the slowest lookup of each transport{}, with every packet at its time: client on the left, server on the "
                           "right, time downwards. Thick arrows are those that the answer waited for.",
                           lossy ? " under loss" : ""));
  html.open("div", {{"class", "ladder"}, {"hidden", "hidden"}});
  html.open("div", {{"class", "controls"}});
  html.open("label").text("Transport ").open("select", {{"class", "which-transport"}}).close().close();
  html.open("label").text("Lookup ").open("select", {{"class", "which-lookup"}}).close().close();
  html.open("label").void_element("input", {{"type", "checkbox"}, {"class", "shorten-waits"}, {"checked", "checked"}});
  html.text(" shorten long waits").close();
  html.open("span", {{"class", "buttons"}, {"role", "group"}, {"aria-label", "Zoom"}});
  html.element("button", "+", {{"type", "button"}, {"data-do", "in"}, {"aria-label", "Zoom in"}});
  html.element("button", "−", {{"type", "button"}, {"data-do", "out"}, {"aria-label", "Zoom out"}});
  html.element("button", "All", {{"type", "button"}, {"data-do", "all"}, {"aria-label", "Show the whole lookup"}});
  html.close().close();
  html.open("div", {{"class", "drawing"}, {"tabindex", "0"}, {"role", "application"}, {"aria-roledescription", "ladder diagram"},
                    {"aria-label", "Ladder diagram: plus and minus zoom, up and down move, left and right go from packet to packet"}});
  html.close();
  html.open("p", {{"class", "told"}, {"aria-live", "polite"}}).close();
  html.element("p", "Click the diagram, then: wheel, + and − zoom, drag or ↑ ↓ move, ← → go from packet to packet, 0 shows all.", {{"class", "note"}});
  html.json(to_json_text(ladders), {{"class", "ladders"}});
  html.close();
  html.open("div", {{"class", "lists"}});
  html.element("h3", "The same as tables");
  for (const auto& ladder : ladders) add_lists(html, ladder);
  html.close();
  html.close();
}

}  // namespace doxlab::report::html
