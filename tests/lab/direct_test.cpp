// A server asked directly, without lab and link. Who counts is compared with who knows: the recorder of a lab that is laid in
// between unseen, and tcpdump at the other end of a cable.

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "experiment/elsewhere.hpp"
#include "experiment/measured.hpp"
#include "net/netlink.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
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

/// Over loopback both ends have one address; the server has ports of the system.
Direction direction_of(const capture::PacketHeaders& headers) { return headers.source.port < 1024 ? Direction::ToClient : Direction::ToServer; }

Flow flow_of(BytesView packet) {
  const auto headers = capture::parse_headers(packet);
  return {headers->protocol, direction_of(*headers) == Direction::ToClient ? headers->destination : headers->source};
}

std::map<Flow, std::vector<RecordedPacket>> by_flow(const std::vector<RecordedPacket>& packets) {
  std::map<Flow, std::vector<RecordedPacket>> out;
  for (const auto& packet : packets) out[flow_of(packet.bytes)].push_back(packet);
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

std::uint64_t octets_of_first(const std::vector<RecordedPacket>& packets, Direction direction, std::uint64_t count) {
  std::uint64_t out = 0;
  for (const auto& packet : packets)
    if (packet.place.direction == direction && count-- > 0) out += packet.bytes.size();
    else if (packet.place.direction == direction) break;
  return out;
}

/// Those that the client had sent or received by then.
std::vector<RecordedPacket> seen_until(std::vector<RecordedPacket> packets, Timestamp when) {
  std::erase_if(packets, [&](const auto& packet) {
    return (packet.place.direction == Direction::ToServer ? std::optional(packet.sent) : packet.delivered).value_or(Timestamp::max()) > when;
  });
  return packets;
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
  const SamplerOptions pace{.first_interval = 30ms, .least_interval = 30ms};
  EXPECT_TRUE(run_sampler(rig, tasks, pace, [&](Sample&& sample) { out.push_back(std::move(sample)); }, {}, {}));
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
  const auto truth = by_flow(path.peek(0));
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
    }) : truth.find(flow_of(sample.packets.front().bytes));
    ASSERT_NE(found, truth.end());
    const auto& real = found->second;

    // What was recorded with both ends in view.
    const auto real_path = trace::critical_path(real, sample.result.started, *sample.result.answered);
    ASSERT_TRUE(real_path);
    const auto real_volumes = trace::count_volumes(real, trace::cut_at_answer(real, real_path));
    place_server(sample);
    const auto measured = measure(sample);
    ASSERT_TRUE(measured.path);
    // A machine that was too busy in every attempt has said so.
    if (!sample.disturbed) {
      EXPECT_EQ(measured.path->round_trips(), real_path->round_trips()) << transcript(sample, real);
      EXPECT_EQ(measured.flights, trace::count_flights(real, trace::cut_at_answer(real, real_path)));
    }
    const auto& got = measured.volumes;
    for (const auto direction : {Direction::ToServer, Direction::ToClient}) {
      const bool to_server = direction == Direction::ToServer;
      const auto& until = to_server ? got.to_server : got.to_client;
      const auto& after = to_server ? got.to_server_after : got.to_client_after;
      const auto& real_until = to_server ? real_volumes.to_server : real_volumes.to_client;
      // What came or went until the socket was closed, 90 ms after the answer, and perhaps a little more.
      const auto total = until.packets + after.packets;
      EXPECT_GE(total, count(seen_until(real, *sample.result.answered + 85ms), direction));
      EXPECT_LE(total, count(real, direction));
      EXPECT_EQ(until.ip_bytes + after.ip_bytes, octets_of_first(real, direction, total));
      if (sample.streams) {
        EXPECT_GE(until.packets, real_until.packets);
        EXPECT_LE(until.packets, real_until.packets + 1) << "an acknowledgement of the answer, or what came right behind it";
        continue;
      }
      EXPECT_EQ(until.packets, real_until.packets);
      EXPECT_EQ(until.ip_bytes, real_until.ip_bytes);
      const auto describe = permitted ? test::describe_packet : seen_by_socket;
      auto expected = described(real, direction, describe);
      expected.resize(std::min<std::size_t>(expected.size(), total));
      EXPECT_EQ(described(sample.packets, direction, describe), expected);
    }
  }
}

/// The packets that the wire would carry of one that a device is to cut.
std::vector<std::size_t> sizes_on_the_wire(BytesView packet, std::size_t mtu) {
  const auto headers = capture::parse_headers(packet);
  const auto header = packet.size() - headers->payload.size();
  std::vector<std::size_t> out;
  for (auto left = headers->payload.size(); left > 0 || out.empty();) {
    const auto part = std::min(left, mtu - header);
    out.push_back(header + part);
    left -= part;
  }
  return out;
}

