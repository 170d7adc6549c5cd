// A server that is not in the lab: a machine and "the internet", both namespaces of this test, with doxlab's resolver there.

#include <gmock/gmock.h>

#include <csignal>
#include <optional>
#include <regex>

#include "net/netlink.hpp"
#include "net/sysctl.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/running.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kServer = "203.0.113.9";
constexpr const char* kServer6 = "2001:db8:9::9";
constexpr const char* kName = "dns.example.net";

IpAddress ip(const char* text) { return *IpAddress::parse(text); }

class Elsewhere : public testing::Test {
 protected:
  Elsewhere() {
    machine_.run([&] {
      net::Netlink netlink;
      netlink.set_up("lo");
      netlink.add_cable("eth0", "net0", internet_);
      netlink.add_address("eth0", ip("198.51.100.2"), 24);
      netlink.add_address("eth0", ip("2001:db8:1::2"), 64);
      netlink.set_up("eth0");
    });
    internet_.run([&] {
      net::Netlink netlink;
      netlink.set_up("lo");
      netlink.add_address("net0", ip("198.51.100.1"), 24);
      netlink.add_address("net0", ip("2001:db8:1::1"), 64);
      netlink.add_address("lo", ip(kServer), 32);
      netlink.add_address("lo", ip(kServer6), 128);
      netlink.set_up("net0");
    });
    machine_.run([&] {
      net::Netlink netlink;
      netlink.add_default_gateway("eth0", ip("198.51.100.1"));
      netlink.add_default_gateway("eth0", ip("2001:db8:1::1"));
    });
  }

  void serve(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"serve", "--ip", kServer, "--ip", kServer6, "--name", kName, "--write-root", folder_.file("root.pem")});
    internet_.run([&] { server_ = test::start_program(test::doxlab(options)); });
    ASSERT_TRUE(server_->wait_for("ready\n", test::kProgramLimit)) << server_->errors();
  }

  static test::Command packets(std::vector<std::string> options, const char* name = kName, const char* address = kServer) {
    options.insert(options.begin(), {"packets", "--server", name, "--ip", address, "-n", "2", "--delay", "5"});
    return test::doxlab(options);
  }

  /// On the machine, with the resolver's root among the system's.
  test::Finished run(const test::Command& command) const {
    test::Finished out;
    machine_.run([&] {
      const auto child = test::start_program(command, {.environment = {{"SSL_CERT_FILE", folder_.file("root.pem")}}});
      const auto status = child->wait(test::kProgramLimit);
      out = {test::join(command), status.value_or(-1), child->output(), child->errors()};
    });
    return out;
  }

  test::Finished on_the_machine(const test::Command& command) const { return run(command); }

  std::string forwarding() const {
    std::string out;
    machine_.run([&] { out = net::read_sysctl("net/ipv4/conf/eth0/forwarding").value(); });
    return out;
  }
  std::vector<std::string> devices() const {
    std::vector<std::string> out;
    machine_.run([&] { out = net::device_names(); });
    return out;
  }
  void expect_nothing_left() const {
    EXPECT_EQ(on_the_machine({"nft", "list", "ruleset"}).output, "");
    EXPECT_THAT(devices(), testing::UnorderedElementsAre("lo", "eth0"));
    EXPECT_EQ(forwarding(), "0");
  }

  const test::TemporaryFolder folder_;
  net::NetworkNamespace machine_ = net::NetworkNamespace::make(), internet_ = net::NetworkNamespace::make();
  std::unique_ptr<net::ChildProcess> server_;
};

