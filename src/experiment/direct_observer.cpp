#include "experiment/direct_observer.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>

#include "capture/compose.hpp"
#include "experiment/measured.hpp"
#include "experiment/packet_log.hpp"
#include "experiment/stream_counts.hpp"
#include "net/netlink.hpp"
#include "net/sysctl.hpp"

namespace doxlab::experiment {
namespace {

using capture::Protocol;
using capture::RecordedPacket;
using link::Direction;

/// Numbers them in each direction, as the lab's recorder does.
void number(std::vector<RecordedPacket>& packets, std::uint64_t sample) {
  std::uint64_t next[2] = {0, 0};
  for (auto& packet : packets) {
    packet.place.sample = sample;
    packet.place.index = next[static_cast<std::size_t>(packet.place.direction)]++;
  }
}

bool is_on(const char* setting) { return net::read_sysctl(std::string("net/ipv4/") + setting).value_or("1") != "0"; }

/// Of a lookup's datagrams, since a server may send what it likes.
constexpr std::size_t kMostDatagramBytes = std::size_t{16} << 20;

/// The sockets of one lookup.
class Watcher final : public io::SocketWatcher {
 public:
  struct Socket {
    FlowKey key;
    Timestamp opened;
    std::vector<RecordedPacket> datagrams;  ///< of UDP
    WatchedStream stream;                   ///< of TCP
  };

  /// `counts`: nobody else does.
  Watcher(const SocketAddress& server, bool counts) : server_(server), counts_(counts) {}

  void on_open(int socket, bool is_stream, const SocketAddress& local, Timestamp when) override {
    auto& here = sockets.emplace_back();
    here.key = {is_stream ? Protocol::Tcp : Protocol::Udp, local};
    here.opened = when;
    open_[socket] = sockets.size() - 1;
    if (!is_stream || !counts_) return;
    here.stream.ipv6 = server_.ip.is_v6();
    here.stream.offers_timestamps = is_on("tcp_timestamps");
    here.stream.offers_sack = is_on("tcp_sack");
    here.stream.offers_window_scaling = is_on("tcp_window_scaling");
    note(socket, WatchedStream::Event::Kind::Connecting, when);
  }
  void on_connected(int socket, Timestamp when) override { note(socket, WatchedStream::Event::Kind::Connected, when); }
  void on_sending(int socket, Timestamp when) override { note(socket, WatchedStream::Event::Kind::Sending, when); }
  void on_sent(int socket, BytesView octets, Timestamp when) override { note_datagram(socket, Direction::ToServer, octets, when); }
  void on_readable(int socket) override { note(socket, WatchedStream::Event::Kind::Readable, monotonic_now()); }
  void on_received(int socket, BytesView octets, Timestamp when) override {
    if (auto* here = find(socket); here != nullptr && here->key.protocol == Protocol::Tcp) {
      if (octets.empty()) return;
      bytes_in_[socket] += octets.size();
      note(socket, WatchedStream::Event::Kind::Received, when);
    } else {
      note_datagram(socket, Direction::ToClient, octets, when);
    }
  }
  void on_close(int socket) override {
    if (auto* here = find(socket); here != nullptr && counts_ && here->key.protocol == Protocol::Tcp)
      if (const auto counters = net::read_tcp_counters(socket))
        here->stream.end = {.kind = WatchedStream::Event::Kind::Readable, .when = monotonic_now(), .bytes_in = bytes_in_[socket], .counters = *counters};
    open_.erase(socket);
    bytes_in_.erase(socket);
  }

  std::vector<Socket> sockets;
  std::uint64_t not_kept = 0;  ///< datagrams that were too many

 private:
  Socket* find(int socket) {
    const auto found = open_.find(socket);
    return found == open_.end() ? nullptr : &sockets[found->second];
  }

  void note(int socket, WatchedStream::Event::Kind kind, Timestamp when) {
    auto* here = find(socket);
    if (here == nullptr || !counts_ || here->key.protocol != Protocol::Tcp) return;
    if (const auto counters = net::read_tcp_counters(socket))
      here->stream.events.push_back({.kind = kind, .when = when, .bytes_in = bytes_in_[socket], .counters = *counters});
  }

  void note_datagram(int socket, Direction direction, BytesView octets, Timestamp when) {
    auto* here = find(socket);
    if (here == nullptr || !counts_ || here->key.protocol != Protocol::Udp) return;
    if (kept_bytes_ > kMostDatagramBytes) {
      ++not_kept;
      return;
    }
    kept_bytes_ += octets.size();
    const bool to_server = direction == Direction::ToServer;
    const auto& local = here->key.client;
    here->datagrams.push_back(
        seen_at_client(direction, when, capture::compose_datagram(to_server ? local : server_, to_server ? server_ : local, octets)));
  }

