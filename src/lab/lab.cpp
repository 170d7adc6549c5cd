#include "lab/lab.hpp"

#include <future>

#include "lab/awake.hpp"
#include "lab/link_thread.hpp"
#include "lab/recorder.hpp"
#include "lab/topology.hpp"
#include "lab/way_out.hpp"

namespace doxlab::lab {

struct Lab::State {
  explicit State(const LabOptions& options)
      : client(make_end(Side::Client, options)),
        server(make_end(Side::Server, options)),
        link(client.device, server.device, options.impairments, recorder),
        kernel_settings(read_kernel_settings(client)) {
    if (options.beyond) way_out.emplace(server.network, *options.beyond);
    if (options.keep_processors_awake) awake.emplace();
  }
  const End& end(Side side) const { return side == Side::Client ? client : server; }

  End client, server;
  Recorder recorder;
  LinkThread link;
  std::vector<std::pair<std::string, std::string>> kernel_settings;
  std::optional<WayOut> way_out;
  std::optional<AwakeProcessors> awake;
};

Lab::Lab(const LabOptions& options) : state_(std::make_unique<State>(options)) {}

Lab::~Lab() = default;

IpAddress Lab::server_address(bool ipv6) {
  if (!ipv6) return IpAddress::v4({10, 66, 0, 1});
  return IpAddress::v6({0xfd, 0x66, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
}

IpAddress Lab::client_address(bool ipv6, std::size_t k) {
  const auto last = static_cast<std::uint8_t>(k);
  if (!ipv6) return IpAddress::v4({10, 66, 1, last});
  return IpAddress::v6({0xfd, 0x66, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last});
}

std::jthread Lab::start_thread(Side side, std::function<void(std::stop_token)> body) {
  std::promise<void> entered;
  auto has_entered = entered.get_future();
  const auto& network = state_->end(side).network;
  std::jthread thread(
      [&network, entered = std::move(entered), body = std::move(body)](std::stop_token stop) mutable {
        try {
          network.enter();
        } catch (...) {
          return entered.set_exception(std::current_exception());
        }
        entered.set_value();
        body(stop);
      });
  has_entered.get();
  return thread;
}

void Lab::run_in(Side side, const std::function<void()>& body) {
  state_->end(side).network.run(body);
}

void Lab::register_flow(capture::Protocol protocol, const SocketAddress& client, FlowTag tag) {
  state_->recorder.register_flow(protocol, client, tag);
}

void Lab::adopt_flows(FlowTag tag, bool is_spared) {
  state_->recorder.adopt(tag, is_spared);
}

std::vector<capture::RecordedPacket> Lab::take(std::uint64_t lookup) {
  return state_->recorder.take(lookup);
}

std::vector<capture::RecordedPacket> Lab::peek(std::uint64_t lookup) const {
  return state_->recorder.peek(lookup);
}

void Lab::keep_unknown(std::size_t limit) {
  state_->recorder.keep_unknown(limit);
}

std::vector<capture::RecordedPacket> Lab::take_settled(Timestamp now) {
  return state_->recorder.take_settled(now);
}

std::uint64_t Lab::unknown_dropped() const {
  return state_->recorder.unknown_dropped();
}

LinkVolume Lab::volume(link::Direction direction) const {
  return state_->link.volume(direction);
}

LinkPrecision Lab::precision() const {
  const auto& lateness = state_->link.lateness();
  return {.packets = lateness.packets(),
          .p50 = lateness.quantile(0.5),
          .p99 = lateness.quantile(0.99),
          .max = lateness.max(),
          .real_time_priority = state_->link.has_real_time_priority()};
}

Duration Lab::stall_before(Timestamp sent) const {
  // What piled up is read within this time.
  constexpr auto kCatchingUp = 2ms;
  return state_->link.late_times().greatest(sent - kCatchingUp, sent);
}

const link::Impairments& Lab::impairments() const {
  return state_->link.impairments();
}

std::vector<std::pair<std::string, std::string>> Lab::kernel_settings() const {
  return state_->kernel_settings;
}

}  // namespace doxlab::lab
