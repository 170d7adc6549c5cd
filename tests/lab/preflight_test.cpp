// `doxlab preflight`: every prerequisite that can be taken away is, and what is said of it is read.

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "experiment/packet_checks.hpp"
#include "results/schema.hpp"
#include "transport/transport.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Report {
  test::Finished finished;
  test::Json json;
  std::map<std::string, std::string> status, text;  ///< by name; text: found, why and action
};

/// Runs it, perhaps through a program that takes something away first.
Report preflight(std::vector<std::string> arguments, test::Command through = {}) {
  arguments.insert(arguments.begin(), "preflight");
  arguments.insert(arguments.end(), {"--json", "-"});
  for (auto& word : test::doxlab(arguments)) through.push_back(word);
  Report out;
  out.finished = test::run_program(through);
  out.json = test::parse_json(out.finished.output);
  for (const auto& check : out.json["checks"].get_array()) {
    const auto name = test::text(check, "name");
    out.status[name] = test::text(check, "status");
    out.text[name] = test::text(check, "found") + " | " + test::text(check, "why") + " | " + test::text(check, "action");
  }
  return out;
}

/// How busy the machine is may make these speak.
bool depends_on_the_moment(const std::string& name) { return name == "processors" || name == "timers" || name == "precision"; }

void expect_failed(const Report& report, const std::string& name) {
  EXPECT_EQ(report.finished.status, 1) << report.finished;
  EXPECT_FALSE(report.json["passes"].get<bool>());
  EXPECT_EQ(report.status.at(name), "failed") << report.finished;
  for (const auto& [other, status] : report.status) {
    if (other == name || depends_on_the_moment(other)) continue;
    EXPECT_NE(status, "failed") << other << "\n" << report.finished;
  }
}

TEST(Preflight, OfAMachineThatCanMeasureIsOk) {
  const auto report = preflight({});
  for (const auto& [name, status] : report.status) {
    if (depends_on_the_moment(name)) continue;
    EXPECT_THAT(status, testing::AnyOf("ok", "warning")) << name << "\n" << report.finished;
  }
  for (const auto t : kAllTransports) {
    const auto name = "transport " + std::string(to_string(t));
    ASSERT_TRUE(report.status.contains(name)) << name;
    EXPECT_EQ(report.status.at(name), "ok");
    EXPECT_THAT(report.text.at(name), HasSubstr("5 of 5 lookups answered, NOERROR"));
  }
  EXPECT_THAT(report.text.at("recorder"), ContainsRegex("the link saw [0-9]+ packets of the client, its kernel sent [0-9]+"));
  EXPECT_TRUE(report.json["complete"].get<bool>());
  EXPECT_EQ(report.json["passes"].get<bool>(), report.finished.status == 0);
  // Without JSON on standard output, the text is there.
  const auto text = test::run_program(test::doxlab({"preflight", "--only", "do53", "-n", "2"}));
  EXPECT_THAT(text.output, AllOf(HasSubstr("transport do53"), HasSubstr("2 of 2 lookups answered"), HasSubstr(" ok")));
}

TEST(Preflight, WithLossAskedForChecksWithoutIt) {
  const auto report = preflight({"--loss", "100", "--only", "do53"});
  EXPECT_EQ(report.status.at("transport do53"), "ok") << report.finished;
}

TEST(Preflight, WithoutTheTunDeviceSaysWhereItComesFrom) {
  const auto report = preflight({}, {"unshare", "--mount", "--propagation", "private", "sh", "-c",
                                     "mount -t tmpfs nothing /dev/net && exec \"$0\" \"$@\""});
  expect_failed(report, "tun");
  EXPECT_THAT(report.text.at("tun"), AllOf(HasSubstr("/dev/net/tun does not exist"), HasSubstr("modprobe tun"), HasSubstr("--device")));
  EXPECT_EQ(report.status.at("transport doq"), "skipped");
  EXPECT_THAT(report.text.at("transport doq"), HasSubstr("needs tun"));
}

