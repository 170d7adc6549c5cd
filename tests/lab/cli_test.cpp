// Mistakes on the command line: the exit code, and a message that names the mistake. None of them starts a
// measurement, so none of them needs more than a moment.

#include <gmock/gmock.h>

#include <filesystem>

#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::HasSubstr;

constexpr int kFailed = 1, kWrongUsage = 2;

struct Mistake {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  std::vector<std::string> named;  ///< what the message must say
};
std::ostream& operator<<(std::ostream& out, const Mistake& mistake) {
  return out << mistake.name;
}

class CommandLine : public testing::TestWithParam<Mistake> {};

TEST_P(CommandLine, MistakeIsNamed) {
  const auto& mistake = GetParam();
  const auto finished = test::run_program(test::doxlab(mistake.arguments));
  EXPECT_EQ(finished.status, mistake.status) << finished;
  EXPECT_EQ(finished.output, "") << "messages belong to standard error";
  for (const auto& part : mistake.named) EXPECT_THAT(finished.errors, HasSubstr(part));
  // A sentence for people, not a dump.
  EXPECT_LT(finished.errors.size(), 500u) << finished;
}

const std::string kLongLabel(64, 'a');
const std::string kLongName = [] {
  std::string out;
  for (int i = 0; i < 128; ++i) out += "a.";
  return out;
}();
const std::string kServer = "@udp://127.0.0.1";

