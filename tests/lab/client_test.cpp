// Clients that others wrote, behind the link: what their lookups cost follows from the protocols and from how they are made, and
// whatever they do, doxlab says what happened and leaves nothing behind.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <format>
#include <future>
#include <map>

#include "experiment/rig.hpp"
#include "net/file_descriptor.hpp"
#include "resolver/resolver.hpp"
#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/running.hpp"
#include "support/temporary_folder.hpp"
#include "trace/critical_path.hpp"

namespace doxlab {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Measured {
  int status = 0;
  std::string text, errors;
  test::Json json;
};

Measured measure(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.end(), {"-n", "1", "--json", folder.file("out.json")});
  const auto finished = test::run_program(test::doxlab(arguments), 120s);
  Measured out{.status = finished.status, .text = finished.output, .errors = finished.errors, .json = {}};
  if (std::filesystem::exists(folder.file("out.json"))) out.json = test::parse_json(folder.read("out.json"));
  return out;
}

const test::Json& only_sample(const Measured& run, std::string_view transport) {
  return run.json["results"][transport]["raw"].get_array().at(0);
}

/// The sample of each transport took so many round trips, and its causes and its ledger sum to its time and bytes.
void expect_round_trips(const Measured& run, const std::map<std::string, double>& expected) {
  ASSERT_EQ(run.status, 0) << run.text << run.errors;
  EXPECT_EQ(run.json["results"].get_object().size(), expected.size());
  for (const auto& [transport, trips] : expected) {
    SCOPED_TRACE(transport);
    ASSERT_TRUE(run.json["results"].contains(transport));
    const auto& sample = only_sample(run, transport);
    EXPECT_EQ(test::text(sample, "outcome"), "answered");
    EXPECT_EQ(test::text(sample, "rcode"), "NOERROR");
    EXPECT_EQ(test::number(sample, "round_trips"), trips);
    double causes = 0, bytes = 0;
    for (const auto& [cause, ms] : sample["causes_ms"].get_object()) causes += ms.get<double>();
    for (const auto& [owner, owned] : sample["ledger"].get_object()) bytes += test::number(owned, "c2s") + test::number(owned, "s2c");
    EXPECT_NEAR(causes, test::number(sample, "ms"), 1e-3);
    EXPECT_EQ(bytes, test::number(sample, "bytes_c2s") + test::number(sample, "bytes_s2c"));
    // Transit alone takes 40 ms a round trip.
    EXPECT_GE(test::number(sample, "ms"), 40 * trips);
  }
}

bool has_cause(const Measured& run, const std::string& transport, const std::string& cause) {
  return only_sample(run, transport)["causes_ms"].contains(cause);
}

TEST(Client, KdigTakesTheRoundTripsOfTheProtocols) {
  const auto run = measure({"packets", "--client", "kdig"});
  expect_round_trips(run, {{"do53", 1}, {"do53-tcp", 2}, {"dot", 3}, {"doh", 3}, {"doq", 3}});
  EXPECT_TRUE(has_cause(run, "do53-tcp", "tcp_handshake"));
  EXPECT_TRUE(has_cause(run, "dot", "tls_handshake"));
  EXPECT_TRUE(has_cause(run, "doh", "query"));
  // Its ClientHello fits one datagram of 1,200 octets, and the chain does not fit three of them.
  EXPECT_TRUE(has_cause(run, "doq", "amplification_limit"));
  EXPECT_EQ(test::text(only_sample(run, "dot"), "group"), "x25519");
  const auto& client = run.json["endpoints"]["client"];
  EXPECT_EQ(test::text(client, "name"), "kdig");
  EXPECT_THAT(test::text(client, "version"), testing::MatchesRegex("[0-9]+[.][0-9.]+"));
  EXPECT_THAT(run.text, AllOf(HasSubstr("Client: kdig 3"), HasSubstr("it does not ask over dnscrypt, dnscrypt-tcp, doh3"),
                              HasSubstr("Times start at the first packet")));
}

TEST(Client, KdigOverQuicNeedsNoMoreWithASmallChain) {
  const auto run = measure({"packets", "--client", "kdig", "--only", "doq", "--chain-bytes", "1200"});
  expect_round_trips(run, {{"doq", 2}});
  EXPECT_FALSE(has_cause(run, "doq", "amplification_limit"));
}

TEST(Client, DigTakesTheRoundTripsOfTheProtocols) {
  expect_round_trips(measure({"packets", "--client", "dig", "--only", "do53,dot,doh"}), {{"do53", 1}, {"dot", 3}, {"doh", 3}});
}

TEST(Client, DigIsDecryptedAlthoughItLogsItsSecretsAmongOtherWords) {
  expect_round_trips(measure({"packets", "--client", "dig", "--subject", "nginx", "--only", "dot,doh"}), {{"dot", 3}, {"doh", 3}});
}

