#pragma once
/// The thread between the two TUN devices: reads a packet, asks link::Path what happens to it, records it,
/// and writes it to the other device when it is due. It belongs to no namespace; it holds the devices.

#include <atomic>
#include <optional>
#include <queue>
#include <thread>
#include <vector>

#include "base/late_times.hpp"
#include "capture/packet.hpp"
#include "lab/lateness.hpp"
#include "lab/recorder.hpp"
#include "lab/wake_timing.hpp"
#include "link/path.hpp"
#include "net/file_descriptor.hpp"
#include "net/tun_device.hpp"

namespace doxlab::lab {

class LinkThread {
 public:
  /// Starts at once. Everything given by reference outlives this object.
  LinkThread(net::TunDevice& client, net::TunDevice& server, link::Impairments impairments,
             Recorder& recorder);
  /// Packets still on the way are lost.
  ~LinkThread();
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;

  const Lateness& lateness() const { return lateness_; }
  /// When packets left late: what was read then had waited in its sender's device.
  const LateTimes& late_times() const { return late_times_; }
  LinkVolume volume(link::Direction direction) const;
  bool has_real_time_priority() const { return has_real_time_priority_; }
  const link::Impairments& impairments() const { return path_.impairments(); }

 private:
  struct OnTheWay {
    Timestamp due;
    std::uint64_t order = 0;  ///< packets due at the same time leave as they came
    link::Direction direction = link::Direction::ToServer;
    bool is_measured = false;  ///< a lookup's; others do not count in the precision
    Recorder::Ticket ticket;
    Bytes bytes;
    bool operator>(const OnTheWay& other) const {
      return due != other.due ? due > other.due : order > other.order;
    }
  };

  struct Counters {
    std::atomic<std::uint64_t> packets{0}, ip_bytes{0}, dropped{0};
  };

  void run();
  void read_batch(link::Direction direction);
  void accept(link::Direction direction, BytesView packet, Timestamp now);
  void accept_flow_packet(link::Direction direction, const capture::PacketHeaders& headers, BytesView packet,
                          Timestamp now);
  void send_later(Timestamp due, link::Direction direction, bool is_measured, Recorder::Ticket ticket,
                  Bytes bytes);
  void deliver_due(Timestamp now);
  void set_timer();
  void spin_until_due();

  net::TunDevice* device_of_sender_[2];  ///< indexed by Direction
  link::Path path_;
  Recorder& recorder_;
  Lateness lateness_;
  LateTimes late_times_;
  Counters counters_[2];  ///< indexed by Direction
  bool has_real_time_priority_ = false;
  std::priority_queue<OnTheWay, std::vector<OnTheWay>, std::greater<>> on_the_way_;
  std::uint64_t next_order_ = 0;
  WakeTiming timing_;
  std::optional<Timestamp> timer_set_for_;  ///< the packet's due time; the alarm may be earlier
  Timestamp alarm_;
  std::vector<std::uint8_t> read_buffer_;
  net::FileDescriptor events_, timer_, stop_;
  std::thread thread_;
};

}  // namespace doxlab::lab
