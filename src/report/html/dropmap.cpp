#include <algorithm>
#include <format>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

/// A packet of the heat strip.
struct Cell {
  std::string row;
  std::uint64_t packet = 0;
  double lost_ms = 0;
  std::string time, carried, recovery, sent;
  bool died = false, after_answer = false;
};

struct CellData {
  std::vector<Cell> cells;
  std::vector<std::string> rows;
  bool labels = false;  ///< cells are wide enough for their cost
};

constexpr std::size_t kMostPackets = 64;  ///< of a direction; more would not be legible
constexpr std::uint64_t kMostLabelled = 20;

std::string cost_text(const results::DropmapRow& row, bool& died) {
  const auto met = row.lookups - std::min(row.not_sent, row.lookups);
  died = met > 0 && row.no_answer == met;
  if (died) return "no answer";
  auto text = row.lost_ms ? std::format("{:+.1f} ms", *row.lost_ms) : std::string("–");
  if (row.no_answer > 0) text += std::format(", {} of {} without an answer", row.no_answer, met);
  return text;
}

std::string action_text(const results::DropmapRun& run) {
  if (run.action == "flip") return "had one bit flipped";
  if (run.action == "dup") return "was doubled";
  if (run.action == "delay") return std::format("was delayed by {:g} ms", run.extra_delay_ms);
  return "was lost";
}

}  // namespace

void add_dropmap(Html& html, const results::Study& study) {
  if (!study.dropmap || study.dropmap->results.empty()) return;
  const auto& run = *study.dropmap;
  open_section(html, "dropmap", "What each single packet is worth",
               std::format("The same lookup again and again, each time with another packet of it that {}. Number and colour are the milliseconds that this cost.",
                           action_text(run)));
  CellData data{.labels = true};
  std::vector<std::vector<std::string>> rows;
  for (const auto* key : in_order(run.results)) {
    for (const bool up : {true, false}) {
      const auto name = std::format("{} {}", transport_name(key), up ? "↑" : "↓");
      bool any = false;
      for (const auto& row : run.results.at(key).rows) {
        if (row.packets.empty()) continue;
        const auto& packet = row.packets.front();
        if ((packet.direction == "c2s") != up) continue;
        bool died = false;
        const auto text = cost_text(row, died);
        rows.push_back({std::format("{} {}", name, packet.index), text, packet.carried, std::format("{:.1f}", packet.sent_ms), row.recovery});
        if (packet.index >= kMostPackets || (!died && !row.lost_ms)) continue;
        any = true;
        data.labels &= packet.index < kMostLabelled;
        data.cells.push_back({name, packet.index, died ? 0 : std::max(0.0, row.lost_ms.value_or(0)), text, packet.carried,
                              row.recovery.empty() ? row.reason : row.recovery, ms_text(packet.sent_ms), died, row.after_answer});
      }
      if (any) data.rows.push_back(name);
    }
  }
  add_chart(html,
            {.spec = "dropmap",
             .label = "A strip for each transport and direction with a square for each packet; the darker, the more its loss costs. Crosses: "
                      "the lookup never got an answer.",
             .caption = "↑ to the server, ↓ to the client; packets are counted from 0. A cross: no answer within the timeout. Point at a packet "
                        "for what it carried and how the lookup recovered.",
             .data = to_json_text(data)},
            [&] {
              add_table(html, "Cost of each packet", {{"packet", true}, {"cost"}, {"it carried", true}, {"sent, ms"}, {"what happened", true}}, rows);
            });
  if (!run.precision.within_1_ms) add_warning(html, "the link was more than 1 ms late at p99; the times of this run are not to be trusted.");
  if (!run.complete) add_warning(html, "this run was interrupted.");
  html.close();
}

}  // namespace doxlab::report::html
