// What an experiment counts is what tcpdump sees at both ends: packets and IP bytes of each lookup, octet for
// octet, on every transport.

#include "support/tcpdump.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "experiment/rig.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {
namespace {

using capture::RecordedPacket;
using link::Direction;

/// A client's socket is a lookup: UDP and TCP of a lookup share the address and port.
using Packets = std::map<std::string, std::vector<Bytes>>;

std::string client_of(BytesView packet, bool ipv6) {
  const auto headers = capture::parse_headers(packet);
  const bool from_server = headers->source.ip == lab::Lab::server_address(ipv6);
  return (from_server ? headers->destination : headers->source).to_string();
}

Direction direction_of(BytesView packet, bool ipv6) {
  const auto headers = capture::parse_headers(packet);
  return headers->source.ip == lab::Lab::server_address(ipv6) ? Direction::ToClient : Direction::ToServer;
}

Packets by_client(const std::vector<Bytes>& capture, Direction direction, bool ipv6) {
  Packets out;
  for (const auto& packet : capture)
    if (direction_of(packet, ipv6) == direction) out[client_of(packet, ipv6)].push_back(packet);
  return out;
}

std::vector<std::string> describe_all(const std::vector<Bytes>& packets) {
  std::vector<std::string> out;
  for (const auto& packet : packets) out.push_back(test::describe_packet(packet));
  return out;
}

/// What the observer at `side` sees of the recorded packets in the end: those that left there, and those that
/// arrived or will arrive there.
std::vector<std::string> seen_at(lab::Side side, const std::vector<RecordedPacket>& packets,
                                 Direction direction) {
  const auto leaves_here = (side == lab::Side::Client) == (direction == Direction::ToServer);
  std::vector<std::string> out;
  for (const auto& packet : packets)
    if (packet.place.direction == direction && (leaves_here || packet.fate == link::Fate::Delivered))
      out.push_back(test::describe_packet(packet.bytes));
  return out;
}

/// How many of them it must have seen by the time of the recording.
std::size_t count_seen_at(lab::Side side, const std::vector<RecordedPacket>& packets, Direction direction) {
  const auto leaves_here = (side == lab::Side::Client) == (direction == Direction::ToServer);
  return static_cast<std::size_t>(std::ranges::count_if(packets, [&](const auto& packet) {
    return packet.place.direction == direction && (leaves_here || packet.delivered);
  }));
}

/// Octets of the first packets of a capture's direction: counting ends at a time, so what counts comes first.
std::uint64_t first_bytes(const std::vector<Bytes>& packets, std::uint64_t count) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, packets.size()); ++i) out += packets[i].size();
  return out;
}

/// Waits until no packet has come for a while, as far as one can: a connection that lost its end may send
/// once more minutes later.
void wait_for_silence(const lab::Lab& lab) {
  std::size_t count = 0;
  const auto limit = monotonic_now() + 30s;
  for (auto quiet_since = monotonic_now();
       monotonic_now() - quiet_since < 500ms && monotonic_now() < limit;) {
    std::this_thread::sleep_for(20ms);
    const auto packets = lab.peek(0);
    const bool is_on_the_way = std::ranges::any_of(
        packets, [](const auto& p) { return !p.delivered && p.fate == link::Fate::Delivered; });
    if (is_on_the_way || packets.size() != count) quiet_since = monotonic_now();
    count = packets.size();
  }
}

/// What the recorder has of a lookup: what it handed over, and what came later and belongs to nobody.
std::vector<RecordedPacket> all_packets(const Sample& sample, const std::vector<RecordedPacket>& late) {
  auto out = sample.packets;
  const bool ipv6 = capture::parse_headers(out.front().bytes)->source.ip.is_v6();
  const auto client = client_of(out.front().bytes, ipv6);
  for (const auto& packet : late)
    if (client_of(packet.bytes, ipv6) == client) out.push_back(packet);
  return out;
}

/// The capture ended between two looks at the recorder: it has all that was there before, and of what was
/// there after it, the beginning.
void expect_between(lab::Side side, Direction direction, const std::vector<Bytes>& captured,
                    const std::vector<RecordedPacket>& before, const std::vector<RecordedPacket>& after) {
  EXPECT_GE(captured.size(), count_seen_at(side, before, direction));
  auto expected = seen_at(side, after, direction);
  expected.resize(std::min(expected.size(), captured.size()));
  EXPECT_EQ(describe_all(captured), expected);
}

