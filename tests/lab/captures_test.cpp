// What experiments leave for other tools: captures that tshark opens, qlog, and SSLKEYLOGFILE.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kWrongUsage = 2;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator(in), {}};
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

/// One field of each packet that a display filter lets through. tshark decrypts with what is in the file.
std::vector<std::string> tshark(const std::string& path, const std::string& filter,
                                const std::string& field) {
  // Wireshark knows UDP port 853 as DTLS.
  const auto finished = test::run_program(
      {"tshark", "-n", "-r", path, "-d", "udp.port==853,quic", "-Y", filter, "-T", "fields", "-e", field});
  EXPECT_EQ(finished.status, 0) << finished;
  std::vector<std::string> out;
  std::istringstream lines(finished.output);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

/// "DoT/17" of the comments of first packets, by transport.
std::map<std::string, std::set<std::uint64_t>> lookups_in(const std::string& path) {
  std::map<std::string, std::set<std::uint64_t>> out;
  for (const auto& comment : tshark(path, "frame.comment matches \"^[^ ]*/[0-9]+: \"", "frame.comment")) {
    const auto slash = comment.find('/');
    out[comment.substr(0, slash)].insert(std::stoull(comment.substr(slash + 1)));
  }
  return out;
}

TEST(Captures, TsharkDecryptsAllTransportsAndShowsWhatWasLost) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("loss.pcapng");
  const auto finished =
      test::run_program(test::doxlab({"loss", "--loss", "5", "--only", "dot,doh,doh3,doq", "-n", "5",
                                      "--capture", path, "--json", folder.file("loss.json")}));
  ASSERT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("packets of 20 lookups"));
  EXPECT_THAT(finished.errors, Not(HasSubstr("limit")));

  const auto lookups = lookups_in(path);
  for (const auto* transport : {"DoT", "DoH", "DoH3", "DoQ"})
    EXPECT_EQ(lookups.at(transport), (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
  // Sample 1 loses nothing before its answer.
  EXPECT_GT(tshark(path, "tcp.port == 853 && dns.flags.response == 1", "dns.qry.name").size(), 0u);
  EXPECT_GT(tshark(path, "tcp.port == 443 && dns.flags.response == 1", "dns.qry.name").size(), 0u);
  EXPECT_GT(tshark(path, "udp.port == 853 && dns.flags.response == 1", "dns.qry.name").size(), 0u);
  // tshark shows the frames of HTTP/3, but not yet the DNS messages in them.
  EXPECT_GT(tshark(path, "udp.port == 443 && http3.frame_type == 0", "http3.frame_length").size(), 0u);

  std::size_t lost = 0;
  const auto results = test::parse_json(read(folder.file("loss.json")));
  for (const auto& sample : results["samples"].get_array())
    lost += sample["lost_c2s"].get_array().size() + sample["lost_s2c"].get_array().size();
  EXPECT_GT(lost, 0u) << "seed and loss are constant";
  const auto comments = tshark(path, "frame.comment contains \"never arrived: lost [Do\"", "frame.comment");
  EXPECT_EQ(comments.size(), lost);
}

TEST(Captures, SlowHasThoseWithoutAnswerAndTheSlowest) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("slow.pcapng");
  const auto finished = test::run_program(
      test::doxlab({"loss", "--loss", "20", "--only", "do53,doq", "-n", "20", "--timeout", "2", "--capture",
                    path, "--capture-samples", "slow", "--json", folder.file("loss.json")}));
  ASSERT_EQ(finished.status, 0) << finished;
  const auto lookups = lookups_in(path);
  const auto results = test::parse_json(read(folder.file("loss.json")));
  for (const auto& [transport, shown] : {std::pair{"do53", "Do53"}, std::pair{"doq", "DoQ"}}) {
    std::set<std::uint64_t> expected;
    std::vector<std::tuple<bool, double, std::uint64_t>> answered;  // disturbed, the negative time, number
    for (const auto& sample : results["samples"].get_array()) {
      if (test::text(sample, "transport") != transport) continue;
      const auto number = static_cast<std::uint64_t>(test::number(sample, "sample"));
      if (test::text(sample, "outcome") == "answered")
        answered.emplace_back(sample["disturbed"].get<bool>(), -test::number(sample, "ms"), number);
      else
        expected.insert(number);
    }
    std::ranges::sort(answered);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, answered.size()); ++i)
      expected.insert(std::get<2>(answered[i]));
    EXPECT_EQ(lookups.at(shown), expected) << transport;
  }
}