TEST_F(Elsewhere, IsMeasuredThroughTheLinkAndLeavesNothing) {
  serve();
  internet_.run([] {
    const auto rules = test::run_program(
        {"nft", "add table ip count; add chain ip count in { type filter hook input priority 0; }; add rule ip count in udp dport 53 counter"});
    ASSERT_EQ(rules.status, 0) << rules;
  });
  const auto finished = run(packets({"--i-operate-this-server", "--lookups-per-second", "50", "--json", folder_.file("out.json")}));
  ASSERT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.output, HasSubstr("Server: dns.example.net at 203.0.113.9, beyond the link"));
  const auto json = test::parse_json(folder_.read("out.json"));
  EXPECT_EQ(test::text(json["endpoints"], "server_address"), kServer);
  EXPECT_EQ(test::text(json["endpoints"], "subject"), kName);
  const std::pair<const char*, double> round_trips[] = {{"do53", 1}, {"do53-tcp", 2}, {"dot", 3}, {"doh", 3}, {"doh3", 2}, {"doq", 2}};
  EXPECT_EQ(json["results"].get_object().size(), std::size(round_trips));
  for (const auto& [transport, expected] : round_trips) {
    const auto& result = json["results"][transport];
    EXPECT_EQ(test::number(result, "samples"), 2) << transport;
    EXPECT_EQ(test::number(result, "round_trips"), expected) << transport;
    EXPECT_GE(test::number(result, "ms"), expected * 10) << transport << ": the link's delay is in it";
    EXPECT_FALSE(result.contains("rtt_est")) << "the link is not the whole way";
  }
  // Asked once to fill its cache, once to load everything, and twice to be measured; what a busy machine disturbed, again.
  internet_.run([&] {
    const auto counted = test::run_program({"nft", "list", "chain", "ip", "count", "in"}).output;
    std::smatch match;
    ASSERT_TRUE(std::regex_search(counted, match, std::regex("packets ([0-9]+)"))) << counted;
    const auto packets = std::stoi(match[1]);
    EXPECT_GE(packets, 4);
    EXPECT_LE(packets, 4 + test::number(json, "repeated"));
  });
  expect_nothing_left();
}

TEST_F(Elsewhere, LossOfTheLinkMeetsItToo) {
  serve({"--only", "do53,dot"});
  auto command = test::doxlab({"loss", "--server", kName, "--ip", kServer, "-n", "20", "--loss", "30", "--only", "do53", "--timeout", "1", "--delay", "5",
                               "--i-operate-this-server", "--lookups-per-second", "50", "--json", folder_.file("out.json")});
  const auto finished = run(command);
  ASSERT_EQ(finished.status, 0) << finished;
  const auto json = test::parse_json(folder_.read("out.json"));
  EXPECT_GT(test::number(json["results"]["do53"], "timeouts"), 0);
  EXPECT_GT(test::number(json["results"]["do53"], "n"), 0);
}

TEST_F(Elsewhere, TransportsThatItLacksAreToldAndLeftOut) {
  serve({"--only", "dot,doq"});
  const auto finished = run(packets({}));
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.output, AllOf(HasSubstr("Not measured: do53, refused"), HasSubstr("Not measured: doh, refused"), HasSubstr("Not measured: doh3, refused"),
                                     HasSubstr("\nDoT "), HasSubstr("\nDoQ "), Not(HasSubstr("\nDoH "))));
  const auto asked = run(packets({"--only", "dot,do53"}));
  EXPECT_EQ(asked.status, 1) << "it was asked for by name\n" << asked;
  EXPECT_THAT(asked.output, HasSubstr("Not measured: do53, refused"));
}

TEST_F(Elsewhere, OtherPortsAndPathsAreFollowed) {
  serve({"--only", "dot,doh", "--port-offset", "8000", "--path", "/ask"});
  const auto finished = run(packets({"--only", "dot,doh", "--port-dot", "8853", "--port-doh", "8443", "--doh-path", "/ask"}));
  EXPECT_EQ(finished.status, 0) << finished;
  const auto wrong = run(packets({"--only", "doh", "--port-doh", "8443", "--doh-path", "/other"}));
  EXPECT_EQ(wrong.status, 1) << wrong;
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("answers over no transport"), HasSubstr("DoH (port 8443)"), HasSubstr("404")));
}