INSTANTIATE_TEST_SUITE_P(
    Subcommand, CommandLine,
    testing::Values(Mistake{"Missing", {}, kWrongUsage, {"subcommand is required"}},
                    Mistake{"Unknown", {"frobnicate"}, kWrongUsage, {"frobnicate"}},
                    Mistake{
                        "UnknownOptionOfPackets", {"packets", "--frobnicate"}, kWrongUsage, {"--frobnicate"}},
                    Mistake{"UnknownOptionOfLoss", {"loss", "--frobnicate=1"}, kWrongUsage, {"--frobnicate"}},
                    Mistake{"UnknownOptionOfServe", {"serve", "--frobnicate"}, kWrongUsage, {"--frobnicate"}},
                    Mistake{"UnknownOptionOfQuery",
                            {"query", "example.com", kServer, "--frobnicate"},
                            kWrongUsage,
                            {"--frobnicate"}},
                    Mistake{"DelayIsNoNumber", {"packets", "--delay", "nan"}, kWrongUsage, {"--delay", "nan"}},
                    Mistake{"DropIsNoPacket", {"packets", "--drop", "s2c:1"}, kWrongUsage, {"--drop s2c:1", "s2c/1"}},
                    Mistake{"DropIsNoNumber", {"packets", "--drop", "c2s/"}, kWrongUsage, {"--drop c2s/"}},
                    Mistake{"ZoneIsAFolder", {"serve", "--zone", "/tmp"}, kWrongUsage, {"/tmp: a folder"}},
                    Mistake{"CompareWithoutB", {"compare", "/dev/null"}, kWrongUsage, {"B is required"}},
                    Mistake{"CompareOfNoFile", {"compare", "/nonexistent.json", "/nonexistent.json"}, kWrongUsage, {"/nonexistent.json", "No such file"}},
                    Mistake{"CompareOfNoResults", {"compare", "/dev/null", "/dev/null"}, kFailed, {"/dev/null: line 1", "nothing in it"}},
                    Mistake{"ReportOfNothing", {"report"}, kWrongUsage, {"RESULTS is required"}},
                    Mistake{"ReportOfNoFile", {"report", "/nonexistent.json"}, kWrongUsage, {"/nonexistent.json", "No such file"}},
                    Mistake{"ReportOfAnEmptyFile", {"report", "/dev/null", "-o", "/dev/null"}, kFailed, {"/dev/null", "nothing in it"}},
                    Mistake{"ReportOfAFolder", {"report", "/tmp"}, kWrongUsage, {"/tmp: a folder"}},
                    Mistake{"CheckWithoutRules", {"check", "/dev/null"}, kWrongUsage, {"--rules is required"}},
                    Mistake{"CheckWithEmptyRules", {"check", "/dev/null", "--rules", "/dev/null"}, kWrongUsage, {"/dev/null", "no [[rule]]"}},
                    Mistake{"SchemaOfNothing", {"schema", "frobnicate"}, kWrongUsage, {"frobnicate"}},
                    Mistake{"WordsMissing", {"query"}, kWrongUsage, {"words is required"}},
                    Mistake{"ValueMissing", {"packets", "--json"}, kWrongUsage, {"--json"}}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Number, CommandLine,
    testing::Values(
        Mistake{"NoNumber", {"packets", "-n", "abc"}, kWrongUsage, {"--repetitions", "abc"}},
        Mistake{"Zero", {"packets", "-n", "0"}, kWrongUsage, {"--repetitions", "0"}},
        Mistake{"Negative", {"packets", "-n", "-1"}, kWrongUsage, {"--repetitions", "-1"}},
        Mistake{"LossOver100", {"loss", "--loss", "101"}, kWrongUsage, {"--loss", "101"}},
        Mistake{"LossNotANumber", {"loss", "--loss", "nan"}, kWrongUsage, {"loss", "nan"}},
        Mistake{"DelayInfinite", {"packets", "--delay", "inf"}, kWrongUsage, {"--delay", "inf"}},
        Mistake{"RateNegative", {"packets", "--rate", "-5"}, kWrongUsage, {"--rate", "-5"}},
        Mistake{"MtuTooSmall", {"packets", "--mtu", "100"}, kWrongUsage, {"--mtu", "100"}},
        Mistake{"BurstOfNothing", {"packets", "--burst", "0,0"}, kWrongUsage, {"--burst"}},
        Mistake{"DatagramTooSmall",
                {"packets", "--datagram-bytes", "1199"},
                kWrongUsage,
                {"--datagram-bytes", "1199"}},
        Mistake{"DatagramsAboveTheMtu",
                {"packets", "--as-published", "--mtu", "1280"},
                kWrongUsage,
                {"--mtu 1280", "1280 bytes", "--datagram-bytes 1252"}},
        Mistake{"ChainTooShort",
                {"packets", "--only", "dot", "--chain-bytes", "10"},
                kFailed,
                {"10 octets", "minimum"}},
        Mistake{"PortOver65535", {"query", "example.com", "@udp://127.0.0.1:70000"}, kWrongUsage, {"70000"}},
        Mistake{"PortOffset", {"serve", "--port-offset", "70000"}, kWrongUsage, {"--port-offset", "70000"}}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    Word, CommandLine,
    testing::Values(
        Mistake{
            "TransportOfPackets", {"packets", "--only", "dot,dox"}, kWrongUsage, {"--only", "'dox'", "doq"}},
        Mistake{"TransportOfServe", {"serve", "--only", "dox"}, kWrongUsage, {"--only", "'dox'", "doq"}},
        Mistake{"SamplesOverResults",
                {"loss", "--samples", "same.json", "--json", "same.json"},
                kWrongUsage,
                {"--samples", "--json"}},
        Mistake{"SampleThatIsNone", {"explain", "--sample", "dot"}, kWrongUsage, {"--sample dot", "dot/17"}},
        Mistake{"NothingToExplain", {"explain"}, kWrongUsage, {"--sample"}},
        Mistake{"CaptureMissing", {"explain", "no-such-file.pcap"}, kWrongUsage, {"no-such-file.pcap", "No such file"}},
        Mistake{"Scheme", {"query", "example.com", "@ftp://127.0.0.1"}, kWrongUsage, {"'ftp'", "https"}},
        Mistake{"ServerMissing", {"query", "example.com"}, kWrongUsage, {"server is missing"}},
        Mistake{"NameMissing", {"query", kServer}, kWrongUsage, {"NAME"}},
        Mistake{"OneWordTooMany", {"query", "example.com", "A", "IN", kServer}, kWrongUsage, {"'IN'"}},
        Mistake{"UnknownPlusWord",
                {"query", "example.com", kServer, "+trace"},
                kWrongUsage,
                {"'+trace'", "+short"}},
        Mistake{"LabelTooLong",
                {"query", kLongLabel + ".example.com", kServer},
                kWrongUsage,
                {"64 octets", "at most 63"}},
        Mistake{"NameTooLong", {"query", kLongName, kServer}, kWrongUsage, {"octets", "at most 255"}},
        Mistake{"EmptyLabel", {"query", "a..b", kServer}, kWrongUsage, {"empty label", "'a..b'"}},
        Mistake{"NameOfPacketsTooLong",
                {"packets", "--qname", kLongName},
                kWrongUsage,
                {"--qname", "at most 255"}},
        Mistake{"Type", {"query", "example.com", "FOO", kServer}, kWrongUsage, {"'FOO'"}},
        Mistake{"TypeOfPackets", {"packets", "--qtype", "FOO"}, kWrongUsage, {"--qtype", "'FOO'"}},
        Mistake{"GroupOfPackets",
                {"packets", "--only", "dot", "--group", "X25519,X448MLKEM7"},
                kWrongUsage,
                {"'X448MLKEM7'"}},
        Mistake{"GroupOfQuery",
                {"query", "example.com", "@tls://127.0.0.1", "--group", "FOO"},
                kWrongUsage,
                {"'FOO'"}},
        Mistake{"GroupOfServe", {"serve", "--server-group", "FOO"}, kWrongUsage, {"'FOO'"}},
        Mistake{"GroupOfPq", {"pq", "--groups", "X25519,FOO"}, kWrongUsage, {"'FOO'"}},
        Mistake{"Key", {"packets", "--chain-key", "dsa"}, kWrongUsage, {"--chain-key", "dsa", "ecdsa"}},
        Mistake{"Compression",
                {"packets", "--compression", "brotli"},
                kWrongUsage,
                {"--compression", "'brotli'", "zstd"}},
        Mistake{"Address", {"serve", "--ip", "127.0.0.300"}, kWrongUsage, {"--ip", "127.0.0.300"}}),
    testing::PrintToStringParamName());

INSTANTIATE_TEST_SUITE_P(
    File, CommandLine,
    testing::Values(Mistake{"ZoneMissing",
                            {"packets", "--zone", "/nonexistent/zone"},
                            kWrongUsage,
                            {"/nonexistent/zone", "No such file"}},
                    Mistake{"ZoneIsNone",
                            {"packets", "--zone", "/etc/passwd"},
                            kWrongUsage,
                            {"--zone", "/etc/passwd", "line 1"}},
                    Mistake{"AnchorsMissing",
                            {"query", "example.com", "@tls://127.0.0.1", "--ca", "/nonexistent/ca"},
                            kWrongUsage,
                            {"/nonexistent/ca"}},
                    Mistake{"AnchorsAreNone",
                            {"query", "example.com", "@tls://127.0.0.1", "--ca", "/etc/passwd"},
                            kFailed,
                            {"no certificate"}},
                    Mistake{"KeyWithoutCertificate",
                            {"serve", "--key", "/etc/passwd"},
                            kWrongUsage,
                            {"--certificate", "--key"}},
                    Mistake{"JsonOfPackets",
                            {"packets", "-n", "100000", "--json", "/nonexistent/out.json"},
                            kFailed,
                            {"/nonexistent/out.json", "No such file"}},
                    Mistake{"JsonOfPacketsIsAFolder",
                            {"packets", "-n", "100000", "--json", "/tmp"},
                            kFailed,
                            {"/tmp", "Is a directory"}},
                    Mistake{"JsonOfLoss",
                            {"loss", "-n", "100000", "--json", "/nonexistent/out.json"},
                            kFailed,
                            {"/nonexistent/out.json", "No such file"}},
                    Mistake{"SamplesOfLoss",
                            {"loss", "-n", "100000", "--samples", "/nonexistent/samples"},
                            kFailed,
                            {"/nonexistent/samples", "No such file"}},
                    Mistake{"JsonOfPq",
                            {"pq", "-n", "100000", "--json", "/nonexistent/out.json"},
                            kFailed,
                            {"/nonexistent/out.json", "No such file"}},
                    Mistake{"RootOfServe",
                            {"serve", "--write-root", "/nonexistent/root.pem"},
                            kFailed,
                            {"/nonexistent/root.pem", "No such file"}}),
    testing::PrintToStringParamName());

TEST(CommandLineOf, OutputComesInTheFormatAskedFor) {
  const auto with = [](const char* format) {
    const auto run = test::run_program(test::doxlab({"packets", "--only", "do53", "-n", "1", "--format", format}), 60s);
    EXPECT_EQ(run.status, 0) << run;
    return run.output;
  };
  EXPECT_THAT(with("csv"), testing::StartsWith("transport,n,ms"));
  EXPECT_THAT(with("markdown"), HasSubstr("\n| Do53 | 1 |"));
  const auto json = with("json");
  EXPECT_THAT(json, HasSubstr("\"experiment\": \"packets\""));
  const auto table = with("table");
  EXPECT_THAT(table, HasSubstr("\nDo53 "));
  EXPECT_THAT(table, Not(HasSubstr("\033"))) << "no colours for a pipe";
}

TEST(CommandLineOf, PacketThatIsToBeLostIsLost) {
  const auto run = test::run_program(test::doxlab({"explain", "--sample", "dot/0", "--loss", "0", "--drop", "s2c/0"}), 60s);
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_THAT(run.output, testing::ContainsRegex("dropped by script +60  SYN-ACK"));
  EXPECT_THAT(run.output, testing::ContainsRegex("SYN(-ACK)? retransmission"));
}

TEST(CommandLineOf, ManualPageAndCompletionHaveEveryCommand) {
  const auto manual = test::run_program(test::doxlab({"man"}), 10s);
  ASSERT_EQ(manual.status, 0) << manual;
  const test::TemporaryFolder folder;
  ASSERT_EQ(test::run_program({"/bin/sh", "-c", std::string(DOXLAB_BINARY) + " completion bash > " + folder.file("doxlab.bash")}, 10s).status, 0);
  const auto completed = [&](const std::string& words, int at) {
    const auto script = std::format("source {}; COMP_WORDS=({}); COMP_CWORD={}; _doxlab; echo \"${{COMPREPLY[@]}}\"",
                                    folder.file("doxlab.bash"), words, at);
    return test::run_program({"/bin/bash", "-c", script}, 10s).output;
  };
  const auto commands = completed("doxlab ''", 1);
  for (const auto* name : {"packets", "loss", "explain", "dropmap", "advise", "compare", "check", "serve", "man"}) {
    EXPECT_THAT(manual.output, HasSubstr(std::format("\n.SS {}\n", name)));
    EXPECT_THAT(commands, HasSubstr(name));
  }
  EXPECT_THAT(manual.output, HasSubstr("\\-\\-as\\-published"));
  EXPECT_THAT(completed("doxlab packets --as", 2), HasSubstr("--as-published"));
  EXPECT_THAT(completed("doxlab packets --method ''", 3), testing::AllOf(HasSubstr("post"), HasSubstr("get")));
  for (const auto* shell : {"zsh", "fish"})
    EXPECT_THAT(test::run_program(test::doxlab({"completion", shell}), 10s).output, HasSubstr("as-published")) << shell;
}

TEST(CommandLineOf, HelpAndVersionAreNoMistakes) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"packets", "--help"}, {"loss", "-h"}, {"--version"}}) {
    const auto finished = test::run_program(test::doxlab(arguments));
    EXPECT_EQ(finished.status, 0) << finished;
    EXPECT_THAT(finished.output,
                HasSubstr(arguments.back() == "--version" ? "doxlab " DOXLAB_VERSION : "Usage: doxlab"));
    EXPECT_EQ(finished.errors, "");
  }
}

