#include <format>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

std::string trips_text(const results::PacketsSummary& s) {
  if (!s.round_trips) return "–";
  if (s.round_trips_min == s.round_trips_max) return std::to_string(*s.round_trips);
  return std::format("{} ({}–{})", *s.round_trips, s.round_trips_min.value_or(0), s.round_trips_max.value_or(0));
}

std::string range_text(const results::PacketsSummary& s) {
  if (!s.ms) return "–";
  return std::format("{} ({}–{})", ms_number(*s.ms), ms_number(s.ms_min.value_or(*s.ms)), ms_number(s.ms_max.value_or(*s.ms)));
}

void add_run(Html& html, const results::PacketsRun& run, std::string_view title) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes, certificates;
  for (const auto* key : in_order(run.results)) {
    const auto& s = run.results.at(key);
    const auto n = static_cast<double>(s.samples), silent = static_cast<double>(s.no_answer);
    if (s.samples == 0) {
      rows.push_back({transport_name(key), "–", "–", "–", "–", "–", "–", "–", whole(silent)});
    } else {
      rows.push_back({transport_name(key), trips_text(s), range_text(s), std::to_string(s.pkts_c2s), std::to_string(s.pkts_s2c),
                      whole(static_cast<double>(s.bytes_c2s)), whole(static_cast<double>(s.bytes_s2c)), whole(n), whole(silent)});
    }
    if (s.certificate_ms)
      certificates.push_back(std::format("{} {}", transport_name(key), ms_text(s.certificate_ms)));
    if (s.disturbed > 0)
      notes.push_back(std::format("{}: the machine was too busy during {} lookups; do not trust their times.", transport_name(key), s.disturbed));
  }
  if (!certificates.empty())
    notes.push_back(std::format("Of these times, to fetch the certificate, which a client in use knows already: {}.", listed(certificates)));
  add_table(html, title,
            {{"transport", true}, {"round trips"}, {"ms, median (range)"}, {"packets up"}, {"down"}, {"IP bytes up"}, {"down"},
             {"answered"}, {"no answer"}},
            rows);
  for (const auto& note : notes) html.element("p", note, {{"class", "note"}});
  if (!run.precision.within_1_ms)
    add_warning(html, std::format("the link delivered 1% of the packets more than {} late; the times of this run are not to be trusted.",
                                  ms_text(run.precision.p99_us / 1000)));
  if (!run.complete) add_warning(html, "this run was interrupted; only what was measured until then is here.");
}

}  // namespace

void add_transports(Html& html, const results::Study& study) {
  if (!study.packets && !study.as_published) return;
  const auto& any = study.packets ? *study.packets : *study.as_published;
  const auto path = any.endpoints.direct ? std::string("the path as it is")
                                         : std::format("a path of {:g} ms each way{}", any.link.one_way_delay_ms,
                                                       any.link.loss_percent > 0 ? std::format(" that loses {:g}% of the packets", any.link.loss_percent)
                                                                                 : std::string(" without loss"));
  open_section(html, "transports", "What a cold lookup costs",
               std::format("One question, {} {}, with nothing remembered from before: {}. Up is from client to server. "
                           "Packets and bytes count until the answer.",
                           any.endpoints.qname, any.endpoints.qtype, path));
  if (study.packets) add_run(html, *study.packets, "Current settings");
  if (study.as_published) add_run(html, *study.as_published, "Settings of the published measurement: a Retry on DoH3");
  html.close();
}

}  // namespace doxlab::report::html
