#include "report/repro.hpp"

#include <algorithm>
#include <format>
#include <vector>

#include "report/explanation.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

constexpr const char* kSource =
    "Failed: no handshake within the timeout. Intervals: 95%, Clopper-Pearson. Published: the public harness's figures of\n"
    "stock nginx 1.31.5 with 20 ms each way and 10 s (nginx pull request 1617).\n";

Document cells_text(const results::ReproRun& run) {
  using enum Table::Align;
  Table table({{"chain", Right}, {"key exchange", Left}, {"loss", Right}, {"failed", Right}, {"95% interval", Right},
               {"with the fault", Right}, {"published", Right}});
  for (const auto& cell : run.cells)
    table.add_row({std::to_string(cell.chain_bytes), cell.post_quantum ? "post-quantum" : "classical",
                   std::format("{:g}%", cell.loss_percent), std::format("{} of {}", cell.failed, cell.handshakes),
                   std::format("{:.1f}% to {:.1f}%", 100 * cell.failed_low, 100 * cell.failed_high),
                   std::to_string(cell.with_fault),
                   cell.published_failed ? std::format("{} of {}", *cell.published_failed, *cell.published_handshakes) : "-"});
  return Document(table);
}

std::string joined(const std::vector<std::string>& packets) {
  std::string out;
  for (const auto& packet : packets) out += (out.empty() ? "" : "; ") + packet;
  return out;
}

Document scripted_text(const results::ReproRun& run) {
  using enum Table::Align;
  Table table({{"transport", Left}, {"chain", Right}, {"failed", Right}, {"slowest ms", Right}, {"lost", Left}});
  std::vector<std::string> findings;
  for (const auto& loss : run.scripted) {
    table.add_row({loss.transport, std::to_string(loss.chain_bytes), std::format("{} of {}", loss.failed, loss.attempts),
                   loss.slowest_ms ? std::format("{:.1f}", *loss.slowest_ms) : "-", joined(loss.packets)});
    if (!loss.finding.empty() && !std::ranges::contains(findings, loss.finding)) findings.push_back(loss.finding);
  }
  Document out(table);
  for (const auto& finding : findings) out += "* " + finding + "\n";
  return out;
}

}  // namespace

Document repro_text(const results::ReproRun& run) {
  Document out;
  const auto& ends = run.endpoints;
  if (run.fault == "nginx-1616")
    out += "nginx issue 1616: a server that never sends lost Initial CRYPTO data again, over DoH3\n";
  else
    out += "Losses that end a lookup\n";
  out += ends.subject == "builtin" ? std::string("Server: doxlab's own resolver\n\n") : server_line(ends) + "\n";
  if (!run.scripted.empty()) out += "Chosen losses:\n" + scripted_text(run) + "\n";
  if (!run.cells.empty()) out += "Random losses:\n" + cells_text(run) + kSource + "\n";
  if (run.first_failure) {
    out += "The first lookup that failed:\n" + explanation_text(*run.first_failure) + "\n";
    out += run.server_log.empty() ? std::string("The server wrote no log lines.\n\n") : "The server's last log lines:\n" + run.server_log + "\n";
  }
  if (run.every_time)
    out += std::format("To make it happen every time, lose {} ({} of {} lookups failed; {}, chain of {} bytes):\n  {}\n\n",
                       joined(run.every_time->packets), run.every_time->failed, run.every_time->attempts, run.every_time->transport,
                       run.every_time->chain_bytes, run.every_time_command);
  out += std::format("Verdict: {}: {}\n", run.verdict, run.reason);
  if (run.handshakes_needed) out += std::format("To decide, try again with -n {}\n", *run.handshakes_needed);
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  return out;
}

}  // namespace doxlab::report