TEST_F(Elsewhere, NameThatItsCertificateLacksFails) {
  serve({"--only", "do53,dot,doq"});
  const auto all = run(packets({"--only", "dot,doq"}, "other.example.net"));
  EXPECT_EQ(all.status, 1) << all;
  EXPECT_THAT(all.errors, AllOf(HasSubstr("other.example.net at 203.0.113.9 answers over no transport"), HasSubstr("handshake failed"),
                                HasSubstr("ostname mismatch")));
  // In cleartext it answers; the others are not passed over in silence.
  const auto some = run(packets({}, "other.example.net"));
  EXPECT_EQ(some.status, 1) << some;
  EXPECT_THAT(some.output, AllOf(HasSubstr("\nDo53 "), HasSubstr("Not measured: dot, handshake failed")));
}

TEST_F(Elsewhere, AddressThatCannotBeReachedIsTold) {
  serve({"--only", "do53"});
  const auto silent = run(packets({"--only", "do53,dot", "--timeout", "0.3"}, kName, "192.0.2.77"));
  EXPECT_EQ(silent.status, 1) << silent;
  EXPECT_THAT(silent.errors, AllOf(HasSubstr("192.0.2.77 answers over no transport"), HasSubstr("DoT (port 853)")));
  on_the_machine({"ip", "route", "del", "default"});
  const auto no_route = run(packets({"--only", "do53", "--timeout", "0.3"}, kName, "192.0.2.77"));
  EXPECT_EQ(no_route.status, 1) << no_route;
  EXPECT_THAT(no_route.errors, HasSubstr("unreachable"));
  expect_nothing_left();
}

TEST_F(Elsewhere, ForwardChainThatDropsIsNamed) {
  serve({"--only", "do53"});
  ASSERT_EQ(on_the_machine({"nft", "add table ip wall; add chain ip wall pass { type filter hook forward priority 0; policy drop; }"}).status, 0);
  const auto finished = run(packets({"--only", "do53", "--timeout", "0.5"}));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, AllOf(HasSubstr("nothing came back through the link"), HasSubstr("forward chain")));
}

TEST_F(Elsewhere, OwnAddressOfTheMachineMayBeAskedAtAnyRate) {
  std::unique_ptr<net::ChildProcess> own;
  machine_.run([&] {
    own = test::start_program(test::doxlab({"serve", "--ip", "198.51.100.2", "--only", "dot", "--name", kName, "--write-root", folder_.file("root.pem")}));
  });
  ASSERT_TRUE(own->wait_for("ready\n", test::kProgramLimit)) << own->errors();
  const auto finished = run(packets({"--only", "dot", "--lookups-per-second", "50"}, kName, "198.51.100.2"));
  EXPECT_EQ(finished.status, 0) << finished;
  expect_nothing_left();
}

TEST_F(Elsewhere, DeviceOfAnotherIsNotTouched) {
  // Whoever has the name that a run's device would get keeps it.
  serve({"--only", "do53"});
  auto command = packets({"--only", "do53"});
  command.insert(command.begin(), {"sh", "-c", "ip link add \"doxlab$$\" type veth peer name other && exec \"$0\" \"$@\""});
  const auto finished = run(command);
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("File exists"));
  EXPECT_THAT(devices(), testing::Contains("other"));
}

TEST_F(Elsewhere, MoreThanAGentleRateIsRefused) {
  const auto fast = run(packets({"--lookups-per-second", "50"}));
  EXPECT_EQ(fast.status, 2) << fast;
  EXPECT_THAT(fast.errors, AllOf(HasSubstr("--lookups-per-second 50"), HasSubstr("203.0.113.9"), HasSubstr("--i-operate-this-server")));
  const auto many = run(test::doxlab({"packets", "--server", kName, "--ip", kServer, "-n", "1000"}));
  EXPECT_EQ(many.status, 2) << many;
  EXPECT_THAT(many.errors, AllOf(HasSubstr("6000 lookups"), HasSubstr("--i-operate-this-server")));
}

