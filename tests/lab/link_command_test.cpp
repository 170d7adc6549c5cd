// `doxlab link`: any command behind the emulated link.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <regex>

#include "net/file_descriptor.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// `doxlab link` with these arguments; the command comes after "--".
test::Command link_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "link");
  return test::doxlab(arguments);
}

test::Finished run_link(std::vector<std::string> arguments) {
  return test::run_program(link_command(std::move(arguments)));
}

test::Finished run_shell(const std::string& script, std::vector<std::string> options = {}) {
  options.insert(options.end(), {"--", "sh", "-c", script});
  return run_link(std::move(options));
}

/// Reads until the text has come, the other side is closed (true if `text` is empty), or the limit is over.
bool read_until(int fd, std::string_view text, std::string& read_so_far) {
  const auto end = monotonic_now() + test::kProgramLimit;
  while (text.empty() || !read_so_far.contains(text)) {
    pollfd poll{fd, POLLIN, 0};
    if (::poll(&poll, 1, 100) == 0) {
      if (monotonic_now() > end) return false;
      continue;
    }
    char buffer[4096];
    const auto count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) return text.empty();
    read_so_far.append(buffer, static_cast<std::size_t>(count));
  }
  return true;
}

TEST(LinkCommand, ExitsWithTheStatusOfTheCommand) {
  EXPECT_EQ(run_shell("exit 0").status, 0);
  EXPECT_EQ(run_shell("exit 7").status, 7);
  EXPECT_EQ(run_shell("kill -KILL $$").status, 128 + SIGKILL);
  EXPECT_EQ(run_shell("kill -TERM $$").status, 128 + SIGTERM);
}

TEST(LinkCommand, CommandNotFoundIs127AndNotExecutableIs126) {
  const auto missing = run_link({"--", "no-such-program-here"});
  EXPECT_EQ(missing.status, 127) << missing;
  EXPECT_THAT(missing.errors, HasSubstr("no-such-program-here"));
  EXPECT_EQ(run_link({"--", "/no/such/program"}).status, 127);
  const auto forbidden = run_link({"--", "/etc/passwd"});
  EXPECT_EQ(forbidden.status, 126) << forbidden;
  EXPECT_THAT(forbidden.errors, HasSubstr("/etc/passwd"));
}

TEST(LinkCommand, WrongUsageIs2) {
  EXPECT_EQ(run_link({}).status, 2);
  EXPECT_EQ(run_link({"--delay", "20"}).status, 2);
  EXPECT_EQ(run_link({"--loss", "101", "--", "true"}).status, 2);
  EXPECT_EQ(run_link({"--burst", "0,0", "--", "true"}).status, 2);
}

TEST(LinkCommand, FailureOfDoxlabItselfIs125) {
  const auto finished = run_link({"--capture", "/no/such/folder/a.pcapng", "--", "true"});
  EXPECT_EQ(finished.status, 125) << finished;
  EXPECT_THAT(finished.errors, HasSubstr("/no/such/folder/a.pcapng"));
}

TEST(LinkCommand, StreamsPassThroughAndTheSummaryGoesToStandardError) {
  const auto finished = test::run_program(
      {"sh", "-c", std::format("echo question | {} link -- sh -c 'cat; echo complaint >&2'", DOXLAB_BINARY)});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_EQ(finished.output, "question\n");
  EXPECT_THAT(finished.errors, ContainsRegex("^complaint\ndoxlab: 0 packets .*\n$"));
  const auto quiet = run_link({"--quiet", "--", "echo", "answer"});
  EXPECT_EQ(quiet.output, "answer\n");
  EXPECT_EQ(quiet.errors, "");
}

TEST(LinkCommand, ArgumentsArriveAsTheyWereGiven) {
  const auto finished = run_link({"-q", "--", "printf", "[%s]", "", "a b", "--delay", "--", "$HOME", "-q"});
  EXPECT_EQ(finished.output, "[][a b][--delay][--][$HOME][-q]") << finished;
}

TEST(LinkCommand, DescriptorsOfTheCallerArePassedOnAndOwnOnesAreNot) {
  const test::TemporaryFolder folder;
  const auto finished =
      test::run_program({"sh", "-c",
                         std::format("exec 9>{}; {} link -q -- sh -c 'echo written >&9; ls /proc/self/fd'",
                                     folder.file("nine"), DOXLAB_BINARY)});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_EQ(folder.read("nine"), "written\n");
  // 0 to 2, the caller's, and what ls itself opens.
  EXPECT_EQ(finished.output, "0\n1\n2\n3\n9\n");
}