TEST(CommandLineOf, PathThatCannotBeWrittenIsToldBeforeAnythingIsMeasuredAndLeavesNothing) {
  const test::TemporaryFolder folder;
  const auto finished = test::run_program(
      test::doxlab({"packets", "-n", "1", "--only", "do53", "--json", folder.file("out.json")}));
  EXPECT_EQ(finished.status, 0) << finished;
  // The check of the path leaves no file of its own.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += entry.exists();
  EXPECT_EQ(files, 1u);
}

TEST(CommandLineOf, PipesAndLinksStayWhatTheyAre) {
  const test::TemporaryFolder folder;
  const auto json = test::join(test::doxlab({"packets", "-n", "1", "--only", "do53", "--json"}));
  const auto finished =
      test::run_program({"sh", "-c",
                         "cd \"$0\" && mkfifo pipe && { cat pipe >from-pipe & } && " + json +
                             " pipe && wait && test -p pipe && touch file && ln -s file link && " + json +
                             " link && test -L link",
                         folder.path()});
  EXPECT_EQ(finished.status, 0) << finished;
  for (const auto* file : {"from-pipe", "file"})
    EXPECT_THAT(folder.read(file), HasSubstr("\"experiment\": \"packets\"")) << file;
}

TEST(CommandLineOf, FullDiskIsNotSilent) {
  // /dev/full takes the open and refuses the write.
  const auto finished =
      test::run_program({"sh", "-c", "\"$0\" packets -n 1 --only do53 --json - >/dev/full", DOXLAB_BINARY});
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("standard output"));
}