struct Observed {
  bool ipv6;
  double loss;
};
std::ostream& operator<<(std::ostream& out, const Observed& o) {
  return out << (o.ipv6 ? "Ipv6" : "Ipv4") << (o.loss > 0 ? "Lossy" : "Clean");
}

class AgreesWithTcpdump : public testing::TestWithParam<Observed> {};
INSTANTIATE_TEST_SUITE_P(All, AgreesWithTcpdump,
                         testing::Values(Observed{false, 0}, Observed{true, 0}, Observed{false, 0.1},
                                         Observed{true, 0.1}),
                         testing::PrintToStringParamName());

TEST_P(AgreesWithTcpdump, PacketsAndBytesOfEveryLookup) {
  const auto [ipv6, loss] = GetParam();
  experiment::Setup setup;
  setup.ipv6 = ipv6;
  setup.link.loss_probability = loss;
  setup.link.seed = 11;
  setup.timeout = 6s;
  Rig rig(setup);
  rig.lab().keep_unknown(100'000);
  test::Tcpdump at_client(rig.lab(), lab::Side::Client), at_server(rig.lab(), lab::Side::Server);

  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < 4; ++sample)
    for (const auto transport : setup.transports) tasks.push_back({transport, sample});
  std::vector<Sample> samples;
  ASSERT_TRUE(rig.run(tasks, {}, [&](Sample&& sample) { samples.push_back(std::move(sample)); }, {}));
  ASSERT_EQ(samples.size(), tasks.size());
  wait_for_silence(rig.lab());
  const auto late_before = rig.lab().peek(0);
  const auto client_capture = at_client.stop(), server_capture = at_server.stop();
  const auto late = rig.lab().peek(0);

  for (const auto direction : {Direction::ToServer, Direction::ToClient}) {
    const auto sender = direction == Direction::ToServer ? lab::Side::Client : lab::Side::Server;
    auto client_saw = by_client(client_capture, direction, ipv6),
         server_saw = by_client(server_capture, direction, ipv6);
    auto& sender_saw = sender == lab::Side::Client ? client_saw : server_saw;
    for (const auto& sample : samples) {
      SCOPED_TRACE(std::format("{} {} sample {}", link::to_string(direction),
                               to_string(sample.task.transport), sample.task.sample));
      ASSERT_FALSE(sample.packets.empty());
      const auto client = client_of(sample.packets.front().bytes, ipv6);

      // Every packet, the closing included, is the same at both ends and in the recorder.
      const auto before = all_packets(sample, late_before), after = all_packets(sample, late);
      expect_between(lab::Side::Client, direction, client_saw[client], before, after);
      expect_between(lab::Side::Server, direction, server_saw[client], before, after);

      // And what the experiment counts as the cost of the answer is what the sender's end saw first.
      std::optional<trace::CriticalPath> path;
      if (sample.result.answered)
        path = trace::critical_path(sample.packets, sample.result.started, *sample.result.answered);
      else
        EXPECT_GT(loss, 0) << sample.result.reason;
      const auto volumes = trace::count_volumes(sample.packets, trace::cut_at_answer(sample.packets, path));
      const auto& counted = direction == Direction::ToServer ? volumes.to_server : volumes.to_client;
      EXPECT_EQ(counted.ip_bytes, first_bytes(sender_saw[client], counted.packets));
      const auto& rest = direction == Direction::ToServer ? volumes.to_server_after : volumes.to_client_after;
      EXPECT_EQ(counted.ip_bytes + rest.ip_bytes,
                first_bytes(sender_saw[client], counted.packets + rest.packets));
      client_saw.erase(client);
      server_saw.erase(client);
    }
    // The rest, if any, is the end of the uncounted lookups that come before the first.
    for (const auto& [client, packets] : client_saw)
      EXPECT_TRUE(std::ranges::any_of(late, [&](const auto& p) {
        return client_of(p.bytes, ipv6) == client;
      })) << client;
  }
}

}  // namespace
}  // namespace doxlab::experiment