/// kdig's own measure of one exchange, in ms: "in 41.2 ms".
double milliseconds(const std::string& output) {
  std::smatch match;
  return std::regex_search(output, match, std::regex("in ([0-9.]+) ms")) ? std::stod(match[1]) : 0;
}

struct KdigCase {
  const char* name;
  std::vector<std::string> options;
};

class LinkCommandKdig : public testing::TestWithParam<KdigCase> {};
INSTANTIATE_TEST_SUITE_P(EveryTransport, LinkCommandKdig,
                         testing::Values(KdigCase{"Do53", {}}, KdigCase{"Do53Tcp", {"+tcp"}},
                                         KdigCase{"Dot", {"+tls"}}, KdigCase{"Doh", {"+https"}},
                                         KdigCase{"Doq", {"+quic"}}),
                         [](const auto& param) { return param.param.name; });

TEST_P(LinkCommandKdig, IsAnsweredThrough40Milliseconds) {
  for (const auto* server : {"10.66.0.1", "fd66::1"}) {
    test::Command command = {"--delay",  "20",         "--", "kdig", std::string("@") + server,
                             "+retry=0", "+timeout=30"};
    command.insert(command.end(), GetParam().options.begin(), GetParam().options.end());
    command.emplace_back("example.com");
    const auto finished = run_link(command);
    EXPECT_EQ(finished.status, 0) << finished;
    EXPECT_THAT(finished.output, HasSubstr("192.0.2.1")) << finished;
    EXPECT_GE(milliseconds(finished.output), 40) << finished;
    EXPECT_THAT(finished.errors, ContainsRegex("doxlab: [1-9][0-9]* packets"));
  }
}

TEST(LinkCommand, EnvironmentTellsWhereTheResolverIs) {
  const auto finished = run_shell(
      "kdig @$DOXLAB_SERVER -p $DOXLAB_PORT_DOT +tls-ca=$DOXLAB_ROOT_PEM +tls-hostname=$DOXLAB_SERVER_NAME "
      "+short example.com && "
      "kdig @$DOXLAB_SERVER_IPV6 -p $DOXLAB_PORT_DOQ +quic +tls-ca=$DOXLAB_ROOT_PEM "
      "+tls-hostname=$DOXLAB_SERVER_NAME +short example.com && " DOXLAB_BINARY
      " query example.com @$DOXLAB_DNSCRYPT_STAMP +short && " DOXLAB_BINARY
      " query example.com @h3://$DOXLAB_SERVER:$DOXLAB_PORT_DOH3 --ca $DOXLAB_ROOT_PEM +short && "
      "curl -sS --cacert $DOXLAB_ROOT_PEM -o /dev/null -w '%{http_code}\\n' "
      "\"https://$DOXLAB_SERVER_NAME:$DOXLAB_PORT_DOH/"
      "dns-query?dns=AAABAAABAAAAAAAAB2V4YW1wbGUDY29tAAABAAE\"",
      {"--delay", "5"});
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_EQ(finished.output, "192.0.2.1\n192.0.2.1\n192.0.2.1\n192.0.2.1\n200\n") << finished;
}

TEST(LinkCommand, NamesAreLookedUpAtTheResolverAndThisMachineIsLeftAlone) {
  const auto before = test::run_program({"cat", "/etc/resolv.conf"}).output;
  const auto finished =
      run_shell("cat /etc/resolv.conf; kdig +short example.com; getent ahostsv4 example.com");
  EXPECT_EQ(finished.status, 0) << finished;
  EXPECT_THAT(finished.output, ContainsRegex("^nameserver 10.66.0.1\n192.0.2.1\n192.0.2.1 +STREAM"));
  EXPECT_EQ(test::run_program({"cat", "/etc/resolv.conf"}).output, before);
  EXPECT_EQ(run_shell("cat /etc/resolv.conf", {"--own-resolv-conf"}).output, before);
  EXPECT_EQ(run_shell("cat /etc/resolv.conf", {"--ipv6"}).output, "nameserver fd66::1\n");
  EXPECT_THAT(test::run_program({"cat", "/proc/self/mountinfo"}).output, Not(HasSubstr("- tmpfs doxlab")));
}

TEST(LinkCommand, NothingElseIsReachable) {
  // Of the documentation, and of nobody (RFC 5737): through the link to the resolver's end, where it is
  // refused.
  const auto finished = run_shell("kdig @192.0.2.53 +retry=0 +timeout=1 example.com", {"--delay", "1"});
  EXPECT_NE(finished.status, 0) << finished;
}