TEST(Captures, LimitIsSaidWithWhatIsMissing) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("packets.pcapng");
  // Each lookup brings about 16 KiB of chain.
  const auto finished =
      test::run_program(test::doxlab({"packets", "--only", "dot,doq", "-n", "50", "--chain-bytes", "16000",
                                      "--capture", path, "--capture-limit", "1"}));
  ASSERT_EQ(finished.status, 0) << finished;
  const auto written = lookups_in(path);
  const auto lookups = written.at("DoT").size() + written.at("DoQ").size();
  EXPECT_LT(lookups, 100u);
  EXPECT_LE(fs::file_size(path), 1u << 20);
  EXPECT_THAT(finished.errors, HasSubstr(std::format("of {} lookups", lookups)));
  EXPECT_THAT(finished.errors,
              HasSubstr(std::format("limit of 1 MiB: {} lookups are not in it", 100 - lookups)));
}

TEST(Captures, MistakesAreNamedBeforeAnythingIsMeasured) {
  const test::TemporaryFolder folder;
  const auto missing = folder.file("missing/file.pcapng");
  auto finished = test::run_program(test::doxlab({"loss", "--capture", missing}));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, AllOf(HasSubstr(missing), HasSubstr("No such file")));
  finished = test::run_program(test::doxlab({"packets", "--qlog", folder.write("file", "")}));
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, HasSubstr(folder.file("file")));
  finished = test::run_program(test::doxlab({"packets", "--capture-samples", "some"}));
  EXPECT_EQ(finished.status, kWrongUsage) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("--capture-samples"));
}

/// The records of a JSON-SEQ file (RFC 7464). Errors: std::runtime_error.
std::vector<test::Json> qlog_records(const fs::path& path) {
  std::vector<test::Json> out;
  std::istringstream in(read(path));
  std::string record;
  if (in.get() != '\x1e') throw std::runtime_error(path.string() + " does not begin with a record separator");
  while (std::getline(in, record, '\x1e')) out.push_back(test::parse_json(record));
  return out;
}

std::size_t sent_packets(const std::vector<test::Json>& records) {
  return static_cast<std::size_t>(std::ranges::count_if(records, [](const test::Json& record) {
    return record.contains("name") && test::text(record, "name").ends_with("packet_sent");
  }));
}

TEST(Qlog, BothEndsOfEachConnectionAreWritten) {
  const test::TemporaryFolder folder;
  const auto finished =
      test::run_program(test::doxlab({"packets", "--only", "dot,doq,doh3", "--retry", "always", "-n", "2",
                                      "--qlog", folder.file("new/qlog"), "--json", folder.file("out.json")}));
  ASSERT_EQ(finished.status, 0) << finished;
  const auto repeated = static_cast<std::size_t>(test::number(test::parse_json(folder.read("out.json")), "repeated"));
  std::set<std::string> clients, servers;
  for (const auto& entry : fs::directory_iterator(folder.file("new/qlog"))) {
    const auto name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const auto records = qlog_records(entry.path());
    ASSERT_FALSE(records.empty());
    EXPECT_EQ(test::text(records.front(), "qlog_format"), "JSON-SEQ");
    EXPECT_NE(test::text(records.front(), "qlog_version"), "");
    EXPECT_GE(sent_packets(records), 1u);
    const auto end = name.find('_');
    const auto id = name.substr(0, end);
    const bool is_client = name.substr(end) == "_client.sqlog";
    // After a Retry the server's trace is named by the ID that the Retry gave.
    if (is_client) {
      EXPECT_EQ(test::text(records.front()["trace"]["common_fields"], "group_id"), id);
    }
    (is_client ? clients : servers).insert(id);
  }
  // The uncounted lookup that comes first is there too, and so are those that a busy machine disturbed.
  EXPECT_GE(clients.size(), 6u);
  EXPECT_LE(clients.size(), 6u + repeated);
  EXPECT_EQ(servers, clients);
}