TEST(Client, CurlTakesTheRoundTripsOfHttp) {
  const auto run = measure({"packets", "--client", "curl"});
  expect_round_trips(run, {{"doh", 3}, {"doh3", 2}});
  EXPECT_TRUE(has_cause(run, "doh3", "quic_handshake"));
}

TEST(Client, CurlIsDecryptedInFrontOfAServerWhoseSecretsAreNotOurs) {
  const auto run = measure({"packets", "--client", "curl", "--subject", "nginx", "--only", "doh"});
  expect_round_trips(run, {{"doh", 3}});
  EXPECT_EQ(test::text(run.json["endpoints"], "subject"), "nginx");
}

TEST(Client, DnscryptProxyAsksWithWhatItFetchedAtItsStart) {
  const auto run = measure({"packets", "--client", "dnscrypt-proxy"});
  expect_round_trips(run, {{"dnscrypt", 1}, {"doh", 1}});
  // The certificate, in plain DNS from a socket of its own.
  ASSERT_TRUE(only_sample(run, "dnscrypt").contains("other_flows"));
  const auto flows = only_sample(run, "dnscrypt")["other_flows"].get_array();
  for (const auto& flow : flows) {
    EXPECT_EQ(test::text(flow, "server"), "10.66.0.1:5443");
    EXPECT_GT(test::number(flow, "pkts_s2c"), 0);
  }
  EXPECT_THAT(run.text, HasSubstr("DNSCrypt: beside 1 of its lookups the client had other flows"));
}

TEST(Client, CommandIsMeasuredOverTheTransportThatItIsSeenToUse) {
  const auto run = measure({"packets", "--client", "kdig @{{server}} +tls-ca={{roots}} +tls-hostname={{name}} {{qname}} {{qtype}}"});
  expect_round_trips(run, {{"dot", 3}});
  EXPECT_THAT(test::text(run.json["endpoints"]["client"], "command"), HasSubstr("kdig @{{server}}"));
}

TEST(Client, TruncatedAnswerIsAskedForAgainOverTcp) {
  const auto run = measure({"packets", "--client", "kdig", "--only", "do53", "--qname", "big.example.com", "--qtype", "TXT"});
  expect_round_trips(run, {{"do53", 3}});
  EXPECT_TRUE(only_sample(run, "do53")["tcp_fallback"].get<bool>());
  EXPECT_TRUE(has_cause(run, "do53", "truncation"));
}

TEST(Client, ScriptedLossHitsThePacketOfThatNumber) {
  const auto run = measure({"loss", "--loss", "0", "--drop", "c2s/0", "--client", "kdig", "--only", "dot"});
  ASSERT_EQ(run.status, 0) << run.text << run.errors;
  const auto& sample = run.json["samples"].get_array().at(0);
  EXPECT_EQ(test::text(sample, "outcome"), "answered");
  ASSERT_EQ(sample["lost_c2s"].get_array().size(), 1U);
  EXPECT_EQ(sample["lost_c2s"].get_array()[0].get<double>(), 0);
  EXPECT_TRUE(sample["lost_s2c"].get_array().empty());
  // The SYN, which is sent again after a second.
  EXPECT_GE(test::number(sample["causes_ms"], "syn_retransmission"), 900);
  EXPECT_EQ(test::text(run.json["options"], "client"), "kdig");

  const auto other = measure({"loss", "--loss", "0", "--drop", "s2c/1", "--client", "kdig", "--only", "do53-tcp"});
  const auto& second = other.json["samples"].get_array().at(0);
  ASSERT_EQ(second["lost_s2c"].get_array().size(), 1U);
  EXPECT_EQ(second["lost_s2c"].get_array()[0].get<double>(), 1);
  EXPECT_EQ(test::text(second, "outcome"), "answered");
}

TEST(Client, PacketsOfItsFlowsAreAllThatCrossedTheLink) {
  experiment::Setup setup;
  setup.transports = {Transport::Do53, Transport::Dot, Transport::Doq};
  experiment::choose_client(setup, "kdig");
  experiment::Rig rig(setup);
  using link::Direction;
  const auto volume = [&] { return std::pair(rig.lab().volume(Direction::ToServer), rig.lab().volume(Direction::ToClient)); };
  const auto before = volume();
  std::uint64_t bytes = 0, packets = 0, beside = 0;
  const experiment::Task tasks[] = {{Transport::Do53, 0}, {Transport::Dot, 0}, {Transport::Doq, 0}};
  ASSERT_TRUE(rig.run(tasks, {}, [&](experiment::Sample&& sample) {
    EXPECT_EQ(sample.result.outcome, client::Outcome::Answered) << sample.result.reason;
    EXPECT_EQ(sample.packets.front().sent, sample.result.started);
    std::array<std::uint64_t, 2> next{0, 0};
    for (const auto& packet : sample.packets) {
      EXPECT_EQ(packet.place.sample, 0U);
      EXPECT_EQ(packet.place.index, next[static_cast<std::size_t>(packet.place.direction)]++);
    }
    for (const auto* part : {&sample.opening, &sample.packets, &sample.beside})
      for (const auto& packet : *part) bytes += packet.bytes.size(), ++packets;
    beside += sample.beside.size();
  }, {}));
  const auto after = volume();
  EXPECT_EQ(bytes, after.first.ip_bytes - before.first.ip_bytes + after.second.ip_bytes - before.second.ip_bytes);
  EXPECT_EQ(packets, after.first.packets - before.first.packets + after.second.packets - before.second.packets);
  EXPECT_EQ(beside, 0U);
}

