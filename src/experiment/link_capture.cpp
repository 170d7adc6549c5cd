#include "experiment/link_capture.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <format>
#include <stdexcept>
#include <utility>

#include "io/unix_clock.hpp"

namespace doxlab::experiment {
namespace {

constexpr auto kInterval = 100ms;
/// Packets wait for so long that the secrets are written before them.
constexpr auto kHeldBack = 500ms;
/// Packets that may wait for the writer, about 100 MB.
constexpr std::size_t kBacklog = 65536;
/// What is still on the way when the command has ended is waited for, but not for ever.
constexpr auto kLongestSettling = 2s;

std::ofstream open_for_writing(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw std::runtime_error(std::format("{}: {}", path, std::strerror(errno)));
  return file;
}

}  // namespace

LinkCapture::LinkCapture(lab::Lab& lab, const std::string& path, const std::string& comment)
    : lab_(lab),
      path_(path),
      file_(open_for_writing(path)),
      writer_(file_, {.wall_clock_offset = io::wall_clock_offset(), .comment = comment}) {
  lab_.keep_unknown(kBacklog);
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

LinkCapture::~LinkCapture() = default;

void LinkCapture::add_secret(std::string_view line) {
  const std::scoped_lock lock(mutex_);
  secrets_.append(line).push_back('\n');
}

void LinkCapture::run(std::stop_token stop) {
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex_);
  while (!stopped.wait_for(lock, stop, kInterval, [] { return false; }) && !stop.stop_requested()) {
    lock.unlock();
    write(monotonic_now() - kHeldBack);
    lock.lock();
  }
}

void LinkCapture::write(Timestamp until) {
  std::string secrets;
  {
    const std::scoped_lock lock(mutex_);
    secrets.swap(secrets_);
  }
  if (!secrets.empty()) writer_.add_secrets(secrets);
  for (auto& packet : lab_.take_settled(monotonic_now())) writer_.add(std::move(packet));
  writer_.write_before(until);
  file_.flush();
}

std::uint64_t LinkCapture::finish() {
  const auto& link = lab_.impairments();
  std::this_thread::sleep_for(std::min<Duration>(2 * link.one_way_delay + kInterval, kLongestSettling));
  thread_.request_stop();
  thread_.join();
  write(Timestamp::min());
  for (auto& packet : lab_.take(0)) writer_.add(std::move(packet));
  writer_.write_before(Timestamp::max());
  file_.close();
  if (!file_) throw std::runtime_error(path_ + ": write failed (is the disk full?)");
  if (const auto dropped = lab_.unknown_dropped(); dropped > 0)
    throw std::runtime_error(std::format(
        "{}: {} packets are missing, since they came faster than they could be written", path_, dropped));
  return writer_.written();
}

}  // namespace doxlab::experiment
