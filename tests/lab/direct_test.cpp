// A server asked directly, without lab and link. Who counts is compared with who knows: the recorder of a lab that is laid in
// between unseen, and tcpdump at the other end of a cable.

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <numeric>

#include "experiment/elsewhere.hpp"
#include "experiment/measured.hpp"
#include "net/netlink.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/running.hpp"
#include "support/tcpdump.hpp"

namespace doxlab::experiment {
namespace {

using capture::Protocol;
using capture::RecordedPacket;
using link::Direction;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kName = "dns.example.net";

/// Of the calling thread, and of threads that it makes.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) throw std::system_error(errno, std::generic_category(), "drop capabilities");
}

/// One flow of a lookup, whichever way it was seen.
using Flow = std::pair<Protocol, SocketAddress>;

Flow flow_of(BytesView packet, const IpAddress& server) {
  const auto headers = capture::parse_headers(packet);
  return {headers->protocol, headers->source.ip == server ? headers->destination : headers->source};
}

std::map<Flow, std::vector<RecordedPacket>> by_flow(const std::vector<RecordedPacket>& packets, const IpAddress& server) {
  std::map<Flow, std::vector<RecordedPacket>> out;
  for (const auto& packet : packets) out[flow_of(packet.bytes, server)].push_back(packet);
  return out;
}

/// All that a datagram socket knows of a packet.
std::string seen_by_socket(BytesView packet) {
  const auto headers = capture::parse_headers(packet);
  return std::format("{} {} {} octets, payload hash {:x}", headers->source.to_string(), headers->destination.to_string(), packet.size(),
                     std::hash<std::string_view>{}(as_text(headers->payload)));
}

std::vector<std::string> described(const std::vector<RecordedPacket>& packets, Direction direction, std::string (*describe)(BytesView)) {
  std::vector<std::string> out;
  for (const auto& packet : packets)
    if (packet.place.direction == direction) out.push_back(describe(packet.bytes));
  return out;
}

std::uint64_t octets(const std::vector<RecordedPacket>& packets, Direction direction) {
  std::uint64_t out = 0;
  for (const auto& packet : packets)
    if (packet.place.direction == direction) out += packet.bytes.size();
  return out;
}

std::uint64_t count(const std::vector<RecordedPacket>& packets, Direction direction) {
  return static_cast<std::uint64_t>(std::ranges::count(packets, direction, [](const auto& packet) { return packet.place.direction; }));
}

Setup direct_setup(const IpAddress& server, Duration one_way_delay) {
  experiment::Setup setup;
  setup.ipv6 = server.is_v6();
  setup.transports = {kTransportsElsewhere.begin(), kTransportsElsewhere.end()};
  setup.link.one_way_delay = one_way_delay;  // as priming would find it
  setup.elsewhere = Elsewhere{.name = kName, .address = server, .ports = {}, .interval = 0ms, .is_direct = true};
  for (const auto t : setup.transports) setup.elsewhere->ports[t] = default_port(t);
  return setup;
}

std::vector<Sample> look_up(const Setup& setup, std::size_t repetitions) {
  Rig rig(setup);
  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < repetitions; ++sample)
    for (const auto t : setup.transports) tasks.push_back({t, sample});
  std::vector<Sample> out;
  EXPECT_TRUE(rig.run(tasks, {.interval = 30ms}, [&](Sample&& sample) { out.push_back(std::move(sample)); }, {}));
  EXPECT_EQ(rig.missed_packets(), 0);
  return out;
}

/// Both as times in ms of each direction, for a failure.
std::string transcript(const Sample& sample, const std::vector<RecordedPacket>& real) {
  std::string out;
  for (const auto* packets : {sample.streams ? &sample.streams->steps : &sample.packets, &real}) {
    out += packets == &real ? "\nrecorded:" : "counted:";
    for (const auto& packet : *packets)
      out += std::format(" {}{:.2f}-{:.2f}", packet.place.direction == Direction::ToServer ? '>' : '<', to_ms(packet.sent - sample.result.started),
                         to_ms(packet.delivered.value_or(packet.sent) - sample.result.started));
  }
  return out;
}

struct Case {
  const char* name;
  bool permitted, ipv6;
  std::size_t chain_bytes;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class DirectAgreesWithTheLink : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, DirectAgreesWithTheLink,
                         testing::Values(Case{"PacketSocket", true, false, 3900}, Case{"PacketSocketIpv6LargeChain", true, true, 16000},
                                         Case{"Sockets", false, false, 3900}, Case{"SocketsIpv6LargeChain", false, true, 16000}),
                         testing::PrintToStringParamName());