/// A variable of this process's environment, for the programs that it starts.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST(KeyLogFile, ExperimentsAppendTheSecretsOfTheirClients) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("keys.log");
  const Environment environment("SSLKEYLOGFILE", path);
  for (const std::size_t runs : {1u, 2u}) {
    const auto finished = test::run_program(test::doxlab({"packets", "--only", "dot,doq", "-n", "2"}));
    ASSERT_EQ(finished.status, 0) << finished;
    // Two lookups and the uncounted one, on two transports; repeated ones may come on top.
    EXPECT_GE(count(read(path), "CLIENT_HANDSHAKE_TRAFFIC_SECRET "), runs * 2 * 3);
  }
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(KeyLogFile, FileThatCannotBeOpenedEndsTheRun) {
  const test::TemporaryFolder folder;
  const Environment environment("SSLKEYLOGFILE", folder.path());
  for (const auto* command : {"packets", "serve"}) {
    const auto finished = test::run_program(test::doxlab({command, "--only", "dot"}));
    EXPECT_EQ(finished.status, 1) << finished;
    EXPECT_THAT(finished.errors, AllOf(HasSubstr("SSLKEYLOGFILE"), HasSubstr(folder.path())));
  }
}

TEST(KeyLogFile, ServeAndQueryLogTheSameSecretsAndBothWriteQlog) {
  const test::TemporaryFolder folder;
  const test::Network network;
  const auto server =
      network.start_server(test::doxlab({"serve", "--only", "doq,dot", "--write-root",
                                         folder.file("root.pem"), "--qlog", folder.file("qlog")}),
                           {853}, {853}, {.environment = {{"SSLKEYLOGFILE", folder.file("server.log")}}});
  {
    const Environment environment("SSLKEYLOGFILE", folder.file("client.log"));
    for (const auto* url : {"@quic://127.0.0.1", "@tls://127.0.0.1"}) {
      const auto answer = network.run(test::doxlab(
          {"query", "example.com", url, "--ca", folder.file("root.pem"), "--qlog", folder.file("qlog")}));
      ASSERT_EQ(answer.status, 0) << answer;
    }
  }
  server->signal(SIGTERM);
  ASSERT_EQ(server->wait(test::kProgramLimit), 0) << server->errors();

  const auto lines_of = [](const std::string& text) {
    std::istringstream in(text);
    std::set<std::string> out;
    for (std::string line; std::getline(in, line);) out.insert(line);
    return out;
  };
  const auto client_lines = lines_of(read(folder.file("client.log")));
  EXPECT_EQ(client_lines, lines_of(read(folder.file("server.log"))));
  EXPECT_EQ(std::ranges::count_if(
                client_lines,
                [](const auto& line) { return line.starts_with("CLIENT_HANDSHAKE_TRAFFIC_SECRET "); }),
            2);
  std::vector<std::string> ends;
  for (const auto& entry : fs::directory_iterator(folder.file("qlog"))) {
    ends.push_back(entry.path().filename().string().substr(16));
    EXPECT_GE(sent_packets(qlog_records(entry.path())), 1u) << entry.path();
  }
  EXPECT_THAT(ends, testing::UnorderedElementsAre("_client.sqlog", "_server.sqlog"));
}

}  // namespace
}  // namespace doxlab