/// Twelve lookups over UDP, one after the other: which were answered, and what the capture says of packets. Each has a
/// port of its own: two that met on one would be one flow, and those behind would draw other numbers.
std::string answered_and_lost(const std::string& seed) {
  const test::TemporaryFolder folder;
  const auto finished = run_shell(
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "
      "kdig -b 0.0.0.0#$((20000 + i)) @10.66.0.1 +short +retry=0 +timeout=1 example.com >/dev/null 2>&1 && echo answered || echo lost; "
      "done",
      {"--delay", "1", "--loss", "30", "--seed", seed, "--capture", folder.file("a.pcapng")});
  EXPECT_EQ(finished.status, 0) << finished;
  const auto comments = test::run_program({"tshark", "-r", folder.file("a.pcapng"), "-T", "fields", "-e",
                                           "frame.comment", "-Y", "frame.comment"});
  EXPECT_EQ(comments.status, 0) << comments;
  EXPECT_THAT(comments.output, HasSubstr("never arrived: lost"));
  return finished.output + comments.output;
}

TEST(LinkCommand, TheSameSeedLosesTheSamePackets) {
  const auto first = answered_and_lost("1");
  EXPECT_THAT(first, HasSubstr("answered\n"));
  EXPECT_EQ(answered_and_lost("1"), first);
  EXPECT_NE(answered_and_lost("2"), first);
}

TEST(LinkCommand, CaptureIsReadAndDecryptedByTshark) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("all.pcapng");
  const auto finished = run_shell(
      "kdig @10.66.0.1 example.com && kdig @10.66.0.1 +tls small.example.com && "
      "kdig @10.66.0.1 +quic big.example.com TXT",
      {"--capture", path});
  ASSERT_EQ(finished.status, 0) << finished;
  const auto frames = test::run_program({"tshark", "-r", path, "-d", "udp.port==853,quic", "-T", "fields",
                                         "-e", "frame.number", "-e", "dns.qry.name"});
  ASSERT_EQ(frames.status, 0) << frames;
  const auto count = std::ranges::count(frames.output, '\n');
  EXPECT_THAT(finished.errors, HasSubstr(std::format("{} packets in {}", count, path))) << frames;
  for (const auto* name : {"\texample.com", "\tsmall.example.com", "\tbig.example.com"})
    EXPECT_THAT(frames.output, HasSubstr(name));
  // In order of time, which is that of the wall clock.
  const auto times = test::run_program(
      {"tshark", "-r", path, "-T", "fields", "-e", "frame.time_delta", "-e", "frame.comment"});
  EXPECT_THAT(times.output, Not(HasSubstr("-0.")));
  EXPECT_THAT(times.output, Not(HasSubstr("never arrived")));
  // Where the capture comes from is in it.
  EXPECT_THAT(folder.read("all.pcapng"), HasSubstr("doxlab link --capture "));
}

TEST(LinkCommand, CaptureGrowsWhileTheCommandRuns) {
  const test::TemporaryFolder folder;
  const auto child =
      test::start_program(link_command({"--delay", "1", "--capture", folder.file("a.pcapng"), "--", "sh",
                                        "-c", "kdig @10.66.0.1 example.com; sleep 1000"}));
  ASSERT_TRUE(child->wait_for("192.0.2.1", test::kProgramLimit)) << child->errors();
  const auto end = monotonic_now() + test::kProgramLimit;
  const auto example = std::string("\7example\3com", 12);
  while (!folder.read("a.pcapng").contains(example)) {
    ASSERT_LT(monotonic_now(), end) << "nothing was written";
    std::this_thread::sleep_for(20ms);
  }
}

TEST(LinkCommand, SignalsReachTheCommandOnceAndItsAnswerIsTheStatus) {
  for (const auto& [number, name] :
       {std::pair{SIGTERM, "TERM"}, std::pair{SIGINT, "INT"}, std::pair{SIGHUP, "HUP"},
        std::pair{SIGQUIT, "QUIT"}, std::pair{SIGUSR1, "USR1"}, std::pair{SIGUSR2, "USR2"}}) {
    const auto child = test::start_program(link_command(
        {"-q", "--", "sh", "-c",
         std::format("trap 'echo {}; exit 9' {}; echo ready; while :; do sleep 0.05; done", name, name)}));
    ASSERT_TRUE(child->wait_for("ready\n", test::kProgramLimit)) << child->errors();
    child->signal(number);
    EXPECT_EQ(child->wait(test::kProgramLimit), 9) << name << ": " << child->errors();
    EXPECT_EQ(child->output(), std::format("ready\n{}\n", name));
  }
  const auto child =
      test::start_program(link_command({"-q", "--", "sh", "-c", "echo ready; exec sleep 1000"}));
  ASSERT_TRUE(child->wait_for("ready\n", test::kProgramLimit)) << child->errors();
  child->signal(SIGTERM);
  EXPECT_EQ(child->wait(test::kProgramLimit), 128 + SIGTERM);
}

