// Servers that others wrote at the far end of the link: what they cost follows from how they are set, and whatever
// they do, doxlab says what happened and leaves nothing behind.

#include <gmock/gmock.h>

#include <algorithm>
#include <format>
#include <map>

#include "net/netlink.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/running.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

namespace fs = std::filesystem;
using test::Running;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::SizeIs;
using RoundTrips = std::map<std::string, double>;

test::Json run_packets(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"packets", "-n", "2", "--json", folder.file("out.json")});
  const auto finished = test::run_program(test::doxlab(arguments), 120s);
  EXPECT_EQ(finished.status, 0) << finished;
  return test::parse_json(folder.read("out.json"));
}

/// Exactly these transports were measured, each sample with so many round trips.
void expect_round_trips(const test::Json& run, const RoundTrips& expected) {
  EXPECT_EQ(run["results"].get_object().size(), expected.size());
  for (const auto& [transport, trips] : expected) {
    SCOPED_TRACE(transport);
    ASSERT_TRUE(run["results"].contains(transport));
    const auto& result = run["results"][transport];
    EXPECT_EQ(test::number(result, "samples"), 2);
    EXPECT_EQ(test::number(result, "no_answer"), 0);
    for (const auto& sample : result["raw"].get_array()) {
      EXPECT_EQ(test::number(sample, "round_trips"), trips);
      EXPECT_EQ(test::text(sample, "rcode"), "NOERROR");
    }
  }
}

/// Every sample spent about a round trip of 40 ms on this cause, or nothing.
void expect_round_trip_of(const test::Json& run, const std::string& transport, const std::string& cause, bool expected) {
  for (const auto& sample : run["results"][transport]["raw"].get_array()) {
    const auto& causes = sample["causes_ms"];
    std::string all = transport;
    for (const auto& [name, ms] : causes.get_object()) all += std::format(", {} {:.1f} ms", name, ms.get<double>());
    EXPECT_EQ(causes.contains(cause), expected) << cause << ": " << all;
    const double ms = causes.contains(cause) ? test::number(causes, cause) : 0;
    EXPECT_GE(ms, expected ? 40 : 0) << cause << ": " << all;
  }
}