TEST_P(DirectAgreesWithTheLink, PacketsBytesAndRoundTrips) {
  const auto [name, permitted, ipv6, chain_bytes] = GetParam();
  constexpr auto kDelay = 10ms;
  const test::TemporaryFolder folder;
  ::setenv("SSL_CERT_FILE", folder.file("root.pem").c_str(), 1);
  lab::Lab path({.impairments = {.one_way_delay = kDelay}, .keep_processors_awake = true});
  path.keep_unknown(100'000);
  const auto server = lab::Lab::server_address(ipv6);
  std::unique_ptr<net::ChildProcess> serving;
  path.run_in(lab::Side::Server, [&] {
    serving = test::start_program(test::doxlab({"serve", "--ip", server.to_string(), "--name", kName, "--chain-bytes", std::to_string(chain_bytes),
                                                "--write-root", folder.file("root.pem")}));
  });
  ASSERT_TRUE(serving->wait_for("ready\n", test::kProgramLimit)) << serving->errors();

  std::vector<Sample> samples;
  path.run_in(lab::Side::Client, [&, allowed = permitted] {
    if (!allowed) drop_capabilities();
    samples = look_up(direct_setup(server, kDelay), 4);
  });
  const auto truth = by_flow(path.peek(0), server);
  ASSERT_EQ(samples.size(), 24);
  std::map<Transport, std::vector<std::vector<RecordedPacket>>> of_transport;
  for (auto& sample : samples) {
    const auto transport = sample.task.transport;
    SCOPED_TRACE(std::format("{}/{}", to_string(transport), sample.task.sample));
    ASSERT_TRUE(sample.result.answered) << sample.result.reason;
    const auto expected_counting = permitted ? Counting::PacketSocket : is_stream(transport) ? Counting::Segments : Counting::Datagrams;
    ASSERT_EQ(to_string(sample.counting), to_string(expected_counting));
    // Where no packet tells whose they were, the recorder's flows of the time do.
    const auto begins_here = [&](const auto& flow) {
      const auto& first = flow.second.front();
      return first.sent >= sample.result.started - 1ms && first.sent < sample.result.started + 15ms &&
             std::ranges::any_of(flow.second, [&](const auto& packet) {
               return packet.place.direction == Direction::ToServer &&
                      capture::parse_headers(packet.bytes)->destination.port == default_port(transport);
             });
    };
    const auto found = sample.streams ? std::ranges::find_if(truth, [&](const auto& flow) {
      return flow.first.first == Protocol::Tcp && begins_here(flow);
    }) : truth.find(flow_of(sample.packets.front().bytes, server));
    ASSERT_NE(found, truth.end());
    const auto& real = found->second;

    // What was recorded with both ends in view.
    const auto real_path = trace::critical_path(real, sample.result.started, *sample.result.answered);
    ASSERT_TRUE(real_path);
    const auto real_volumes = trace::count_volumes(real, trace::cut_at_answer(real, real_path));
    place_server(sample);
    const auto measured = measure(sample);
    ASSERT_TRUE(measured.path);
    EXPECT_EQ(measured.path->round_trips(), real_path->round_trips()) << transcript(sample, real);
    EXPECT_EQ(measured.flights, trace::count_flights(real, trace::cut_at_answer(real, real_path)));
    const auto& got = measured.volumes;
    for (const auto direction : {Direction::ToServer, Direction::ToClient}) {
      const bool to_server = direction == Direction::ToServer;
      const auto& until = to_server ? got.to_server : got.to_client;
      const auto& after = to_server ? got.to_server_after : got.to_client_after;
      const auto& real_until = to_server ? real_volumes.to_server : real_volumes.to_client;
      EXPECT_EQ(until.packets + after.packets, count(real, direction));
      EXPECT_EQ(until.ip_bytes + after.ip_bytes, octets(real, direction));
      if (sample.streams) {
        EXPECT_GE(until.packets, real_until.packets);
        EXPECT_LE(until.packets, real_until.packets + 1) << "an acknowledgement of the answer, or what came right behind it";
        continue;
      }
      EXPECT_EQ(until.packets, real_until.packets);
      EXPECT_EQ(until.ip_bytes, real_until.ip_bytes);
      const auto describe = permitted ? test::describe_packet : seen_by_socket;
      EXPECT_EQ(described(sample.packets, direction, describe), described(real, direction, describe));
    }
  }
}

}  // namespace
}  // namespace doxlab::experiment