/// In a user namespace of our own limits can be set without the machine noticing.
Report preflight_in_user_namespace(const std::string& script) {
  return preflight({"--only", "do53"}, {"unshare", "--user", "--map-root-user", "sh", "-c", script});
}

TEST(Preflight, WithoutUserNamespacesNamesTheSetting) {
  const auto report = preflight_in_user_namespace(
      "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all \"$0\" \"$@\"");
  expect_failed(report, "privileges");
  EXPECT_THAT(report.text.at("privileges"),
              AllOf(HasSubstr("user.max_user_namespaces is 0"), HasSubstr("run as root, or sysctl -w user.max_user_namespaces=")));
  EXPECT_EQ(report.status.at("namespaces"), "skipped");
}

TEST(Preflight, WithoutRoomForNetworkNamespacesNamesTheSetting) {
  const auto report = preflight_in_user_namespace("echo 1 > /proc/sys/user/max_net_namespaces && exec \"$0\" \"$@\"");
  expect_failed(report, "namespaces");
  EXPECT_THAT(report.text.at("namespaces"), AllOf(HasSubstr("user.max_net_namespaces is 1"), HasSubstr("sysctl -w user.max_net_namespaces=")));
}

TEST(Preflight, PathTooNarrowForQuicIsTold) {
  const auto report = preflight({"--path-mtu", "1200", "--only", "doq"});
  expect_failed(report, "mtu IPv4");
  EXPECT_THAT(report.text.at("mtu IPv4"), AllOf(HasSubstr("1260 bytes of IP"), HasSubstr("--path-mtu"), HasSubstr("QUIC")));
  EXPECT_EQ(report.status.at("mtu IPv6"), "warning") << "IPv6 is not what is asked for";
}

TEST(Preflight, PathThatLosesFullSegmentsIsAWarning) {
  const auto report = preflight({"--path-mtu", "1400", "--only", "doq,do53"});
  EXPECT_EQ(report.status.at("mtu IPv4"), "warning") << report.finished;
  EXPECT_THAT(report.text.at("mtu IPv4"), AllOf(HasSubstr("1500 bytes of IP"), HasSubstr("full TCP segments vanish")));
  EXPECT_EQ(report.status.at("transport doq"), "ok") << report.finished;
}

TEST(Preflight, SubjectThatIsUnknownOrCannotStartIsTheServersFailure) {
  const auto unknown = preflight({"--subject", "apache"});
  expect_failed(unknown, "server");
  EXPECT_THAT(unknown.text.at("server"), AllOf(HasSubstr("no subject named 'apache'"), HasSubstr("nginx"), HasSubstr("--subject")));
  EXPECT_EQ(unknown.status.at("packets IPv4"), "ok") << "the machine is checked all the same";

  const test::TemporaryFolder folder;
  const auto broken = folder.write("broken.toml", "name = \"broken\"\ncommand = [\"/bin/sh\", \"-c\", \"echo port taken >&2; exit 3\"]\nports = { do53 = 53 }\n");
  const auto ended = preflight({"--subject", broken});
  expect_failed(ended, "server");
  EXPECT_THAT(ended.text.at("server"), AllOf(HasSubstr("broken has ended"), HasSubstr("port taken")));
}

TEST(Preflight, ServerOfOthersIsCheckedOnWhatItOffers) {
  const auto report = preflight({"--subject", "nginx", "-n", "2"});
  EXPECT_THAT(report.text.at("server"), HasSubstr("nginx"));
  EXPECT_EQ(report.status.at("transport dot"), "ok") << report.finished;
  EXPECT_FALSE(report.status.contains("transport do53")) << "nginx does not offer it";
}

TEST(Preflight, ClientAndServerWithoutACommonGroupAreNamed) {
  const auto report = preflight({"--only", "dot", "--group", "X25519", "--server-group", "secp256r1"});
  expect_failed(report, "transport dot");
  EXPECT_THAT(report.text.at("transport dot"), AllOf(HasSubstr("0 of 5 lookups answered"), HasSubstr("handshake failed"), HasSubstr("doxlab explain")));
}