/// doxlab directly below this process. All that holds its output has ended when end_of_output() is true.
class Bare {
 public:
  explicit Bare(test::Command command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    reader_ = net::FileDescriptor(ends[0]);
    const net::FileDescriptor writer(ends[1]);
    std::vector<char*> arguments;
    for (auto& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(writer.get(), STDOUT_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  ~Bare() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  bool wait_for(std::string_view text) { return read_until(reader_.get(), text, output_); }
  bool end_of_output() { return read_until(reader_.get(), "", output_); }
  /// Sends the signal and waits for doxlab itself to be gone.
  int end_by(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
  net::FileDescriptor reader_;
  std::string output_;
};

TEST(LinkCommand, KillLeavesNothing) {
  // Background processes in sessions of their own, which no signal to a group would find.
  Bare running(
      link_command({"--", "sh", "-c", "setsid sleep 1000 & (setsid sleep 1000 &) ; echo ready; sleep 1000"}));
  ASSERT_TRUE(running.wait_for("ready\n"));
  running.end_by(SIGKILL);
  EXPECT_TRUE(running.end_of_output()) << "some process still holds the output";
}

TEST(LinkCommand, WhatTheCommandLeavesRunningEndsWithIt) {
  Bare running(link_command({"--", "sh", "-c", "setsid sleep 1000 & echo ready"}));
  ASSERT_TRUE(running.wait_for("ready\n"));
  EXPECT_TRUE(running.end_of_output());
}

/// doxlab link on a terminal of its own.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> arguments) {
    auto command = link_command(std::move(arguments));
    std::vector<char*> words;
    for (auto& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    int terminal = -1;
    pid_ = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    terminal_ = net::FileDescriptor(terminal);
  }
  ~OnTerminal() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(std::string_view text) const {
    ASSERT_EQ(::write(terminal_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  bool wait_for(std::string_view text) { return read_until(terminal_.get(), text, screen_); }
  const std::string& screen() const { return screen_; }
  /// The status as a shell tells it; the terminal is read meanwhile, so that nobody waits for it.
  int wait() {
    if (!read_until(terminal_.get(), "", screen_)) ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = -1;
  net::FileDescriptor terminal_;
  std::string screen_;
};

TEST(LinkCommand, ControlCReachesTheCommandOnceAndNotDoxlab) {
  OnTerminal terminal(
      {"--", "sh", "-c",
       "trap 'n=$((n+1))' INT; echo ready; read line; read line; echo interrupted $n times; exit 5"});
  ASSERT_TRUE(terminal.wait_for("ready\r\n")) << terminal.screen();
  terminal.type("\x03");
  // The shell counts it before it reads what comes after.
  ASSERT_TRUE(terminal.wait_for("^C")) << terminal.screen();
  terminal.type("a\nb\n");
  EXPECT_EQ(terminal.wait(), 5) << terminal.screen();
  EXPECT_THAT(terminal.screen(), HasSubstr("interrupted 1 times"));
  EXPECT_THAT(terminal.screen(), HasSubstr("doxlab: 0 packets")) << "the summary was not printed";
}

TEST(LinkCommand, ShellOnATerminalHasJobControl) {
  OnTerminal terminal({"-q", "--", "bash", "--norc", "--noediting", "-i"});
  terminal.type("PS1=; kdig +short @10.66.0.1 example.com; echo 'answered' $?\n");
  ASSERT_TRUE(terminal.wait_for("192.0.2.1\r\n")) << terminal.screen();
  ASSERT_TRUE(terminal.wait_for("answered 0")) << terminal.screen();
  // Ctrl-Z stops the job and not the shell.
  terminal.type("sh -c 'echo star''ted; exec sleep 1000'\n");
  ASSERT_TRUE(terminal.wait_for("started")) << terminal.screen();
  terminal.type("\x1a");
  ASSERT_TRUE(terminal.wait_for("Stopped")) << terminal.screen();
  terminal.type("kill -9 %1; sleep 0.1\n\n");
  ASSERT_TRUE(terminal.wait_for("Killed")) << terminal.screen();
  terminal.type("exit 6\n");
  EXPECT_EQ(terminal.wait(), 6) << terminal.screen();
  EXPECT_THAT(terminal.screen(), Not(HasSubstr("no job control")));
}

}  // namespace
}  // namespace doxlab
