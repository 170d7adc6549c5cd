#include "experiment/packet_log.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include "capture/compose.hpp"
#include "net/scheduling.hpp"

namespace doxlab::experiment {
namespace {

/// The clocks of a packet's stamp and of its sender do not agree to the microsecond.
constexpr auto kClockTolerance = 200us;
/// Packets of other programs, and what came too late for a lookup, go after this time.
constexpr auto kLongestKept = 15min;
constexpr std::size_t kForgetEvery = 4096;
/// Of octets in packets that nobody has asked for.
constexpr std::size_t kMostKept = std::size_t{256} << 20;

}  // namespace

capture::RecordedPacket seen_at_client(link::Direction direction, Timestamp when, Bytes&& bytes) {
  capture::RecordedPacket out;
  out.place.direction = direction;
  out.sent = out.due = when;
  out.delivered = when;
  out.bytes = std::move(bytes);
  return out;
}

PacketLog::PacketLog(const std::string& device, const IpAddress& server, std::set<std::uint16_t> ports)
    : server_(server), ports_(std::move(ports)), socket_(device, server), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](std::stop_token stop) { watch(std::move(stop)); }) {}

PacketLog::~PacketLog() = default;

std::vector<capture::RecordedPacket> PacketLog::take(const FlowKey& key, Timestamp opened) {
  const std::lock_guard lock(mutex_);
  drain();
  auto found = flows_.extract(key);
  if (found.empty()) return {};
  auto out = std::move(found.mapped());
  let_go(out);
  std::erase_if(out, [&](const auto& packet) { return packet.sent < opened - kClockTolerance; });  // of an earlier owner of the port
  return out;
}

std::uint64_t PacketLog::missed() {
  const std::lock_guard lock(mutex_);
  return socket_.missed() + not_kept_;
}

void PacketLog::watch(std::stop_token stop) {
  net::name_this_thread("packets");
  const std::stop_callback on_stop(stop, [this] { static_cast<void>(::eventfd_write(wake_.get(), 1)); });
  while (!stop.stop_requested()) {
    pollfd waits[] = {{.fd = socket_.fd(), .events = POLLIN, .revents = 0}, {.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(waits, std::size(waits), -1) < 0 && errno != EINTR) return;
    const std::lock_guard lock(mutex_);
    drain();
  }
}

void PacketLog::drain() {
  while (const auto seen = socket_.receive()) {
    auto packets = capture::split_segments(seen->bytes, seen->segment_bytes);
    if (packets.empty()) ++not_kept_;
    for (auto& packet : packets) add(*seen, std::move(packet));
    if (++received_ % kForgetEvery == 0) forget(seen->when);
  }
}

void PacketLog::add(const net::SeenPacket& seen, Bytes&& packet) {
  const auto headers = capture::parse_headers(packet);
  if (!headers) return;  // ICMP
  if (headers->protocol == capture::Protocol::Other) {  // a later fragment, which could be anybody's
    ++not_kept_;
    return;
  }
  const auto is_server = [&](const SocketAddress& end) { return end.ip == server_ && ports_.contains(end.port); };
  const bool to_server = is_server(headers->destination);
  if (!to_server && !is_server(headers->source)) return;
  // Over loopback it passes twice: what the client sends counts as it goes, what it receives as it comes.
  if (to_server != seen.outgoing) return;
  if (kept_bytes_ > kMostKept) {
    ++not_kept_;
    return;
  }
  kept_bytes_ += packet.size();
  const auto& client = to_server ? headers->source : headers->destination;
  flows_[{headers->protocol, client}].push_back(
      seen_at_client(to_server ? link::Direction::ToServer : link::Direction::ToClient, seen.when, std::move(packet)));
}

void PacketLog::forget(Timestamp now) {
  std::erase_if(flows_, [&](const auto& flow) {
    const bool is_old = flow.second.back().sent + kLongestKept < now;
    if (is_old) let_go(flow.second);
    return is_old;
  });
}

void PacketLog::let_go(const std::vector<capture::RecordedPacket>& packets) {
  for (const auto& packet : packets) kept_bytes_ -= packet.bytes.size();
}

}  // namespace doxlab::experiment
