#pragma once
/// Two ends of a UDP path in virtual time: datagrams that were sent wait here until they are due. The
/// path's model decides their fate; a test may also drop or change single ones, and look at all of them.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/time.hpp"
#include "link/path.hpp"

namespace doxlab::test {

class VirtualLink {
 public:
  struct Delivery {
    link::Direction direction;
    Bytes payload;
  };
  struct Sent {
    Timestamp at;
    link::Direction direction;
    std::size_t bytes;  ///< UDP payload
    bool dropped;
    Bytes payload;
  };

  explicit VirtualLink(link::Impairments impairments) : path_(std::move(impairments)) {}

  /// Returns true to drop the datagram with this index (from 0, for each direction).
  std::function<bool(link::Direction, std::size_t index, BytesView payload)> drop;
  /// May change a datagram on its way.
  std::function<void(link::Direction, std::size_t index, Bytes& payload)> tamper;

  void send(link::Direction direction, Bytes payload, Timestamp now) {
    constexpr std::size_t kHeaders = 28;  // IPv4 and UDP
    const std::size_t index = count_[side(direction)]++;
    const auto verdict =
        path_.accept({.direction = direction, .index = index}, payload.size() + kHeaders, 20, now);
    const bool dropped = verdict.fate != link::Fate::Delivered || (drop && drop(direction, index, payload));
    log_.push_back({now, direction, payload.size(), dropped, payload});
    if (dropped) return;
    if (verdict.flipped_bit && *verdict.flipped_bit >= 64) {
      const std::size_t bit = *verdict.flipped_bit - 64;  // behind the UDP header
      if (bit / 8 < payload.size()) payload[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    }
    if (tamper) tamper(direction, index, payload);
    if (verdict.duplicated) waiting_.emplace(verdict.due, Delivery{direction, payload});
    waiting_.emplace(verdict.due, Delivery{direction, std::move(payload)});
  }

  std::optional<Timestamp> next_due() const {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.begin()->first;
  }

  std::optional<Delivery> take_due(Timestamp now) {
    if (waiting_.empty() || waiting_.begin()->first > now) return std::nullopt;
    Delivery out = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    delivered_bytes_[side(out.direction)] += out.payload.size();
    return out;
  }

  const std::vector<Sent>& log() const { return log_; }
  std::size_t sent_bytes(link::Direction d) const {
    std::size_t total = 0;
    for (const Sent& s : log_) total += s.direction == d ? s.bytes : 0;
    return total;
  }
  std::size_t delivered_bytes(link::Direction d) const { return delivered_bytes_[side(d)]; }

  /// One line a datagram, for failures.
  std::string transcript() const {
    std::string out;
    for (const Sent& s : log_) {
      out += std::to_string(to_ms(s.at.time_since_epoch())) + " ms  " +
             std::string(link::to_string(s.direction)) + "  " + std::to_string(s.bytes) +
             (s.dropped ? "  lost\n" : "\n");
    }
    return out;
  }

 private:
  static std::size_t side(link::Direction d) { return static_cast<std::size_t>(d); }

  link::Path path_;
  std::multimap<Timestamp, Delivery> waiting_;  // equal times keep their order
  std::vector<Sent> log_;
  std::size_t count_[2]{};
  std::size_t delivered_bytes_[2]{};
};

}  // namespace doxlab::test
