#include "capture_options.hpp"

#include <format>
#include <print>

namespace doxlab::app {

void CaptureOptions::add_to(CLI::App& command) {
  command.add_option(
      "--capture", file_,
      "Write the packets of the lookups to this file (pcapng), lost ones too, with what decrypts them");
  command
      .add_option(
          "--capture-samples", samples_,
          "Which lookups: all, or slow: those without an answer and the slowest, 1% (at least 3) of each "
          "transport")
      ->check(CLI::IsMember({"all", "slow"}))
      ->capture_default_str();
  command
      .add_option("--capture-limit", limit_mib_, "MiB that the file may have; further lookups are left out")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_qlog_option(command, qlog_);
}

Captures::Captures(const CaptureOptions& options, experiment::Setup& setup, std::size_t samples_each,
                   const std::string& command_line)
    : file_(options.file_), limit_mib_(options.limit_mib_) {
  if (!options.qlog_.empty()) {
    qlog_.emplace(options.qlog_);
    setup.client_quic.qlog = setup.server_quic.qlog = qlog_->opener();
  }
  if (file_.empty()) return;
  capture_ = std::make_unique<experiment::SampleCapture>(experiment::SampleCaptureOptions{
      .path = file_,
      .choice = options.samples_ == "slow" ? experiment::CaptureChoice::Slow : experiment::CaptureChoice::All,
      .limit_bytes = limit_mib_ << 20,
      .samples_each = samples_each,
      .one_way_delay = setup.link.one_way_delay,
      .comment = std::format(
          "{}\nLookup by lookup: the first packet of each has its name in a comment. Wireshark takes "
          "UDP port 853 for DTLS until told otherwise: -d udp.port==853,quic",
          command_line)});
}

experiment::SampleHandler Captures::on_packets() {
  if (!capture_) return {};
  return [this](const experiment::Sample& sample) { capture_->add(sample); };
}

bool Captures::finish() {
  bool is_complete = true;
  if (capture_) {
    const auto summary = capture_->finish();
    std::println(stderr, "doxlab: {}: {} packets of {} lookups, {:.1f} MiB", file_, summary.packets,
                 summary.lookups, static_cast<double>(summary.bytes) / (1 << 20));
    if (summary.left_out > 0)
      std::println(
          stderr,
          "doxlab: WARNING: {} has reached its limit of {} MiB: {} lookups are not in it (--capture-limit)",
          file_, limit_mib_, summary.left_out);
    if (!summary.error.empty()) {
      std::println(stderr, "doxlab: {} (the capture ends there; is the disk full?)", summary.error);
      is_complete = false;
    }
  }
  return (!qlog_ || qlog_->finish()) && is_complete;
}

}  // namespace doxlab::app