TEST(Preflight, NameThatIsRefusedIsAWarning) {
  const auto report = preflight({"--only", "do53", "--qname", "elsewhere.invalid"});
  EXPECT_EQ(report.status.at("transport do53"), "warning") << report.finished;
  EXPECT_THAT(report.text.at("transport do53"), HasSubstr("REFUSED"));
}

TEST(Preflight, WrongUsageIs2) {
  EXPECT_EQ(test::run_program(test::doxlab({"preflight", "--only", "smoke-signals"})).status, 2);
  EXPECT_EQ(test::run_program(test::doxlab({"preflight", "--mtu", "1280", "--datagram-bytes", "1400"})).status, 2);
  const auto help = test::run_program(test::doxlab({"preflight", "--help"}));
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
}

class PacketChecks : public testing::Test {
 protected:
  lab::Lab lab_{{.impairments = {.one_way_delay = 1ms}}};

  void in(lab::Side side, const std::string& rules) {
    lab_.run_in(side, [&] {
      const auto finished = test::run_program({"nft", rules});
      ASSERT_EQ(finished.status, 0) << finished;
    });
  }
  static void expect_lost(const std::vector<results::PreflightCheck>& checks, const std::string& what) {
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(checks[0].status, "failed");
    EXPECT_THAT(checks[0].found, HasSubstr(what));
    EXPECT_THAT(checks[0].action, HasSubstr("packet filter"));
    EXPECT_EQ(checks[1].status, "skipped");
  }
};

TEST_F(PacketChecks, PassOnALinkThatLosesNothing) {
  for (const bool ipv6 : {false, true})
    for (const auto& check : experiment::check_packets(lab_, ipv6, 1232)) EXPECT_EQ(check.status, "ok") << check.name << ": " << check.found;
}

constexpr const char* kDropInput = "add table inet wall; add chain inet wall in { type filter hook input priority 0; policy drop; }";

TEST_F(PacketChecks, FilterOnWhatComesInIsFoundOnTheSideThatHasIt) {
  in(lab::Side::Server, kDropInput);
  expect_lost(experiment::check_packets(lab_, false, 1232), "client to server: the link delivered it, and something in the server's namespace drops");
  expect_lost(experiment::check_packets(lab_, true, 1232), "client to server: the link delivered it");
}

TEST_F(PacketChecks, FilterOnTheWayBackIsTold) {
  in(lab::Side::Client, kDropInput);
  expect_lost(experiment::check_packets(lab_, false, 1232), "server to client: the link delivered it, and something in the client's namespace drops");
}

TEST_F(PacketChecks, FilterOnWhatIsSentIsTold) {
  in(lab::Side::Client, "add table inet wall; add chain inet wall out { type filter hook output priority 0; policy drop; }");
  expect_lost(experiment::check_packets(lab_, false, 1232), "the client's namespace forbids sending it (Operation not permitted)");
}

TEST_F(PacketChecks, FilterOfTcpAloneIsTold) {
  in(lab::Side::Server, "add table inet wall; add chain inet wall in { type filter hook input priority 0; }; add rule inet wall in meta l4proto tcp drop");
  expect_lost(experiment::check_packets(lab_, false, 1232), "TCP connection: the link delivered it");
}

TEST(PreflightSchema, HoldsForWhatIsWritten) {
  const test::TemporaryFolder folder;
  folder.write("schema", results::json_schema("preflight"));
  ASSERT_NE(results::json_schema("preflight"), "");
  const auto written = test::run_program(test::doxlab({"preflight", "--only", "do53", "--json", folder.file("out")}));
  const auto validated = test::run_program({"python3", "-c",
                                            "import json, sys, jsonschema\n"
                                            "schema, document = (json.load(open(p)) for p in sys.argv[1:])\n"
                                            "jsonschema.Draft202012Validator.check_schema(schema)\n"
                                            "jsonschema.Draft202012Validator(schema).validate(document)\n"
                                            "print('valid')",
                                            folder.file("schema"), folder.file("out")});
  EXPECT_EQ(validated.output, "valid\n") << validated << written;
}

}  // namespace
}  // namespace doxlab