TEST(Subject, NginxWithoutRetryTakesTwoRoundTripsOverQuic) {
  const auto run = run_packets({"--subject", "nginx"});
  expect_round_trips(run, {{"dot", 3}, {"doh", 3}, {"doh3", 2}});
  expect_round_trip_of(run, "doh3", "retry", false);
  expect_round_trip_of(run, "doh3", "quic_handshake", true);
  expect_round_trip_of(run, "doh", "tls_handshake", true);
  EXPECT_EQ(test::text(run["endpoints"], "subject"), "nginx");
  EXPECT_THAT(test::text(run["endpoints"], "subject_version"), testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_THAT(run["endpoints"]["not_offered"].get_array(), SizeIs(5));
}

TEST(Subject, NginxWithRetryTakesOneMore) {
  const auto run = run_packets({"--subject", "nginx", "--only", "doh3", "--retry", "always"});
  expect_round_trips(run, {{"doh3", 3}});
  expect_round_trip_of(run, "doh3", "retry", true);
  for (const auto& sample : run["results"]["doh3"]["raw"].get_array()) EXPECT_TRUE(sample["retry"].get<bool>());
}

TEST(Subject, NginxStandsAtThreeTimesAClassicalClientHello) {
  const std::vector<std::string> common{"--subject", "nginx", "--only", "doh3", "--group", "X25519"};
  const auto published = run_packets(common);
  expect_round_trips(published, {{"doh3", 3}});
  expect_round_trip_of(published, "doh3", "amplification_limit", true);
  auto small = common;
  small.insert(small.end(), {"--chain-bytes", "1200"});
  const auto fits = run_packets(small);
  expect_round_trips(fits, {{"doh3", 2}});
  expect_round_trip_of(fits, "doh3", "amplification_limit", false);
}

TEST(Subject, KnotStandsAtThreeTimesAClassicalClientHello) {
  const auto published = run_packets({"--subject", "knot", "--only", "do53,do53-tcp,doq", "--group", "X25519"});
  expect_round_trips(published, {{"do53", 1}, {"do53-tcp", 2}, {"doq", 3}});
  expect_round_trip_of(published, "doq", "amplification_limit", true);
  const auto fits = run_packets({"--subject", "knot", "--only", "doq", "--group", "X25519", "--chain-bytes", "1200"});
  expect_round_trips(fits, {{"doq", 2}});
  expect_round_trip_of(fits, "doq", "amplification_limit", false);
}

TEST(Subject, UnboundNeedsAnotherRoundTripBeyondTheFirstWindow) {
  const auto published = run_packets({"--subject", "unbound"});
  expect_round_trips(published, {{"do53", 1}, {"do53-tcp", 2}, {"dot", 3}, {"doh", 3}});
  expect_round_trip_of(published, "dot", "congestion_window", false);
  const auto beyond = run_packets({"--subject", "unbound", "--only", "dot,doh", "--chain-bytes", "20000"});
  expect_round_trips(beyond, {{"dot", 4}, {"doh", 4}});
  for (const auto* transport : {"dot", "doh"}) expect_round_trip_of(beyond, transport, "congestion_window", true);
}

TEST(Subject, DnsdistTakesTheRoundTripsOfTheProtocols) {
  const auto run = run_packets({"--subject", "dnsdist"});
  expect_round_trips(run, {{"do53", 1}, {"do53-tcp", 2}, {"dot", 3}, {"doh", 3}});
  expect_round_trip_of(run, "dot", "tls_handshake", true);
}

TEST(Subject, BindTakesTheRoundTripsOfTheProtocols) {
  const auto run = run_packets({"--subject", "bind"});
  expect_round_trips(run, {{"do53", 1}, {"do53-tcp", 2}, {"dot", 3}, {"doh", 3}});
  const auto beyond = run_packets({"--subject", "bind", "--only", "dot", "--chain-bytes", "20000"});
  expect_round_trips(beyond, {{"dot", 4}});
  expect_round_trip_of(beyond, "dot", "congestion_window", true);
}

TEST(Subject, CaddySendsSettingsWithItsHandshake) {
  const auto run = run_packets({"--subject", "caddy"});
  expect_round_trips(run, {{"doh", 3}, {"doh3", 2}});
  expect_round_trip_of(run, "doh3", "quic_handshake", true);
  expect_round_trip_of(run, "doh3", "query", true);
}

/// The file of a subject that is built in.
std::string built_in(const std::string& name) {
  std::ifstream in(std::format("{}/subjects/{}.toml", DOXLAB_SOURCE_DIR, name));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error(std::format("no '{}' to replace", from));
  return text.replace(at, from.size(), to);
}

TEST(Subject, TransportThatItDoesNotOfferIsSaid) {
  const auto asked = test::run_program(test::doxlab({"packets", "--subject", "unbound", "--only", "dot,doq"}));
  EXPECT_EQ(asked.status, 2) << asked;
  EXPECT_THAT(asked.errors, AllOf(HasSubstr("--only: doq is not offered by unbound/"), HasSubstr("do53, do53-tcp, dot, doh")));
}

TEST(Subject, TransportThatTheInstalledBuildLacksIsSaid) {
  // The packages of Debian 13 are built without QUIC.
  const test::TemporaryFolder folder;
  const auto path = folder.write("with-doq.toml", replaced(replaced(built_in("dnsdist"), "doh = 443", "doh = 443\ndoq = 853"),
                                                           "newServer", "addDOQLocal(\"{{host}}:853\", \"{{chain_file}}\", "
                                                                        "\"{{key_file}}\")\nnewServer"));
  const auto finished = test::run_program(test::doxlab({"packets", "--subject", path, "--only", "doq"}));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, AllOf(HasSubstr("dnsdist/"), HasSubstr("addDOQLocal")));
}

/// What a run may have left: by the mark that its server's processes carry, and by where it could have left it.
class Surroundings {
 public:
  explicit Surroundings(const test::TemporaryFolder& folder) : mark_("mark-of-" + fs::path(folder.path()).filename().string()) {}

  const std::string& mark() const { return mark_; }

