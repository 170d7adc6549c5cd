#include "lab/link_thread.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <future>

#include "net/scheduling.hpp"
#include "net/system_error.hpp"

namespace doxlab::lab {
namespace {

using link::Direction;

/// Above every ordinary thread, below the kernel's own real-time threads.
constexpr int kRealTimePriority = 10;
/// Packets read from one device before the other has its turn.
constexpr int kBatch = 32;
constexpr std::size_t kLargestPacket = 65535;

/// What epoll reports; the first two are Directions.
enum Source : std::uint32_t { FromClient = 0, FromServer = 1, TimerFired = 2, StopAsked = 3 };

std::size_t index_of(Direction direction) {
  return static_cast<std::size_t>(direction);
}

void watch(int events, int descriptor, Source source) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = source;
  net::checked(::epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event), "watch a descriptor");
}

void flip_bit(Bytes& packet, std::size_t ip_header_bytes, std::size_t bit) {
  packet[ip_header_bytes + bit / 8] ^= static_cast<std::uint8_t>(0x80u >> (bit % 8));
}

}  // namespace

LinkThread::LinkThread(net::TunDevice& client, net::TunDevice& server, link::Impairments impairments,
                       Recorder& recorder)
    : device_of_sender_{&client, &server},
      path_(std::move(impairments)),
      recorder_(recorder),
      read_buffer_(kLargestPacket),
      events_(net::checked(::epoll_create1(EPOLL_CLOEXEC), "make an epoll set")),
      timer_(net::checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "make a timer")),
      stop_(net::checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "make an event descriptor")) {
  watch(events_.get(), client.descriptor(), FromClient);
  watch(events_.get(), server.descriptor(), FromServer);
  watch(events_.get(), timer_.get(), TimerFired);
  watch(events_.get(), stop_.get(), StopAsked);
  std::promise<bool> started;
  thread_ = std::thread([this, &started] {
    net::name_this_thread("doxlab-link");
    net::take_precise_timers();
    started.set_value(net::take_real_time_priority(kRealTimePriority));
    run();
  });
  has_real_time_priority_ = started.get_future().get();
}

LinkThread::~LinkThread() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

LinkVolume LinkThread::volume(Direction direction) const {
  const auto& counters = counters_[index_of(direction)];
  return {counters.packets.load(std::memory_order_relaxed), counters.ip_bytes.load(std::memory_order_relaxed),
          counters.dropped.load(std::memory_order_relaxed)};
}

void LinkThread::run() {
  while (true) {
    deliver_due(monotonic_now());
    set_timer();
    epoll_event ready[4];
    const int count = ::epoll_wait(events_.get(), ready, 4, -1);
    const auto woke = monotonic_now();
    for (int i = 0; i < count; ++i) {
      switch (ready[i].data.u32) {
        case FromClient:
          read_batch(Direction::ToServer);
          break;
        case FromServer:
          read_batch(Direction::ToClient);
          break;
        case TimerFired: {
          std::uint64_t expirations;  // reading takes the report back, else it would come again at once
          if (::read(timer_.get(), &expirations, sizeof expirations) > 0) timing_.woke(alarm_, woke);
          timer_set_for_.reset();
          break;
        }
        case StopAsked:
          return;
      }
    }
    spin_until_due();
  }
}

void LinkThread::read_batch(Direction direction) {
  auto& device = *device_of_sender_[index_of(direction)];
  for (int i = 0; i < kBatch; ++i) {
    const auto length = device.read(read_buffer_);
    if (!length) return;
    const auto now = monotonic_now();
    accept(direction, BytesView(read_buffer_).first(*length), now);
    deliver_due(now);
  }
}

void LinkThread::accept(Direction direction, BytesView packet, Timestamp now) {
  const auto headers = capture::parse_headers(packet);
  if (headers && headers->protocol != capture::Protocol::Other)
    return accept_flow_packet(direction, *headers, packet, now);
  // ICMP and later fragments: nobody's in particular. They take the way's time and nothing else happens.
  send_later(now + path_.impairments().one_way_delay, direction, false, {}, to_bytes(packet));
}

