#include "lab/recorder.hpp"

#include <mutex>
#include <utility>

namespace doxlab::lab {
namespace {

/// Late packets of taken lookups (closes, retransmissions) keep their numbering while their flow is among so
/// many; at 1,000 lookups a second that is half a minute.
constexpr std::size_t kForgettableFlows = 32768;

/// A packet that is this much overdue was refused by the receiver's kernel.
constexpr Duration kGivenUp = 1s;

bool is_settled(const capture::RecordedPacket& packet, Timestamp now) {
  return packet.fate != link::Fate::Delivered || packet.delivered || packet.due + kGivenUp < now;
}

}  // namespace

struct Recorder::Log {
  std::uint64_t lookup = 0;  ///< 0: none, or taken
  bool is_spared = false;
  std::uint64_t next_index[2] = {0, 0};
  std::vector<FlowKey> flows;
  std::vector<capture::RecordedPacket> packets;
};

Recorder::Recorder() {
  // Growing these later would hold up the link.
  flows_.reserve(2 * kForgettableFlows);
  logs_.reserve(kForgettableFlows);
}

Recorder::~Recorder() = default;

void Recorder::register_flow(capture::Protocol protocol, const SocketAddress& client, FlowTag tag) {
  auto fresh = std::make_shared<Log>();
  fresh->lookup = tag.lookup;
  fresh->packets.reserve(32);
  const FlowKey key{protocol, client};
  std::scoped_lock lock(mutex_);
  auto& log = logs_.try_emplace(tag.lookup, std::move(fresh)).first->second;
  log->flows.push_back(key);
  flows_.insert_or_assign(key, Flow{log, tag.sample});
}

void Recorder::adopt(FlowTag tag, bool is_spared) {
  auto fresh = std::make_shared<Log>();
  fresh->lookup = tag.lookup;
  fresh->is_spared = is_spared;
  fresh->packets.reserve(256);
  std::scoped_lock lock(mutex_);
  if (adopter_) {
    for (const auto& key : adopter_->flows)
      if (const auto flow = flows_.find(key); flow != flows_.end() && flow->second.log == adopter_) flow->second = {fresh, tag.sample};
    fresh->flows = std::exchange(adopter_->flows, {});
  }
  logs_[tag.lookup] = fresh;
  adopter_ = std::move(fresh);
  adopted_sample_ = tag.sample;
}

std::vector<capture::RecordedPacket> Recorder::take(std::uint64_t lookup) {
  std::vector<capture::RecordedPacket> packets;
  if (lookup == 0) {
    std::deque<capture::RecordedPacket> unknown;
    {
      std::scoped_lock lock(mutex_);
      first_unknown_ += unknown_.size();
      unknown.swap(unknown_);
    }
    packets.assign(std::make_move_iterator(unknown.begin()), std::make_move_iterator(unknown.end()));
    return packets;
  }
  std::scoped_lock lock(mutex_);
  const auto found = logs_.find(lookup);
  if (found == logs_.end()) return packets;
  const auto log = std::move(found->second);
  logs_.erase(found);
  if (log == adopter_) adopter_.reset();
  log->lookup = 0;
  packets = std::exchange(log->packets, {});
  for (const auto& key : std::exchange(log->flows, {})) make_forgettable(key, log);
  return packets;
}

std::vector<capture::RecordedPacket> Recorder::peek(std::uint64_t lookup) const {
  std::scoped_lock lock(mutex_);
  if (lookup == 0) return {unknown_.begin(), unknown_.end()};
  const auto found = logs_.find(lookup);
  if (found == logs_.end()) return {};
  return found->second->packets;
}

void Recorder::keep_unknown(std::size_t limit) {
  std::scoped_lock lock(mutex_);
  unknown_limit_ = limit;
  for (; unknown_.size() > limit; ++first_unknown_) unknown_.pop_front();
}

std::vector<capture::RecordedPacket> Recorder::take_settled(Timestamp now) {
  std::vector<capture::RecordedPacket> packets;
  std::scoped_lock lock(mutex_);
  for (; !unknown_.empty() && is_settled(unknown_.front(), now); ++first_unknown_) {
    packets.push_back(std::move(unknown_.front()));
    unknown_.pop_front();
  }
  return packets;
}

std::uint64_t Recorder::unknown_dropped() const {
  std::scoped_lock lock(mutex_);
  return unknown_dropped_;
}

Recorder::Placement Recorder::place(capture::Protocol protocol, const SocketAddress& client,
                                    link::Direction direction, bool may_open) {
  const FlowKey key{protocol, client};
  std::scoped_lock lock(mutex_);
  auto found = flows_.find(key);
  // The system gives ports again that lookups before had; what is late of those does not begin with a SYN.
  const bool is_new = found == flows_.end() || (may_open && found->second.log->lookup == 0);
  if (is_new && adopter_ && may_open && direction == link::Direction::ToServer) {
    found = flows_.insert_or_assign(key, Flow{adopter_, adopted_sample_}).first;
    adopter_->flows.push_back(key);
  } else if (found == flows_.end()) {
    auto log = std::make_shared<Log>();
    make_forgettable(key, log);
    found = flows_.emplace(key, Flow{std::move(log), unknown_flows_++}).first;
  }
  auto& flow = found->second;
  auto& index = flow.log->next_index[static_cast<std::size_t>(direction)];
  return {flow.log, {flow.sample, direction, index++}, flow.log->is_spared};
}

Recorder::Ticket Recorder::record(const Placement& placement, capture::RecordedPacket packet) {
  std::scoped_lock lock(mutex_);
  auto& log = *placement.log;
  packet.lookup = log.lookup;
  if (log.lookup == 0) return record_unknown(std::move(packet));
  log.packets.push_back(std::move(packet));
  return {placement.log, log.packets.size() - 1, true};
}

void Recorder::set_delivered(const Ticket& ticket, std::optional<Timestamp> when) {
  if (!ticket.is_kept) return;
  std::scoped_lock lock(mutex_);
  if (ticket.log) {
    if (ticket.log->lookup != 0) ticket.log->packets[ticket.number].delivered = when;
  } else if (ticket.number >= first_unknown_) {
    unknown_[ticket.number - first_unknown_].delivered = when;
  }
}

void Recorder::make_forgettable(const FlowKey& key, const std::shared_ptr<Log>& log) {
  forgettable_.push_back({key, log});
  if (forgettable_.size() <= kForgettableFlows) return;
  const auto& oldest = forgettable_.front();
  const auto found = flows_.find(oldest.key);
  if (found != flows_.end() && found->second.log == oldest.log) flows_.erase(found);
  forgettable_.pop_front();
}

Recorder::Ticket Recorder::record_unknown(capture::RecordedPacket packet) {
  if (unknown_limit_ == 0) return {};
  if (unknown_.size() == unknown_limit_) {
    unknown_.pop_front();
    ++first_unknown_;
    ++unknown_dropped_;
  }
  unknown_.push_back(std::move(packet));
  return {nullptr, first_unknown_ + unknown_.size() - 1, true};
}

}  // namespace doxlab::lab