  /// Soon after its end, however it ended, all is as it was.
  void expect_unchanged() const {
    for (const auto end = monotonic_now() + 20s; !marked_processes().empty() && monotonic_now() < end;) ::usleep(20'000);
    EXPECT_THAT(marked_processes(), IsEmpty());
    EXPECT_EQ(folders(), folders_);
    EXPECT_EQ(mounts(), mounts_);
    EXPECT_EQ(net::device_names(), devices_);
    // What a killed doxlab had started is ours, and dead.
    pid_t child = 0;
    for (const auto end = monotonic_now() + 20s; (child = ::waitpid(-1, nullptr, WNOHANG)) >= 0 && monotonic_now() < end;) ::usleep(5'000);
    EXPECT_EQ(child, -1) << "a child was left to us";
  }

 private:
  std::vector<std::string> marked_processes() const {
    std::vector<std::string> out;
    for (const auto& process : test::processes())
      for (const auto* file : {"cmdline", "environ"}) {
        std::ifstream in(process / file, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        if (text.contains(mark_)) out.push_back(text);
      }
    return out;
  }
  static std::set<fs::path> folders() {
    std::set<fs::path> out;
    for (const auto* folder : {"/tmp", "/dev/shm", "/mnt"})
      for (const auto& entry : test::entries(folder))
        if (const auto name = entry.filename().string(); name.starts_with("doxlab-program-")) out.insert(entry);
    return out;
  }
  static std::string mounts() {
    std::ifstream in("/proc/self/mounts");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string mark_;
  std::set<fs::path> folders_ = folders();
  std::string mounts_ = mounts();
  std::vector<std::string> devices_ = net::device_names();
};

/// A subject file whose program is a shell script.
std::string scripted_subject(const std::string& name, const std::string& script, const std::string& mark,
                             const std::string& more = "") {
  return std::format("name = \"{}\"\ncommand = [\"sh\", \"-c\", '''{}''', \"{}\"]\n{}\n[ports]\ndo53 = 53\n", name, script, mark, more);
}

/// knotd as the last of a script's commands, or beside them.
std::string knot_within(const std::string& script, const std::string& mark) {
  return replaced(built_in("knot"), "command = [\"knotd\", \"-c\", \"{{folder}}/knot.conf\"]",
                  std::format("command = [\"sh\", \"-c\", '''export MARK={}; {}''', \"{}\"]", mark, script, mark));
}
constexpr const char* kKnot = "knotd -c {{folder}}/knot.conf";

struct Failing {
  const char *name, *script, *more;
  std::vector<std::string> said;
};

TEST(SubjectThatFails, IsToldWithTheEndOfItsLogAndLeavesNothing) {
  const Failing cases[] = {
      {"never-ready", "echo waits for a licence >&2; exec sleep 1000", "",
       {"never-ready does not answer over Do53 within 20 s", "waits for a licence"}},
      {"fails", "echo cannot read the key >&2; exit 3", "", {"fails has ended: exit code 3", "cannot read the key"}},
      {"crashes", "kill -SEGV $$", "", {"crashes has ended: signal 11 (Segmentation fault); it wrote nothing"}},
      {"goes-away", "sleep 1000 & exit 0", "", {"goes-away has ended: exit code 0; it wrote nothing"}},
      {"binary", "head -c 300000 /dev/urandom; exit 4", "", {"binary has ended: exit code 4; the last that it wrote:"}},
      {"endless", "exec cat /dev/urandom", "", {"endless does not answer over Do53 within 20 s", "the last that it wrote:"}},
      {"long-line", "head -c 3000000 /dev/zero | tr '\\0' x; exit 5", "", {"exit code 5", "xxxxx..."}},
      {"endless-version", "exit 6", "version = [\"cat\", \"/dev/zero\"]", {"endless-version has ended: exit code 6"}},
      {"no-version", "exit 7", "version = [\"false\"]", {"no-version has ended: exit code 7"}},
  };
  const test::TemporaryFolder folder;
  const Surroundings surroundings(folder);
  // Those that wait do so at the same time.
  std::vector<std::unique_ptr<Running>> runs;
  for (const auto& one : cases)
    runs.push_back(std::make_unique<Running>(
        test::doxlab({"packets", "-n", "1", "--subject",
                      folder.write(std::format("{}.toml", one.name), scripted_subject(one.name, one.script, surroundings.mark(), one.more))}),
        folder.file(one.name)));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i]->wait(test::kProgramLimit), 1) << cases[i].name;
    const auto log = folder.read(cases[i].name);
    for (const auto& said : cases[i].said) EXPECT_THAT(log, HasSubstr(said));
    EXPECT_THAT(log, SizeIs(Le(3000u))) << cases[i].name;
    EXPECT_TRUE(std::ranges::all_of(log, [](char c) { return c == '\n' || c == '\t' || (c >= ' ' && c <= '~'); })) << cases[i].name;
  }
  runs.clear();
  surroundings.expect_unchanged();
}

TEST(SubjectThatFails, ProgramThatIsNotThereIsNamedWithItsPackage) {
  const test::TemporaryFolder folder;
  const auto path = folder.write(
      "mine.toml", "name = \"mine\"\npackage = \"mine-server\"\ncommand = [\"no-program-of-this-name\"]\n[ports]\ndo53 = 53\n");
  const auto finished = test::run_program(test::doxlab({"packets", "-n", "1", "--subject", path}));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, AllOf(HasSubstr("the program no-program-of-this-name is not on this machine"),
                                     HasSubstr("Debian package mine-server")));
}

