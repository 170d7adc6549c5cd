#include "experiment/sample_capture.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <format>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "io/unix_clock.hpp"

namespace doxlab::experiment {
namespace {

constexpr std::size_t kLeastKept = 3, kOneIn = 100;

std::ofstream make_capture_file(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw std::runtime_error(std::format("{}: {}", path, std::strerror(errno)));
  return file;
}

std::string lookup_name(const Sample& sample) {
  return std::format("{}/{}", display_name(sample.task.transport), sample.task.sample);
}

std::string how_it_went(const Sample& sample) {
  const auto& result = sample.result;
  auto out = result.answered
                 ? std::format("answered after {:.1f} ms", to_ms(*result.answered - result.started))
                 : std::string(client::to_string(result.outcome));
  const auto lost = std::ranges::count_if(sample.packets, [](const auto& packet) {
    return packet.fate != link::Fate::Delivered && !packet.duplicate;
  });
  if (lost > 0) out += std::format(", {} packet{} lost", lost, lost == 1 ? "" : "s");
  if (sample.disturbed) out += ", disturbed by the machine";
  return out;
}

}  // namespace

SampleCapture::SampleCapture(const SampleCaptureOptions& options)
    : options_(options),
      keep_each_(std::max(kLeastKept, (options.samples_each + kOneIn - 1) / kOneIn)),
      file_(make_capture_file(options.path)),
      writer_(composed_, {.wall_clock_offset = io::wall_clock_offset(),
                          .lost_after = options.one_way_delay,
                          .comment = options.comment}) {
  append(take_composed());
}

std::string SampleCapture::take_composed() {
  auto out = std::move(composed_).str();
  composed_.str({});
  return out;
}

bool SampleCapture::is_preferred(const Rank& a, const Rank& b) {
  return std::tuple(!a.disturbed, a.took, b.sample) > std::tuple(!b.disturbed, b.took, a.sample);
}

bool SampleCapture::stays_longer(const Held& a, const Held& b) {
  return is_preferred(a.rank, b.rank);
}

void SampleCapture::add(const Sample& sample) {
  if (!summary_.error.empty()) return;
  const bool answered = sample.result.answered.has_value();
  if (options_.choice == CaptureChoice::Slow && answered) {
    hold(sample);
    return;
  }
  if (full_) {
    ++summary_.left_out;
    return;
  }
  const auto composed = compose(sample);
  if (make_room(composed.blocks.size())) {
    write(composed);
  } else {
    full_ = options_.choice == CaptureChoice::All;
    ++summary_.left_out;
  }
}

SampleCapture::Held SampleCapture::compose(const Sample& sample) {
  const auto name = lookup_name(sample);
  const auto packets_before = writer_.written();
  if (!sample.key_log.empty()) writer_.add_secrets(sample.key_log);
  const auto add_packets = [&](const auto& packets, const std::string& note) {
    for (const auto& packet : packets)
      writer_.add(packet, &packet == &packets.front() ? std::format("{}: {}", name, note) : std::string(),
                  name);
  };
  add_packets(sample.opening, "opens its connection");
  add_packets(sample.packets, how_it_went(sample));
  add_packets(sample.beside, "what else the client sent meanwhile");
  writer_.write_before(Timestamp::max());
  return {.rank = rank_of(sample),
          .started = sample.result.started,
          .packets = writer_.written() - packets_before,
          .blocks = take_composed()};
}

SampleCapture::Rank SampleCapture::rank_of(const Sample& sample) {
  return {.disturbed = sample.disturbed,
          .took = sample.result.answered.value_or(Timestamp::max()) - sample.result.started,
          .sample = sample.task.sample};
}

void SampleCapture::hold(const Sample& sample) {
  auto& mine = held_[sample.task.transport];
  const bool is_one_too_many = mine.size() >= keep_each_;
  if (is_one_too_many && !is_preferred(rank_of(sample), mine.front().rank)) return;
  auto held = compose(sample);
  const auto room = options_.limit_bytes - std::min(options_.limit_bytes, summary_.bytes + held_bytes_);
  if (held.blocks.size() > room + (is_one_too_many ? mine.front().blocks.size() : 0)) {
    ++summary_.left_out;
    return;
  }
  if (is_one_too_many) drop_last(mine);
  held_bytes_ += held.blocks.size();
  mine.push_back(std::move(held));
  std::ranges::push_heap(mine, stays_longer);
}

void SampleCapture::drop_last(std::vector<Held>& held) {
  std::ranges::pop_heap(held, stays_longer);
  held_bytes_ -= held.back().blocks.size();
  held.pop_back();
}

/// What has an answer makes room for what has none.
bool SampleCapture::make_room(std::size_t bytes) {
  if (summary_.bytes + bytes > options_.limit_bytes) return false;
  while (summary_.bytes + held_bytes_ + bytes > options_.limit_bytes) {
    auto& most =
        std::ranges::max_element(held_, {}, [](const auto& entry) { return entry.second.size(); })->second;
    drop_last(most);
    ++summary_.left_out;
  }
  return true;
}

void SampleCapture::write(const Held& held) {
  append(held.blocks);
  if (!summary_.error.empty()) return;
  ++summary_.lookups;
  summary_.packets += held.packets;
}

void SampleCapture::append(const std::string& blocks) {
  // In one piece, so that a process that is killed leaves whole blocks.
  file_.write(blocks.data(), static_cast<std::streamsize>(blocks.size()));
  file_.flush();
  if (file_)
    summary_.bytes += blocks.size();
  else
    summary_.error = std::format("{}: {}", options_.path, std::strerror(errno));
}

SampleCaptureSummary SampleCapture::finish() {
  std::vector<const Held*> rest;
  for (const auto& [transport, held] : held_)
    for (const auto& one : held) rest.push_back(&one);
  std::ranges::sort(rest, {}, [](const Held* held) { return held->started; });
  for (const auto* held : rest)
    if (summary_.error.empty()) write(*held);
  file_.close();
  return summary_;
}

}  // namespace doxlab::experiment