// What goes wrong.

TEST(Client, ProgramThatComplainsIsQuoted) {
  const auto run = measure({"packets", "--client", "curl -sS https://{{name}}{{doh_path}}", "--only", "doh"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.text, AllOf(HasSubstr("failed: it ended without an answer on the wire: exit code 60"), HasSubstr("curl: (60) SSL certificate")));
}

TEST(Client, ProgramThatSendsNothingIsSaidToHaveSentNothing) {
  const auto run = measure({"packets", "--client", "echo {{qname}}; exit 3", "--only", "do53"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.text, AllOf(HasSubstr("exit code 3"), HasSubstr("example.com"), HasSubstr("it sent nothing to the server")));
  // Without --only nothing tells what it would have asked over.
  const auto unknown = measure({"packets", "--client", "true {{qname}}"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("nothing was sent to the server over any transport"));
}

/// Processes with this word on their command lines.
std::size_t count_processes(const std::string& word) {
  std::size_t count = 0;
  for (const auto& process : test::processes()) {
    std::ifstream in(process / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(in), {});
    count += line.contains(word);
  }
  return count;
}

TEST(Client, ProgramThatHangsAndIgnoresSignalsIsKilledWithAllItStarted) {
  const auto run = measure({"packets", "--only", "do53", "--timeout", "0.5", "--client",
                            "trap '' TERM HUP INT; kdig @{{server}} -p 54 +retry=0 +timeout=1 {{qname}}; sleep 71117 & sleep 71117"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.text, HasSubstr("timed out: no answer in 0.5 s; killed"));
  EXPECT_EQ(count_processes("71117"), 0U);
}

TEST(Client, DaemonThatIsLeftBehindEndsWithTheExecution) {
  const auto run = measure({"packets", "--only", "do53", "--client", "setsid sh -c 'sleep 72227; echo {{qname}}' > /dev/null 2>&1 & exit 0"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.text, AllOf(HasSubstr("exit code 0"), HasSubstr("it sent nothing")));
  EXPECT_EQ(count_processes("72227"), 0U);
}

TEST(Client, AnsweredLookupCountsAlthoughTheProgramHangsAfterwards) {
  const auto run = measure({"packets", "--only", "do53", "--timeout", "0.5", "--client", "kdig @{{server}} {{qname}} {{qtype}}; sleep 73337"});
  expect_round_trips(run, {{"do53", 1}});
  EXPECT_EQ(count_processes("73337"), 0U);
}

TEST(Client, ForwarderThatEndsOrIsNeverReadyIsSaidSo) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("mine.toml", "name = \"mine\"\n[commands]\ndo53 = [\"sh\", \"-c\", \"echo no configuration; exit 4\"]\n"
                                              "[forwarder]\nport = 5354\n");
  const auto run = measure({"packets", "--client", file});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.text, AllOf(HasSubstr("it ended before it was ready: exit code 4"), HasSubstr("no configuration")));
}

TEST(Client, StoppedInTheMiddleLeavesNothingOfTheProgram) {
  for (const int signal : {SIGINT, SIGKILL}) {
    SCOPED_TRACE(signal);
    const test::TemporaryFolder folder;
    test::Running run(test::doxlab({"packets", "-n", "1000", "--only", "do53", "--json", folder.file("out.json"), "--client",
                                    "kdig @{{server}} {{qname}} {{qtype}}; sleep 0.074447"}),
                      folder.file("log"));
    ASSERT_TRUE(test::is_in_the_middle(run)) << folder.read("log");
    run.kill(signal);
    EXPECT_EQ(run.wait(test::kProgramLimit), signal == SIGINT ? 130 : 128 + SIGKILL) << folder.read("log");
    for (const auto end = monotonic_now() + 20s; count_processes("0.074447") > 0 && monotonic_now() < end;) ::usleep(20'000);
    EXPECT_EQ(count_processes("0.074447"), 0U);
    EXPECT_EQ(std::filesystem::exists(folder.file("out.json")), signal == SIGINT) << "what was measured until then";
  }
}

TEST(Client, UnknownOnesAndWrongUsesAreRefusedInWords) {
  const test::TemporaryFolder folder;
  const auto absent = folder.write("absent.toml", "name = \"absent\"\npackage = \"absent-dns\"\nversion = [\"no-such-program\", \"-V\"]\n"
                                                  "[commands]\ndo53 = [\"no-such-program\"]\n");
  const std::tuple<std::vector<std::string>, int, std::string> cases[] = {
      {{"--client", "nobody"}, 1, "no client named 'nobody' (there are builtin, chromium, curl, dig, dnscrypt-proxy, kdig, any PATH.toml"},
      {{"--client", absent}, 1, "the program no-such-program is not on this machine; it is in the Debian package absent-dns"},
      {{"--client", "kdig {{nothing}}"}, 1, "no value for {{nothing}}"},
      {{"--client", "kdig", "--only", "doh3"}, 2, "kdig does not ask over doh3; it asks over do53, do53-tcp, dot, doh, doq"},
      {{"--client", "kdig", "--start", "resumed"}, 2, "--start: only doxlab's own client follows it"},
      {{"--client", "kdig", "--group", "X25519"}, 2, "--group: kdig cannot be told so by its client file"},
      {{"--client", "curl", "--subject", "knot"}, 2, "of which knot offers nothing"},
      {{"--client", "kdig @{{server}} -p {{port}}"}, 1, "name one transport with --only"}};
  for (const auto& [arguments, status, words] : cases) {
    auto all = arguments;
    all.insert(all.begin(), "packets");
    const auto run = measure(all);
    EXPECT_EQ(run.status, status) << test::join(all);
    EXPECT_THAT(run.errors, HasSubstr(words));
  }
}

/// Answers every HTTP request at port 80 of the server's address with one page, until it is stopped.
void serve_page(std::stop_token stop, std::promise<void>& ready) {
  const net::FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = to_kernel({lab::Lab::server_address(false), 80});
  EXPECT_EQ(::bind(listener.get(), address.get(), address.length), 0);
  EXPECT_EQ(::listen(listener.get(), 16), 0);
  ready.set_value();
  while (!stop.stop_requested()) {
    pollfd waiting{listener.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const net::FileDescriptor client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    pollfd request{client.get(), POLLIN, 0};
    std::array<char, 4096> buffer;
    // A connection that a browser opens in advance says nothing.
    if (::poll(&request, 1, 300) <= 0 || ::read(client.get(), buffer.data(), buffer.size()) <= 0) continue;
    const std::string_view page = "<!doctype html><title>page</title><p>it is here";
    const auto response = std::format("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{}", page.size(), page);
    static_cast<void>(!::write(client.get(), response.data(), response.size()));
  }
}

TEST(Client, ChromiumFindsAPageByDohInThreeRoundTrips) {
  experiment::Setup setup;
  setup.transports = {Transport::Doh};
  setup.qname = "page.example.net.";
  setup.zone = resolver::Zone::parse("$ORIGIN example.net.\n$TTL 300\n@ SOA ns hostmaster 1 3600 600 604800 300\npage A 10.66.0.1\n").value();
  experiment::choose_client(setup, "chromium");
  experiment::Rig rig(setup);
  std::promise<void> ready;
  auto web = rig.lab().start_thread(lab::Side::Server, [&](std::stop_token stop) { serve_page(stop, ready); });
  ready.get_future().get();
  const experiment::Task tasks[] = {{Transport::Doh, 0}};
  ASSERT_TRUE(rig.run(tasks, {}, [&](experiment::Sample&& sample) {
    ASSERT_EQ(sample.result.outcome, client::Outcome::Answered) << sample.result.reason;
    const auto path = trace::critical_path(sample.packets, sample.result.started, *sample.result.answered);
    ASSERT_TRUE(path);
    // TCP, TLS 1.3, and the query.
    EXPECT_EQ(path->round_trips(), 3U);
    EXPECT_TRUE(sample.result.handshake && sample.result.handshake->group == "X25519MLKEM768");
    // Then it asked for the page at the address that it was told, and got it.
    std::string request, answer;
    for (const auto& packet : sample.beside) {
      const auto headers = capture::parse_headers(packet.bytes);
      ASSERT_TRUE(headers);
      const bool asks = packet.place.direction == link::Direction::ToServer;
      if ((asks ? headers->destination : headers->source).port == 80) (asks ? request : answer) += as_text(headers->payload);
    }
    EXPECT_THAT(request, AllOf(HasSubstr("GET / HTTP/1.1"), HasSubstr("Host: page.example.net")));
    EXPECT_THAT(answer, HasSubstr("it is here"));
  }, {}));
}

}  // namespace
}  // namespace doxlab
