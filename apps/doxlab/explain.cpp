#include <cctype>
#include <charconv>
#include <format>
#include <fstream>
#include <memory>
#include <optional>
#include <print>

#include "commands.hpp"
#include "dissect/pcap_reader.hpp"
#include "experiment/analysis.hpp"
#include "experiment/explain_capture.hpp"
#include "experiment/sampler.hpp"
#include "files.hpp"
#include "output.hpp"
#include "lab_arguments.hpp"
#include "report/explanation.hpp"

namespace doxlab::app {
namespace {

struct ExplainOptions {
  LabOptions lab{kDefaultLossPercent};
  std::string file, sample, keys;
  Output output;
  std::size_t most = 20;
};

struct SampleName {
  Transport transport = Transport::Do53;
  std::uint64_t number = 0;
};

SampleName parse_sample(const std::string& text) {
  const auto slash = text.rfind('/');
  SampleName out;
  // As results spell it ("do53-tcp") or as tables do ("Do53/TCP").
  auto spelled = text.substr(0, slash);
  for (auto& c : spelled) c = c == '/' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto transport = parse_transport(spelled);
  const auto* begin = text.data() + (slash == std::string::npos ? text.size() : slash + 1);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), out.number);
  if (!transport || error != std::errc{} || end != text.data() + text.size() || begin == end)
    throw UsageError(std::format("--sample {}: a transport and a number, as in dot/17 or doh3/0", text));
  out.transport = *transport;
  return out;
}

int explain_sample(const ExplainOptions& options, const Invocation& invocation) {
  const auto name = parse_sample(options.sample);
  auto setup = options.lab.setup();
  setup.transports = {name.transport};
  experiment::Rig rig(setup);
  results::Explanation explanation;
  const experiment::Task task{name.transport, name.number};
  const bool done = run_sampler(
      rig, {&task, 1}, {},
      [&](experiment::Sample&& sample) { explanation = explain(sample, analyse(sample, setup.link)); }, {}, invocation.stop);
  if (!done) return kInterrupted;
  explanation.command_line = invocation.command_line;
  options.output.publish(results::to_json(explanation), report::explanation_text(explanation));
  return explanation.ms ? kOk : kFailed;
}

/// Explains flow by flow, so that a file of any size takes bounded memory.
class CaptureExplainer {
 public:
  CaptureExplainer(const ExplainOptions& options, const Invocation& invocation)
      : options_(options), invocation_(invocation), text_(options.output.has_json_on_standard_output() ? stderr : stdout) {
    if (!options.keys.empty()) more_keys_ = read_file(options.keys);
    options.output.check();
  }

  int run() {
    std::ifstream in(options_.file, std::ios::binary);
    if (!in) throw UsageError(std::format("{}: {}", options_.file, std::generic_category().message(errno)));
    auto reader = dissect::PcapReader::open(in);
    if (!reader) throw std::runtime_error(std::format("{}: {}", options_.file, reader.error().message));
    dissect::FlowCollector collector([&](dissect::Flow&& flow) { explain(flow, reader->keys()); });
    std::string damage;
    while (!invocation_.stop.stop_requested()) {
      const auto packet = reader->next();
      if (!packet) damage = packet.error().message;
      if (!packet || !*packet) break;
      collector.add(**packet);
    }
    collector.finish();
    if (options_.output.wants_json()) options_.output.write(std::format("[{}]\n", json_));
    return finish(reader->counts(), damage);
  }

 private:
  void explain(const dissect::Flow& flow, const dissect::KeyLog& keys) {
    if (explained_ == options_.most) {
      ++left_out_;
      return;
    }
    auto explanation = experiment::explain_flow(flow, with_more_keys(keys));
    if (!explanation) {
      ++not_understood_;
      return;
    }
    explanation->command_line = invocation_.command_line;
    if (explained_ > 0) options_.output.show("\n" + std::string(100, '=') + "\n");
    options_.output.show(report::explanation_text(*explanation));
    if (options_.output.wants_json()) json_ += (explained_ > 0 ? "," : "") + results::to_json(*explanation);
    ++explained_;
  }

  /// Joined anew only when the file had more of them.
  const dissect::KeyLog& with_more_keys(const dissect::KeyLog& keys) {
    if (more_keys_.empty()) return keys;
    if (!joined_ || keys.sessions() != joined_from_) {
      joined_ = keys;
      joined_->add(more_keys_);
      joined_from_ = keys.sessions();
    }
    return *joined_;
  }

  int finish(const dissect::CaptureCounts& counts, const std::string& damage) const {
    std::print(text_, "\n{} packets, {} flows explained", counts.frames, explained_);
    if (left_out_ > 0) std::print(text_, ", {} more left out (--most)", left_out_);
    if (not_understood_ > 0) std::print(text_, ", {} without a client that could be told apart", not_understood_);
    if (counts.not_ip > 0) std::print(text_, ", {} packets of other protocols passed over", counts.not_ip);
    std::println(text_, ".");
    if (counts.ends_early) std::println(text_, "Partial: the file ends inside of a packet.");
    if (!damage.empty()) std::println(stderr, "doxlab: {}: {}; what came before is explained above", options_.file, damage);
    if (invocation_.stop.stop_requested()) return kInterrupted;
    return damage.empty() && explained_ > 0 ? kOk : kFailed;
  }

  const ExplainOptions& options_;
  const Invocation& invocation_;
  std::FILE* text_;
  std::string more_keys_, json_;
  std::optional<dissect::KeyLog> joined_;
  std::size_t joined_from_ = 0;
  std::size_t explained_ = 0, left_out_ = 0, not_understood_ = 0;
};

int run(const ExplainOptions& options, const Invocation& invocation) {
  if (options.file.empty() == options.sample.empty())
    throw UsageError("explain: either a capture file or --sample, as in 'doxlab explain --sample dot/17'");
  return options.file.empty() ? explain_sample(options, invocation) : CaptureExplainer(options, invocation).run();
}

}  // namespace

Command add_explain(CLI::App& parent) {
  auto* command = parent.add_subcommand("explain", "Every packet, millisecond and byte of a lookup: from a capture, or a sample of a run");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("FILE", options->file, "A capture (pcap or pcapng), with or without TLS secrets inside");
  command->add_option("--keys", options->keys, "More TLS secrets, in the format of SSLKEYLOGFILE")->type_name("FILE");
  command->add_option("--most", options->most, "Flows of the capture to explain")->capture_default_str();
  command->add_option("--sample", options->sample, "Instead of a file: make this lookup of a run once more, with the same losses")
      ->type_name("TRANSPORT/N");
  options->output.add_to(*command);
  options->lab.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab explain --sample dot/17 --as-published --loss 2\n"
      "  doxlab explain --sample doq/0 --loss 0 --group X25519\n"
      "  doxlab explain capture.pcapng --keys sslkeylog.txt\n\n"
      "The JSON of a file is a list, that of a sample one object.\n"
      "A sample meets the losses that it met in 'doxlab loss' with the same --seed and --loss.\n"
      "Exits with 1 if there was no answer, or nothing could be explained.");
  Command out{command, [options](const Invocation& invocation) { return run(*options, invocation); }};
  out.needs_lab = [options] { return !options->sample.empty(); };
  return out;
}

}  // namespace doxlab::app
