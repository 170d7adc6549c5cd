#include "report/repro.hpp"

#include <format>

#include "report/explanation.hpp"
#include "report/server_line.hpp"
#include "report/table.hpp"

namespace doxlab::report {
namespace {

constexpr const char* kSource =
    "Published: stock nginx 1.31.5, 20 ms each way, no handshake within 10 s, 200 attempts a cell (discussion of nginx pull\n"
    "request 1617; of the classical group 0 of 100, of a small chain 0 of 150). Intervals: 95%, Clopper-Pearson.\n";

std::string cells_text(const results::ReproRun& run) {
  using enum Table::Align;
  Table table({{"chain", Right}, {"key exchange", Left}, {"loss", Right}, {"failed", Right}, {"95% interval", Right},
               {"with the fault", Right}, {"published", Right}});
  for (const auto& cell : run.cells)
    table.add_row({std::to_string(cell.chain_bytes), cell.post_quantum ? "post-quantum" : "classical",
                   std::format("{:g}%", cell.loss_percent), std::format("{} of {}", cell.failed, cell.handshakes),
                   std::format("{:.1f}% to {:.1f}%", 100 * cell.failed_low, 100 * cell.failed_high),
                   std::to_string(cell.with_fault),
                   cell.published_failed ? std::format("{} of {}", *cell.published_failed, *cell.published_handshakes) : "-"});
  return table.to_text();
}

std::string scripted_text(const results::ReproRun& run) {
  std::string out;
  for (const auto& loss : run.scripted) {
    std::string packets;
    for (const auto& packet : loss.packets) packets += (packets.empty() ? "" : "; ") + packet;
    out += std::format("  {}, chain of {} bytes: lost once, {} of 1 failed: {}\n", loss.transport, loss.chain_bytes,
                       loss.completed ? 0 : 1, packets);
    if (loss.handshake_ms) out += std::format("    handshake completed after {:.1f} ms\n", *loss.handshake_ms);
    if (!loss.finding.empty()) out += std::format("    {}\n", loss.finding);
  }
  return out;
}

}  // namespace

std::string repro_text(const results::ReproRun& run) {
  std::string out;
  const auto& ends = run.endpoints;
  if (run.fault == "nginx-1616")
    out += "nginx issue 1616: a server that never sends lost Initial CRYPTO data again, over DoH3\n";
  else
    out += "Losses that end a lookup\n";
  out += ends.subject == "builtin" ? "Server: doxlab's own resolver\n\n" : server_line(ends) + "\n";
  if (!run.cells.empty()) out += cells_text(run) + kSource + "\n";
  if (!run.scripted.empty()) out += "Chosen losses:\n" + scripted_text(run) + "\n";
  if (run.first_failure) {
    out += "The first handshake that failed:\n" + explanation_text(*run.first_failure) + "\n";
    out += run.server_log.empty() ? "The server wrote no log lines.\n\n" : "The server's last log lines:\n" + run.server_log + "\n";
  }
  out += std::format("Verdict: {}: {}\n", run.verdict, run.reason);
  if (run.handshakes_needed) out += std::format("To decide, try again with -n {}\n", *run.handshakes_needed);
  if (!run.complete) out += "INTERRUPTED: only what was measured until then is here\n";
  return out;
}

}  // namespace doxlab::report
