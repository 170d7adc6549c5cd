#include <memory>
#include <print>

#include "capture_options.hpp"
#include "commands.hpp"
#include "experiment/packets.hpp"
#include "files.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/packets.hpp"

namespace doxlab::app {
namespace {

struct PacketsOptions {
  LabOptions lab;
  std::size_t repetitions = 9;
  Output output;
  CaptureOptions capture;
};

int run(const PacketsOptions& options, const Invocation& invocation) {
  options.output.check();
  auto setup = options.lab.setup();
  Captures captures(options.capture, setup, options.repetitions, invocation.command_line);
  const auto result = experiment::run_packets(setup, options.repetitions, invocation.command_line, show_progress,
                                              invocation.stop, captures.on_packets());
  const bool captured = captures.finish();
  options.output.publish(results::to_json(result), report::packets_text(result));
  if (!result.complete) return kInterrupted;
  if (!captured) return kFailed;
  for (const auto& [name, summary] : result.results)
    if (summary.samples == 0) return kFailed;
  return kOk;
}

}  // namespace

Command add_packets(CLI::App& parent) {
  auto* command = parent.add_subcommand("packets", "Round trips, packets and bytes of one cold lookup, per transport");
  auto options = std::make_shared<PacketsOptions>();
  add_repetitions_option(*command, options->repetitions, "transport", 100000);
  options->output.add_to(*command);
  options->capture.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab packets --as-published --json out.json\n"
      "  doxlab packets --only doq,doh3 --group X25519 --chain-bytes 1200\n"
      "  doxlab packets --only doq --capture doq.pcapng --qlog qlog   for Wireshark and qvis\n"
      "  doxlab packets --delay 75 --ipv6 -n 3\n\n"
      "Exits with 1 if a transport got no answer at all.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }};
}

}  // namespace doxlab::app
