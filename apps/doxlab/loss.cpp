#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <format>
#include <fstream>
#include <memory>
#include <print>

#include "capture_options.hpp"
#include "client_options.hpp"
#include "commands.hpp"
#include "elsewhere_options.hpp"
#include "experiment/loss.hpp"
#include "files.hpp"
#include "output.hpp"
#include "lab_arguments.hpp"
#include "report/loss.hpp"

namespace doxlab::app {
namespace {

struct LossOptions {
  LabOptions lab{kDefaultLossPercent};
  std::size_t repetitions = 300;
  experiment::SamplerOptions sampling;
  std::string samples, shard;
  Output output;
  CaptureOptions capture;
  ElsewhereOptions elsewhere;
  ClientOptions client;
  const CLI::App* command = nullptr;
};

/// Rate and time left, at most four times a second, on a terminal only.
class Progress {
 public:
  void operator()(const experiment::SamplerStatus& status) {
    if (!isatty(STDERR_FILENO)) return;
    const auto now = monotonic_now();
    if (status.done == status.of) {
      std::print(stderr, "\r\033[K");
    } else if (now - last_ > 250ms) {
      last_ = now;
      const double left = status.per_second > 0 ? static_cast<double>(status.of - status.done) / status.per_second : 0;
      std::print(stderr, "\r{} of {} lookups, {:.0f} a second, about {:.0f} s left\033[K", status.done, status.of,
                 status.per_second, left);
    }
  }

 private:
  Timestamp last_{};
};

int run(LossOptions& options, const Invocation& invocation) {
  auto setup = options.lab.setup();
  const auto shard = options.shard.empty() ? std::nullopt : std::optional(parse_shard(options.shard));
  if (!options.samples.empty() && options.samples == options.output.json_path())
    throw UsageError("--samples and --json: the same file");
  options.output.check();
  std::ofstream samples;
  if (!options.samples.empty()) {
    samples.open(options.samples, std::ios::trunc);
    if (!samples) throw std::runtime_error(std::format("{}: {}", options.samples, std::strerror(errno)));
  }
  const auto write_sample = [&](const results::LossSample& sample) {
    if (samples.is_open()) samples << results::to_json_line(sample) << '\n' << std::flush;
  };
  options.client.apply(setup);
  options.elsewhere.apply(setup, options.repetitions, invocation.stop);
  Captures captures(options.capture, setup, options.repetitions / (shard ? shard->of : 1), invocation.command_line);
  Progress progress;
  auto result = experiment::run_loss(setup, options.repetitions, shard, options.sampling, invocation.command_line,
                                     {write_sample, std::ref(progress), captures.on_packets()}, invocation.stop);
  const bool captured = captures.finish();
  result.options = all_lab_arguments(typed_lab_arguments(*options.command));
  options.elsewhere.leave_out_link(result.options);
  if (options.client.is_given()) result.options["client"] = options.client.name();
  if (samples.is_open()) {
    samples.close();
    if (!samples) throw std::runtime_error(options.samples + ": write failed (is the disk full?)");
    result.samples_file = options.samples;
    result.samples.clear();
  }
  options.output.publish(results::to_json(result), report::loss_text(result));
  if (!result.complete) return kInterrupted;
  if (!captured) return kFailed;
  const auto has_none = [](const auto& one) { return one.second.n == 0 && one.second.timeouts + one.second.disturbed > 0; };
  if (std::ranges::all_of(result.results, has_none)) options.elsewhere.explain_silence();
  return std::ranges::any_of(result.results, has_none) || options.elsewhere.misses_transport(setup) ? kFailed : kOk;
}

}  // namespace

Command add_loss(CLI::App& parent) {
  auto* command = parent.add_subcommand("loss", "Latency percentiles of cold lookups under loss, with intervals");
  auto options = std::make_shared<LossOptions>();
  add_repetitions_option(*command, options->repetitions, "transport", 10000000);
  options->output.add_to(*command);
  command->add_option("--samples", options->samples,
                      "Write each sample to this file as it arrives, one JSON object a line, instead of into --json");
  command->add_option("--in-flight", options->sampling.in_flight,
                      "Lookups that may be under way at once; 1 keeps a server that serves one after the other from making them wait")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  add_shard_option(*command, options->shard);
  options->capture.add_to(*command);
  options->lab.add_to(*command);
  options->client.add_to(*command);
  options->elsewhere.add_to(*command);
  options->command = command;
  command->footer(
      "Examples:\n"
      "  doxlab loss                                    2% each way, 300 lookups for each transport\n"
      "  doxlab loss --loss 5 -n 10000 --samples samples.ndjson --json out.json\n"
      "  doxlab loss --burst 1,30 --only doq,dot        bursts: bad state entered with 1%, left with 30% a packet\n"
      "  doxlab loss --loss 5 -n 1000 --capture slow.pcapng --capture-samples slow   the tail, for Wireshark\n"
      "  doxlab loss --subject knot --only dot --in-flight 1   each lookup alone with the server\n"
      "  doxlab loss --server dns.example --ip 192.0.2.1 -n 100   a server on the network, through the link\n"
      "  doxlab loss --server dns.example --ip 192.0.2.1 --direct   over the path as it is, without root\n"
      "  doxlab loss --client kdig --only dot -n 50     a client that others wrote (docs/clients.md)\n"
      "  doxlab loss -n 30000 --shard 2/8 --json part-2.json   the third of eight parts; doxlab merge joins them\n\n"
      "Ctrl-C ends it with what was measured. Exits with 1 if a transport got no answer at all.");
  return {.app = command,
          .run = [options](const Invocation& invocation) { return run(*options, invocation); },
          .needs_lab = [options] { return !options->elsewhere.is_direct(); },
          .before_threads = [options] { options->elsewhere.check_privileges(); }};
}

}  // namespace doxlab::app