class DirectAgreesWithTcpdump : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(At, DirectAgreesWithTcpdump, testing::Values("lo", "eth0"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(DirectAgreesWithTcpdump, AlsoWhereTheDeviceCutsSegments) {
  const std::string device = GetParam();
  const bool is_cut = device != "lo";
  const test::TemporaryFolder folder;
  ::setenv("SSL_CERT_FILE", folder.file("root.pem").c_str(), 1);
  const auto machine = net::NetworkNamespace::make(), internet = net::NetworkNamespace::make();
  const auto server = *IpAddress::parse(is_cut ? "198.51.100.1" : "127.0.0.1");
  machine.run([&] {
    net::Netlink netlink;
    netlink.set_up("lo");
    netlink.add_cable("eth0", "net0", internet);
    netlink.add_address("eth0", *IpAddress::parse("198.51.100.2"), 24);
    netlink.set_up("eth0");
  });
  internet.run([&] {
    net::Netlink netlink;
    netlink.add_address("net0", *IpAddress::parse("198.51.100.1"), 24);
    netlink.set_up("net0");
  });
  const auto& far_end = is_cut ? internet : machine;
  std::unique_ptr<net::ChildProcess> serving;
  far_end.run([&] {
    serving = test::start_program(test::doxlab(
        {"serve", "--ip", server.to_string(), "--name", kName, "--chain-bytes", "16000", "--write-root", folder.file("root.pem")}));
  });
  ASSERT_TRUE(serving->wait_for("ready\n", test::kProgramLimit)) << serving->errors();
  test::Tcpdump tcpdump(far_end, is_cut ? "net0" : "lo");

  std::vector<Sample> samples;
  machine.run([&] { samples = look_up(direct_setup(server, 0ms), 2); });
  ASSERT_EQ(samples.size(), 12);
  const auto captured = tcpdump.stop();
  std::size_t largest = 0;
  for (const auto& sample : samples) {
    SCOPED_TRACE(std::format("{}/{}", to_string(sample.task.transport), sample.task.sample));
    ASSERT_TRUE(sample.result.answered) << sample.result.reason;
    ASSERT_EQ(sample.counting, Counting::PacketSocket);
    ASSERT_FALSE(sample.packets.empty());
    const auto flow = flow_of(sample.packets.front().bytes);
    for (const auto direction : {Direction::ToServer, Direction::ToClient}) {
      std::vector<std::size_t> expected, sizes;
      for (const auto& packet : captured) {
        if (flow_of(packet) != flow || direction_of(*capture::parse_headers(packet)) != direction) continue;
        std::ranges::copy(sizes_on_the_wire(packet, is_cut ? 1500 : 65536), std::back_inserter(expected));
        largest = std::max(largest, packet.size());
      }
      for (const auto& packet : sample.packets)
        if (packet.place.direction == direction) sizes.push_back(packet.bytes.size());
      // What came long after the answer belongs to no lookup.
      EXPECT_LE(expected.size(), sizes.size() + 3);
      expected.resize(std::min(expected.size(), sizes.size()));
      EXPECT_EQ(sizes, expected);
    }
  }
  EXPECT_GT(largest, 1500) << "no device was to cut anything";
}

/// The program on a machine that has nothing but itself.
class DirectProgram : public testing::Test {
 protected:
  DirectProgram() { std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755)); }

  void serve(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"serve", "--ip", "127.0.0.1", "--name", kName, "--write-root", folder_.file("root.pem")});
    server_ = network_.start(test::doxlab(options));
    ASSERT_TRUE(server_->wait_for("ready\n", test::kProgramLimit)) << server_->errors();
    std::filesystem::permissions(folder_.file("root.pem"), std::filesystem::perms(0644));
  }

  /// Asks the server, or the one that `options` name.
  static test::Command ask(const char* what, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {what, "--server", kName, "--direct"});
    if (!std::ranges::contains(options, "--ip")) options.insert(options.end(), {"--ip", "127.0.0.1"});
    return test::doxlab(options);
  }
  static test::Command as_nobody(test::Command command) {
    command.insert(command.begin(), {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"});
    return command;
  }
  test::Finished run(const test::Command& command) const {
    const auto child = network_.start(command, {.environment = environment()});
    const auto status = child->wait(test::kProgramLimit);
    return {test::join(command), status.value_or(-1), child->output(), child->errors()};
  }
  std::vector<std::pair<std::string, std::string>> environment() const { return {{"SSL_CERT_FILE", folder_.file("root.pem")}}; }

  const test::TemporaryFolder folder_;
  const test::Network network_;
  std::unique_ptr<net::ChildProcess> server_;
};

TEST_F(DirectProgram, MeasuresForAnybody) {
  serve();
  const auto finished = run(as_nobody(ask("packets", {"-n", "2", "--lookups-per-second", "50", "--json", "-"})));
  ASSERT_EQ(finished.status, 0) << finished;
  const auto json = test::parse_json(finished.output);
  EXPECT_TRUE(json["endpoints"]["direct"].get<bool>());
  EXPECT_EQ(test::number(json["link"], "round_trip_ms"), 0);
  const std::pair<const char*, const char*> counted[] = {{"do53", "datagrams"}, {"do53-tcp", "segments"}, {"dot", "segments"},
                                                         {"doh", "segments"},   {"doh3", "datagrams"},    {"doq", "datagrams"}};
  for (const auto& [transport, by] : counted) {
    EXPECT_EQ(test::text(json["counted_by"], transport), by);
    const auto& result = json["results"][transport];
    EXPECT_EQ(test::number(result, "samples"), 2) << transport;
    EXPECT_GE(test::number(result, "round_trips"), 1) << transport;
    EXPECT_GT(test::number(result, "pkts_s2c"), 0) << transport;
    EXPECT_EQ(result.contains("accounting"), std::string_view(by) == "datagrams") << transport;
  }
  EXPECT_EQ(test::number(json["results"]["do53"], "bytes_c2s"), 68);
  EXPECT_EQ(test::number(json["results"]["do53-tcp"], "round_trips"), 2);

  const auto text = run(as_nobody(ask("packets", {"-n", "1", "--lookups-per-second", "50", "--only", "do53,dot"})));
  EXPECT_EQ(text.status, 0) << text;
  EXPECT_THAT(text.output, AllOf(HasSubstr("over IPv4: the path as it is"), HasSubstr("dns.example.net at 127.0.0.1, asked directly"),
                                 HasSubstr("without options: do53."), HasSubstr("those until it: dot."), Not(HasSubstr("The link"))));
  const auto privileged = run(ask("packets", {"-n", "1", "--lookups-per-second", "50", "--only", "do53,dot"}));
  EXPECT_EQ(privileged.status, 0) << privileged;
  EXPECT_THAT(privileged.output, AllOf(HasSubstr("by a packet socket"), HasSubstr(": do53, dot."), Not(HasSubstr("WARNING"))));
}

TEST_F(DirectProgram, TellsPercentilesOfThePathAsItIs) {
  serve({"--only", "dot"});
  const auto finished = run(as_nobody(ask("loss", {"-n", "8", "--lookups-per-second", "50", "--json", "-"})));
  EXPECT_EQ(finished.status, 0) << finished;
  const auto json = test::parse_json(finished.output);
  EXPECT_FALSE(json["options"].contains("loss")) << "there was no link";
  EXPECT_EQ(test::number(json["results"]["dot"], "n") + test::number(json["results"]["dot"], "disturbed"), 8);
  EXPECT_EQ(test::text(json["counted_by"], "dot"), "segments");
  EXPECT_THAT(test::text(json["endpoints"]["not_answering"], "doq"), HasSubstr("refused"));
}

TEST_F(DirectProgram, WrongUsesAreNamed) {
  const std::pair<test::Command, std::vector<const char*>> mistakes[] = {
      {ask("packets", {"--loss", "2"}), {"--loss", "no link"}},
      {ask("loss", {"--delay", "20"}), {"--delay", "no link"}},
      {ask("packets", {"--rate", "1000"}), {"--rate", "no link"}},
      {ask("packets", {"--seed", "3"}), {"--seed", "no link"}},
      {ask("packets", {"--initcwnd", "20"}), {"--initcwnd", "machine's own"}},
      {ask("packets", {"--retry", "always"}), {"--retry"}},
      {ask("packets", {"--ip", "203.0.113.9", "--lookups-per-second", "50"}), {"--lookups-per-second 50", "--i-operate-this-server"}},
      {test::doxlab({"packets", "--direct"}), {"--direct: only with --server"}},
  };
  for (const auto& [command, named] : mistakes) {
    const auto finished = run(command);
    EXPECT_EQ(finished.status, 2) << finished;
    for (const auto* part : named) EXPECT_THAT(finished.errors, HasSubstr(part));
  }
}

TEST_F(DirectProgram, AddressThatCannotBeReachedIsTold) {
  serve({"--only", "do53"});
  const auto finished = run(as_nobody(ask("packets", {"--ip", "192.0.2.77", "--only", "do53,dot"})));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, AllOf(HasSubstr("192.0.2.77 answers over no transport"), HasSubstr("nreachable")));
}

TEST_F(DirectProgram, InterruptedItTellsWhatItHas) {
  serve({"--only", "do53"});
  auto command = ask("loss", {"-n", "1000", "--only", "do53", "--samples", folder_.file("samples")});
  command.insert(command.begin(), {"/usr/bin/env", "SSL_CERT_FILE=" + folder_.file("root.pem")});
  const auto child = network_.start(command);
  const auto lines = [&] {
    const auto text = std::filesystem::exists(folder_.file("samples")) ? folder_.read("samples") : std::string();
    return std::ranges::count(text, '\n');
  };
  for (const auto end = monotonic_now() + test::kProgramLimit; lines() < 2 && monotonic_now() < end;) ASSERT_FALSE(child->wait(20ms)) << child->errors();
  child->signal(SIGINT);
  EXPECT_EQ(child->wait(test::kProgramLimit), 130) << child->errors();
  EXPECT_THAT(child->output(), AllOf(HasSubstr("INTERRUPTED"), HasSubstr("\nDo53 "), HasSubstr("the path as it is")));
}

}  // namespace
}  // namespace doxlab::experiment