  const SocketAddress server_;
  const bool counts_;
  std::size_t kept_bytes_ = 0;
  std::map<int, std::size_t> open_;
  std::map<int, std::uint64_t> bytes_in_;
};

void add(trace::Volume& sum, const trace::Volume& more) {
  sum.packets += more.packets;
  sum.ip_bytes += more.ip_bytes;
}

/// Datagrams beside a connection, before a truncated answer was asked for again.
void add_datagrams(StreamCounts& out, std::vector<RecordedPacket> datagrams, Timestamp started) {
  std::erase_if(datagrams, [&](const RecordedPacket& packet) { return packet.sent < started; });
  add(out.volumes.to_server, trace::count_volumes(datagrams, {}).to_server);
  add(out.volumes.to_client, trace::count_volumes(datagrams, {}).to_client);
  const auto asked = std::ranges::find(datagrams, Direction::ToServer, [](const auto& packet) { return packet.place.direction; });
  const auto came = std::ranges::find(datagrams, Direction::ToClient, [](const auto& packet) { return packet.place.direction; });
  if (came != datagrams.end()) place_server(datagrams, came->sent - asked->sent);
  for (auto& packet : datagrams) {
    packet.bytes.clear();
    out.steps.push_back(std::move(packet));
  }
}

StreamCounts count_streams(const std::vector<Watcher::Socket>& sockets, const client::LookupResult& result) {
  StreamCounts out;
  for (const auto& socket : sockets) {
    if (socket.key.protocol == Protocol::Udp) {
      add_datagrams(out, socket.datagrams, result.started);
      continue;
    }
    const auto volumes = count_volumes(socket.stream, result.started, result.answered);
    add(out.volumes.to_server, volumes.to_server);
    add(out.volumes.to_client, volumes.to_client);
    add(out.volumes.to_server_after, volumes.to_server_after);
    add(out.volumes.to_client_after, volumes.to_client_after);
    std::ranges::move(steps_of(socket.stream, result.started), std::back_inserter(out.steps));
  }
  std::ranges::stable_sort(out.steps, {}, &RecordedPacket::sent);
  return out;
}

}  // namespace

struct DirectObserver::State {
  std::unique_ptr<PacketLog> log;
  std::atomic<std::uint64_t> not_kept{0};  ///< at the sockets
  std::string why_not;
};

DirectObserver::DirectObserver(const IpAddress& server, const std::set<std::uint16_t>& ports) : state_(std::make_unique<State>()) {
  try {
    const auto device = net::device_towards(server);
    if (device.empty()) throw std::runtime_error("there is no route to " + server.to_string());
    state_->log = std::make_unique<PacketLog>(device, server, ports);
  } catch (const std::exception& error) {
    state_->why_not = error.what();
  }
}

DirectObserver::~DirectObserver() = default;

bool DirectObserver::has_packet_socket() const { return state_->log != nullptr; }
const std::string& DirectObserver::why_not() const { return state_->why_not; }

std::shared_ptr<io::SocketWatcher> DirectObserver::watch(const SocketAddress& server) {
  return std::make_shared<Watcher>(server, !has_packet_socket());
}

void DirectObserver::take(io::SocketWatcher& watcher, Sample& sample) {
  auto& watched = dynamic_cast<Watcher&>(watcher);
  auto& sockets = watched.sockets;
  state_->not_kept += watched.not_kept;
  const bool has_stream = std::ranges::contains(sockets, Protocol::Tcp, [](const auto& socket) { return socket.key.protocol; });
  if (has_packet_socket()) {
    sample.counting = Counting::PacketSocket;
    for (const auto& socket : sockets) std::ranges::move(state_->log->take(socket.key, socket.opened), std::back_inserter(sample.packets));
  } else if (has_stream || is_stream(sample.task.transport)) {
    sample.counting = Counting::Segments;
    sample.streams = count_streams(sockets, sample.result);
    return;
  } else {
    sample.counting = Counting::Datagrams;
    for (auto& socket : sockets) std::ranges::move(socket.datagrams, std::back_inserter(sample.packets));
  }
  std::ranges::stable_sort(sample.packets, {}, &RecordedPacket::sent);
  number(sample.packets, sample.task.sample);
}

std::uint64_t DirectObserver::missed() const { return state_->not_kept + (state_->log ? state_->log->missed() : 0); }

}  // namespace doxlab::experiment
