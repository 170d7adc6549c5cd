#include <algorithm>
#include <memory>
#include <print>

#include "capture_options.hpp"
#include "client_options.hpp"
#include "commands.hpp"
#include "elsewhere_options.hpp"
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
  ElsewhereOptions elsewhere;
  ClientOptions client;
};

int run(PacketsOptions& options, const Invocation& invocation) {
  options.output.check();
  auto setup = options.lab.setup();
  options.client.apply(setup);
  options.elsewhere.apply(setup, options.repetitions, invocation.stop);
  Captures captures(options.capture, setup, options.repetitions, invocation.command_line);
  const auto result = experiment::run_packets(setup, options.repetitions, invocation.command_line, show_progress,
                                              invocation.stop, captures.on_packets());
  const bool captured = captures.finish();
  options.output.publish(results::to_json(result), report::packets_text(result));
  if (!result.complete) return kInterrupted;
  if (!captured) return kFailed;
  const auto has_none = [](const auto& one) { return one.second.samples == 0; };
  if (std::ranges::all_of(result.results, has_none)) options.elsewhere.explain_silence();
  return std::ranges::any_of(result.results, has_none) || options.elsewhere.misses_transport(setup) ? kFailed : kOk;
}

}  // namespace

Command add_packets(CLI::App& parent) {
  auto* command = parent.add_subcommand("packets", "Round trips, packets and bytes of one cold lookup, per transport");
  auto options = std::make_shared<PacketsOptions>();
  add_repetitions_option(*command, options->repetitions, "transport", 100000);
  options->output.add_to(*command);
  options->capture.add_to(*command);
  options->lab.add_to(*command);
  options->client.add_to(*command);
  options->elsewhere.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab packets --as-published --json out.json\n"
      "  doxlab packets --only doq,doh3 --group X25519 --chain-bytes 1200\n"
      "  doxlab packets --only doq --capture doq.pcapng --qlog qlog   for Wireshark and qvis\n"
      "  doxlab packets --delay 75 --ipv6 -n 3\n"
      "  doxlab packets --server dns.example --ip 192.0.2.1   a server on the network, through the link\n"
      "  doxlab packets --server dns.example --ip 192.0.2.1 --direct   the same without a link, and without root\n"
      "  doxlab packets --client kdig --only dot,doq   a client that others wrote (docs/clients.md)\n"
      "  doxlab packets --client 'kdig @{{server}} +tls-ca={{roots}} +tls-hostname={{name}} {{qname}}'\n\n"
      "Exits with 1 if a transport got no answer at all.");
  return {.app = command,
          .run = [options](const Invocation& invocation) { return run(*options, invocation); },
          .needs_lab = [options] { return !options->elsewhere.is_direct(); },
          .before_threads = [options] { options->elsewhere.check_privileges(); }};
}

}  // namespace doxlab::app