/// doxlab as a user who is nobody, with a TUN device of the given mode in a mount namespace of its own.
test::Finished run_as_nobody(const std::string& tun_mode) {
  // A copy that everyone may run, wherever the build is.
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(DOXLAB_BINARY, folder.file("doxlab"));
  for (const auto& path : {folder.path(), folder.file("doxlab")})
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  constexpr const char* kScript =
      "set -e; mkdir \"$1/dev\"; mount -t tmpfs dev \"$1/dev\"; mknod -m \"$2\" \"$1/dev/tun\" c 10 200;"
      "mount --bind \"$1/dev/tun\" /dev/net/tun;"
      "exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \"$1/doxlab\" packets -n 1 --only do53";
  return test::run_program({"unshare", "--mount", "--propagation", "private", "sh", "-c", kScript, "sh",
                            folder.path(), tun_mode});
}

TEST(CommandLineOf, StandardOutputThatIsFullIsNotSilent) {
  const auto command = test::doxlab({"schema"});
  std::string line;
  for (const auto& word : command) line += "'" + word + "' ";
  const auto finished = test::run_program({"sh", "-c", line + "> /dev/full"});
  EXPECT_EQ(finished.status, kFailed) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("standard output"));
}

TEST(CommandLineOf, WithoutRootItWorksInAUserNamespace) {
  const auto finished = run_as_nobody("666");
  const auto namespaces = test::run_program({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare",
                                             "--user", "true"});
  if (namespaces.status == 0) {
    EXPECT_EQ(finished.status, 0) << finished;
    EXPECT_THAT(finished.output, HasSubstr("Do53"));
  } else {  // a machine that keeps them from its users
    EXPECT_EQ(finished.status, 1) << finished;
    EXPECT_THAT(finished.errors, testing::AllOf(HasSubstr("user namespace"), HasSubstr("root")));
  }
}

TEST(CommandLineOf, WithoutTheTunDeviceItSaysSo) {
  const auto finished = run_as_nobody("600");
  EXPECT_EQ(finished.status, 1) << finished;
  EXPECT_THAT(finished.errors, testing::AnyOf(HasSubstr("/dev/net/tun"), HasSubstr("user namespace")));
  EXPECT_THAT(finished.errors, HasSubstr("root"));
}

TEST(CommandLineOf, PortInUseIsNamed) {
  const test::Network network;
  const auto first = network.start(test::doxlab({"serve", "--only", "dot"}));
  ASSERT_TRUE(first->wait_for("ready\n", test::kProgramLimit)) << first->errors();
  const auto second = network.run(test::doxlab({"serve", "--only", "dot"}));
  EXPECT_EQ(second.status, 1) << second;
  EXPECT_THAT(second.errors, testing::AllOf(HasSubstr("127.0.0.1:853"), HasSubstr("in use")));
}

}  // namespace
}  // namespace doxlab