TEST_F(Elsewhere, WrongUsesAreNamed) {
  const std::pair<test::Command, const char*> mistakes[] = {
      {packets({"--retry", "always"}), "--retry"},
      {packets({"--subject", "nginx"}), "--subject"},
      {packets({"--only", "dnscrypt"}), "dnscrypt"},
      {packets({"--ipv6"}), "--ipv6"},
      {packets({"--doh-path", "dns-query"}), "--doh-path"},
      {packets({}, kName, "127.0.0.1"), "loopback"},
      {packets({}, kName, "somewhere"), "--ip"},
      {test::doxlab({"packets", "--port-dot", "8853"}), "--port-dot: only with --server"},
  };
  for (const auto& [command, named] : mistakes) {
    const auto finished = run(command);
    EXPECT_EQ(finished.status, 2) << finished;
    EXPECT_THAT(finished.errors, HasSubstr(named));
  }
}

TEST_F(Elsewhere, WithoutRootItSaysWhatIsPossible) {
  auto command = packets({});
  command.insert(command.begin(), {"setpriv", "--inh-caps=-all", "--bounding-set=-all"});
  const auto finished = run(command);
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, AllOf(HasSubstr("needs root"), HasSubstr("--subject")));
}

TEST_F(Elsewhere, OverIpv6NeedsAMachineThatForwardsIt) {
  serve({"--only", "do53,doq"});
  const auto refused = run(packets({"--only", "do53"}, kName, kServer6));
  EXPECT_EQ(refused.status, 1) << refused;
  EXPECT_THAT(refused.errors, HasSubstr("net.ipv6.conf.all.forwarding is 0"));
  machine_.run([] { ASSERT_TRUE(net::write_sysctl("net/ipv6/conf/all/forwarding", "1")); });
  const auto finished = run(packets({"--only", "do53,doq"}, kName, kServer6));
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.output, HasSubstr("over IPv6"));
}

/// Until it holds, or far too long.
template <class Condition>
bool eventually(Condition condition) {
  for (const auto end = monotonic_now() + test::kProgramLimit; !condition(); ::usleep(20'000))
    if (monotonic_now() > end) return false;
  return true;
}

class ElsewhereEnded : public Elsewhere, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(By, ElsewhereEnded, testing::Values(SIGKILL, SIGTERM),
                         [](const auto& param) { return std::string(param.param == SIGKILL ? "SIGKILL" : "SIGTERM"); });

TEST_P(ElsewhereEnded, InTheMiddleLeavesNothing) {
  serve({"--only", "do53"});
  // Not in a process namespace, whose end would take everything along.
  auto words = packets({"--only", "do53", "-n", "300"});
  words.erase(std::ranges::find(words, "-n"), std::ranges::find(words, "-n") + 2);
  const auto log = folder_.file("log");
  std::optional<test::Running> running;
  machine_.run([&] { running.emplace(words, log); });
  EXPECT_TRUE(eventually([&] { return on_the_machine({"nft", "list", "ruleset"}).output.contains("masquerade"); })) << folder_.read("log");
  EXPECT_TRUE(eventually([&] { return forwarding() == "1" && devices().size() == 3; }));
  running->kill(GetParam());
  const auto status = running->wait(30s);
  ASSERT_TRUE(status) << "it still runs";
  EXPECT_EQ(*status == 128 + SIGKILL, GetParam() == SIGKILL) << folder_.read("log");
  EXPECT_TRUE(eventually([&] { return devices().size() == 2; }));
  EXPECT_TRUE(eventually([&] { return forwarding() == "0"; }));
  EXPECT_TRUE(eventually([&] { return on_the_machine({"nft", "list", "ruleset"}).output.empty(); }));
  expect_nothing_left();
}

}  // namespace
}  // namespace doxlab
