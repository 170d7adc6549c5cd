#pragma once
/// The model of a path between client and server: packet in at time t, out at which time, or never, and
/// why. It owns no device and no clock. `lab` joins it to TUN devices; tests join it to sessions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace doxlab::link {

enum class Direction : std::uint8_t { ToServer = 0, ToClient = 1 };
inline Direction opposite(Direction d) { return d == Direction::ToServer ? Direction::ToClient : Direction::ToServer; }
std::string_view to_string(Direction d);  // "c2s", "s2c"

/// Which packet this is, for the draws: the k-th (from 0) of a sample in a direction.
struct PacketPlace {
  std::uint64_t sample = 0;
  Direction direction = Direction::ToServer;
  std::uint64_t index = 0;
  auto operator<=>(const PacketPlace&) const = default;
};

/// Burst losses: a two-state Markov chain (Gilbert-Elliott), parameters as in tc-netem(8). Each sample has
/// a chain of its own in each direction. Its first packet finds the chain in its stationary distribution
/// (bad with probability p/(p+r)), so that short samples lose as much as long ones.
struct GilbertElliott {
  double p = 0;            ///< probability good -> bad, per packet
  double r = 1;            ///< probability bad -> good, per packet
  double one_minus_h = 1;  ///< loss probability in the bad state
  double one_minus_k = 0;  ///< loss probability in the good state
};

/// One scripted event: what happens to exactly this packet. Draws are not asked for a packet that the script
/// names; several events of one packet add up. The queue and the MTU apply nevertheless.
struct Scripted {
  enum class Action : std::uint8_t { Drop, Corrupt, Duplicate, Delay };
  PacketPlace place{};
  bool every_sample = false;      ///< true: `place.sample` is ignored
  Action action = Action::Drop;
  Duration extra_delay{};         ///< for Delay
};

/// Everything a direction of the path may do to a packet. Both directions share one set.
struct Impairments {
  std::uint64_t seed = 1;
  Duration one_way_delay = 20ms;
  std::size_t mtu = 1500;                  ///< of both hosts' interfaces, IP bytes
  std::size_t path_mtu = 0;                ///< IP bytes; larger packets vanish on the way; 0: as `mtu`
  double loss_probability = 0;             ///< Bernoulli, each direction
  std::optional<GilbertElliott> burst{};   ///< replaces loss_probability
  std::uint64_t bottleneck_rate_bps = 0;   ///< IP bits a second; 0: unlimited
  std::size_t queue_limit_bytes = 0;       ///< bytes waiting for the bottleneck; 0: unlimited
  double duplicate_probability = 0;
  double corrupt_probability = 0;          ///< one bit flipped beyond the IP header
  double reorder_probability = 0;          ///< the packet is delivered without the one-way delay
  std::vector<Scripted> script{};
};

enum class Fate : std::uint8_t { Delivered, Lost, Scripted, QueueFull, TooBig };
std::string_view to_string(Fate f);  // "delivered", "lost", "dropped by script", "queue full", "too big"

struct Verdict {
  Fate fate = Fate::Delivered;
  Timestamp due{};                         ///< when it leaves the path; meaningful if delivered
  bool duplicated = false;                 ///< a second copy leaves at the same time
  std::optional<std::size_t> flipped_bit{};///< bit number counted from the start of the IP payload
};

/// Both directions of the path. Loss, duplication and corruption depend on (seed, place) alone; only the
/// bottleneck queue has state in time.
class Path {
 public:
  /// Errors: std::invalid_argument if a probability is outside 0 to 1 or a delay is negative.
  explicit Path(Impairments impairments);

  /// Decides what happens to a packet of `ip_bytes` that enters at `now`. `ip_header_bytes` bounds which
  /// bits corruption may flip. Calls of one direction come in order of time.
  Verdict accept(const PacketPlace& place, std::size_t ip_bytes, std::size_t ip_header_bytes, Timestamp now);

  const Impairments& impairments() const { return impairments_; }

 private:
  bool is_lost(const PacketPlace& place) const;
  bool is_bad_state(const PacketPlace& place) const;
  std::vector<Scripted> events_of(const PacketPlace& place) const;
  std::optional<Timestamp> pass_bottleneck(Direction direction, std::size_t ip_bytes, Timestamp now);

  Impairments impairments_;
  std::vector<Scripted> script_;            ///< sorted by place; events of every sample come last
  Timestamp bottleneck_free_[2]{};  ///< when the last queued packet will have left the bottleneck
};

}  // namespace doxlab::link