TEST(SubjectThatFails, IsNotedInTheMiddleOfARun) {
  const test::TemporaryFolder folder;
  const Surroundings surroundings(folder);
  const auto path = folder.write(
      "mine.toml", knot_within(std::format("{} & while ! [ -e {} ]; do sleep 0.05; done; echo out of luck >&2; kill -SEGV $$", kKnot,
                                           folder.file("crash")),
                               surroundings.mark()));
  // Its port refuses at once what comes afterwards, so that lookups keep coming back.
  Running run(test::doxlab({"packets", "-n", "800", "--only", "do53-tcp", "--subject", path, "--json", folder.file("out.json")}),
              folder.file("log"));
  ASSERT_TRUE(test::is_in_the_middle(run)) << folder.read("log");
  folder.write("crash", "");
  EXPECT_EQ(run.wait(test::kProgramLimit), 1) << folder.read("log");
  EXPECT_THAT(folder.read("log"), AllOf(HasSubstr("has ended: signal 11 (Segmentation fault)"), HasSubstr("out of luck")));
  EXPECT_FALSE(fs::exists(folder.file("out.json")));
  surroundings.expect_unchanged();
}

TEST(SubjectThatMisbehaves, IsMeasuredAndEnded) {
  const test::TemporaryFolder folder;
  const Surroundings surroundings(folder);
  const std::pair<const char*, std::string> cases[] = {
      {"ignores SIGTERM", std::format("trap '' TERM; {} & while :; do sleep 1; done", kKnot)},
      {"chatters", std::format("while :; do head -c 100000 /dev/urandom; sleep 0.02; done & exec {}", kKnot)},
  };
  for (const auto& [what, script] : cases) {
    SCOPED_TRACE(what);
    const auto path = folder.write("mine.toml", knot_within(script, surroundings.mark()));
    expect_round_trips(run_packets({"--subject", path, "--only", "do53,do53-tcp"}), {{"do53", 1}, {"do53-tcp", 2}});
    surroundings.expect_unchanged();
  }
}

class Stopped : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(By, Stopped, testing::Values(SIGINT, SIGKILL),
                         [](const auto& signal) { return std::string(signal.param == SIGINT ? "SIGINT" : "SIGKILL"); });

TEST_P(Stopped, LeavesNothingOfTheServer) {
  const test::TemporaryFolder folder;
  const Surroundings surroundings(folder);
  const auto own_namespace = test::link_target("/proc/self/ns/net");
  const auto path = folder.write("mine.toml", replaced(built_in("nginx"), "command = [\"nginx\"",
                                                       std::format("command = [\"env\", \"MARK={}\", \"nginx\"", surroundings.mark())));
  Running run(test::doxlab({"packets", "-n", "400", "--subject", path, "--json", folder.file("out.json")}), folder.file("log"));
  ASSERT_TRUE(test::is_in_the_middle(run)) << folder.read("log");
  auto namespaces = test::network_namespaces_of(run.process());
  namespaces.erase(own_namespace);
  EXPECT_GE(namespaces.size(), 2u);
  run.kill(GetParam());
  EXPECT_EQ(run.wait(test::kProgramLimit), GetParam() == SIGINT ? 130 : 128 + SIGKILL) << folder.read("log");
  surroundings.expect_unchanged();
  const auto there = test::processes();
  for (const auto end = monotonic_now() + 20s; test::is_held(namespaces, there) && monotonic_now() < end;) ::usleep(20'000);
  EXPECT_FALSE(test::is_held(namespaces, there)) << "its ports are free with its namespace";
  EXPECT_EQ(fs::exists(folder.file("out.json")), GetParam() == SIGINT);
}

}  // namespace
}  // namespace doxlab