void LinkThread::accept_flow_packet(Direction direction, const capture::PacketHeaders& headers,
                                    BytesView packet, Timestamp now) {
  const auto& client = direction == Direction::ToServer ? headers.source : headers.destination;
  constexpr std::uint8_t kSyn = 2, kAck = 16;
  const bool may_open = headers.protocol == capture::Protocol::Udp || (headers.tcp_flags & (kSyn | kAck)) == kSyn;
  const auto placement = recorder_.place(headers.protocol, client, direction, may_open);
  const auto verdict = placement.is_spared ? link::Verdict{.due = now + path_.impairments().one_way_delay}
                                           : path_.accept(placement.place, packet.size(), headers.ip_header_bytes, now);
  const bool is_delivered = verdict.fate == link::Fate::Delivered;
  auto& counters = counters_[index_of(direction)];
  counters.packets.fetch_add(1, std::memory_order_relaxed);
  counters.ip_bytes.fetch_add(packet.size(), std::memory_order_relaxed);
  if (!is_delivered) counters.dropped.fetch_add(1, std::memory_order_relaxed);

  capture::RecordedPacket record{.place = placement.place,
                                 .sent = now,
                                 .due = verdict.due,
                                 .delivered = {},
                                 .fate = verdict.fate,
                                 .corrupted = verdict.flipped_bit.has_value(),
                                 .bytes = to_bytes(packet)};
  std::optional<capture::RecordedPacket> copy;
  if (verdict.duplicated) {
    copy = record;
    copy->duplicate = true;
  }
  auto ticket = recorder_.record(placement, std::move(record));
  if (!is_delivered) return;

  auto bytes = to_bytes(packet);
  if (verdict.flipped_bit) flip_bit(bytes, headers.ip_header_bytes, *verdict.flipped_bit);
  if (copy) {
    send_later(verdict.due, direction, true, std::move(ticket), bytes);
    ticket = recorder_.record(placement, std::move(*copy));
  }
  send_later(verdict.due, direction, true, std::move(ticket), std::move(bytes));
}

void LinkThread::send_later(Timestamp due, Direction direction, bool is_measured, Recorder::Ticket ticket,
                            Bytes bytes) {
  on_the_way_.push({due, next_order_++, direction, is_measured, std::move(ticket), std::move(bytes)});
}

void LinkThread::deliver_due(Timestamp now) {
  while (!on_the_way_.empty() && on_the_way_.top().due <= now) {
    const auto& packet = on_the_way_.top();
    auto& device = *device_of_sender_[index_of(link::opposite(packet.direction))];
    // The time of handing over, and noted before it: the receiver's kernel works inside write(), and whoever
    // has the packet may ask for the record at once.
    const auto when = monotonic_now();
    late_times_.add(packet.due, when);
    recorder_.set_delivered(packet.ticket, when);
    if (!device.write(packet.bytes))
      recorder_.set_delivered(packet.ticket, std::nullopt);
    else if (packet.is_measured)
      lateness_.add(when - packet.due);
    on_the_way_.pop();
  }
}

void LinkThread::set_timer() {
  const auto next = on_the_way_.empty() ? std::nullopt : std::optional(on_the_way_.top().due);
  if (next == timer_set_for_) return;
  timer_set_for_ = next;
  // All zeros switch it off.
  itimerspec when{};
  if (next) {
    alarm_ = timing_.alarm_for(*next, monotonic_now());
    const auto since_epoch = alarm_.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = (since_epoch - seconds).count();
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void LinkThread::spin_until_due() {
  if (on_the_way_.empty()) return;
  const auto due = on_the_way_.top().due;
  const auto now = monotonic_now();
  if (due <= now || !timing_.may_spin(now, due)) return;
  while (monotonic_now() < due) {
  }
}

}  // namespace doxlab::lab
