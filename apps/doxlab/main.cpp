#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <format>
#include <iostream>
#include <print>
#include <span>
#include <string_view>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "commands.hpp"
#include "net/user_namespace.hpp"

namespace {

using namespace doxlab;

constexpr const char* kFooter = R"(Examples:
  doxlab preflight                             can this machine measure?
  doxlab packets                               what one cold lookup costs, per transport
  doxlab packets --as-published --json out.json
  doxlab packets --only doq --group X25519     the 3x limit costs a round trip
  doxlab loss --loss 2 -n 300                  latency percentiles under loss
  doxlab sweep --grid delay=5,20,100 --grid loss=0,2 --out sweep.ndjson
  doxlab dropmap --only dot                    what the loss of each packet costs
  doxlab repro nginx-1616                      whether a server has that fault
  doxlab pq                                    post-quantum against classical key exchange
  doxlab advise --only doh3 --retry always     what to change, and what that gains
  doxlab warm                                  open connections, resumption, 0-RTT, tokens, Fast Open
  doxlab link --delay 40 -- kdig @10.66.0.1 +tls example.com
  doxlab serve --ip 127.0.0.1 --port-offset 10000
  doxlab query example.com AAAA @tls://127.0.0.1:10853 --ca doxlab-root.pem

Exit codes: 0 fine, 1 failed, 2 wrong usage, 130 interrupted.)";

/// Signals end a run in an orderly way: the first asks, the second insists.
void watch_signals(std::stop_source stop) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set, stop]() mutable {
    int signal = 0;
    sigwait(&set, &signal);
    stop.request_stop();
    sigwait(&set, &signal);
    _exit(app::kInterrupted);
  }).detach();
}

std::string join(int argc, char** argv) {
  std::string out = "doxlab";
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool plain = !arg.empty() && arg.find_first_of(" \t\n'\"\\$&|;<>()*?[]#~`!") == std::string::npos;
    out += plain ? " " + arg : " '" + arg + "'";
  }
  return out;
}

/// How many of the arguments are doxlab's: the parser would change those of a user's command.
int own_arguments(int argc, char** argv, std::span<const app::Command> commands) {
  const bool has_command = argc > 1 && std::ranges::any_of(commands, [&](const auto& c) {
    return c.runs_command && c.app->get_name() == argv[1];
  });
  if (!has_command) return argc;
  return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App parser("doxlab measures what encrypted DNS costs on the wire, and says why.", "doxlab");
  parser.footer(kFooter);
  parser.set_version_flag("--version", "doxlab " DOXLAB_VERSION);
  parser.require_subcommand(1);
  const app::Command commands[] = {
      app::add_suite(parser),
      app::add_packets(parser),
      app::add_loss(parser),
      app::add_pq(parser),
      app::add_warm(parser),
      app::add_sweep(parser),
      app::add_merge(parser),
      app::add_explain(parser),
      app::add_dropmap(parser),
      app::add_repro(parser),
      app::add_advise(parser),
      app::add_report(parser),
      app::add_compare(parser),
      app::add_check(parser),
      app::add_schema(parser),
      app::add_preflight(parser),
      app::add_link(parser),
      app::add_query(parser),
      app::add_serve(parser),
      app::add_man(parser),
      app::add_completion(parser),
  };
  const int own = own_arguments(argc, argv, commands);
  try {
    parser.parse(own, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 says that a subcommand is missing, also when a word was meant to be one.
    if (const auto words = parser.remaining(); error.get_name() == "RequiredError" && parser.get_subcommands().empty() && !words.empty()) {
      std::println(stderr, "doxlab: '{}' is no subcommand; doxlab --help lists them", words.front());
      return app::kUsage;
    }
    return parser.exit(error) == 0 ? app::kOk : app::kUsage;
  }
  const std::stop_source stop;
  const auto* chosen = std::ranges::find_if(commands, [](const auto& c) { return c.app->parsed(); });
  try {
    if (chosen->before_threads) chosen->before_threads();
    if (chosen->needs_lab()) net::enter_user_namespace_if_unprivileged();  // while there is one thread
    if (!chosen->runs_command) watch_signals(stop);
    const int code = chosen->run({join(argc, argv), stop.get_token(), {argv + std::min(own + 1, argc), argv + argc}});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
    return code;
  } catch (const app::UsageError& error) {
    std::println(stderr, "doxlab: {}", error.what());
    return app::kUsage;
  } catch (const std::invalid_argument& error) {  // of a setting that no option checks by itself
    std::println(stderr, "doxlab: {}", error.what());
    return app::kUsage;
  } catch (const std::exception& error) {
    std::println(stderr, "doxlab: {}", error.what());
    return chosen->runs_command ? app::kWrapperFailed : app::kFailed;
  }
}
