#pragma once
/// Other programs, and doxlab itself, run for a test. Each has a time limit, and none outlives the object
/// that holds it. A program that is not installed fails the test with a sentence that says where it comes
/// from.

#include <cerrno>
#include <charconv>
#include <format>
#include <fstream>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "net/child_process.hpp"
#include "net/netlink.hpp"
#include "net/network_namespace.hpp"

namespace doxlab::test {

/// Far more than any program here needs on a busy machine.
inline constexpr Duration kProgramLimit = 60s;

using Command = std::vector<std::string>;

/// The program under test with these arguments.
inline Command doxlab(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), DOXLAB_BINARY);
  return arguments;
}

inline std::string join(const Command& command) {
  std::string out;
  for (const auto& word : command) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// In the calling thread's network namespace. Errors: std::runtime_error with what to do.
inline std::unique_ptr<net::ChildProcess> start_program(const Command& command,
                                                        const net::ChildOptions& options = {}) {
  try {
    return std::make_unique<net::ChildProcess>(command, options);
  } catch (const std::system_error& error) {
    if (error.code().value() != ENOENT) throw;
    throw std::runtime_error(
        std::format("{} is not installed; it belongs to the test tools (./dev --with-test-tools, "
                    "toolchain/packages.test)",
                    command.front()));
  }
}

/// What a program left behind.
struct Finished {
  std::string command;
  int status = -1;
  std::string output, errors;
};

inline std::ostream& operator<<(std::ostream& out, const Finished& finished) {
  return out << finished.command << "\nexit code " << finished.status << "\n--- output\n"
             << finished.output << "--- errors\n"
             << finished.errors;
}

/// Runs a program to its end. Errors: std::runtime_error, with what it wrote, when the limit is over.
inline Finished run_program(const Command& command, Duration limit = kProgramLimit) {
  const auto child = start_program(command);
  const auto status = child->wait(limit);
  Finished out{join(command), status.value_or(-1), child->output(), child->errors()};
  if (!status) throw std::runtime_error(std::format("{}\ndid not end; errors: {}", out.command, out.errors));
  return out;
}

/// A network of a test's own: a namespace that holds nothing but the loopback device. Servers have their
/// usual ports there, tests do not meet each other, and nothing reaches the outside.
class Network {
 public:
  Network() : namespace_(net::NetworkNamespace::make()) {
    namespace_.run([] { net::Netlink().set_up("lo"); });
  }

  std::unique_ptr<net::ChildProcess> start(const Command& command,
                                           const net::ChildOptions& options = {}) const {
    std::unique_ptr<net::ChildProcess> child;
    namespace_.run([&] { child = start_program(command, options); });
    return child;
  }

  Finished run(const Command& command, Duration limit = kProgramLimit) const {
    Finished out;
    namespace_.run([&] { out = run_program(command, limit); });
    return out;
  }

  /// Starts a server and waits until the kernel has its sockets, without sending it anything.
  /// Errors: std::runtime_error with what the server wrote, if it ends or takes too long.
  std::unique_ptr<net::ChildProcess> start_server(const Command& command,
                                                  const std::vector<std::uint16_t>& tcp_ports,
                                                  const std::vector<std::uint16_t>& udp_ports,
                                                  const net::ChildOptions& options = {}) const {
    auto child = start(command, options);
    namespace_.run([&] {
      const auto end = monotonic_now() + kProgramLimit;
      while (!has_sockets("tcp", tcp_ports) || !has_sockets("udp", udp_ports)) {
        const bool ended = child->wait(20ms).has_value();
        if (ended || monotonic_now() > end)
          throw std::runtime_error(std::format("{} {}; it wrote:\n{}{}", join(command),
                                               ended ? "ended" : "does not listen", child->output(),
                                               child->errors()));
      }
    });
    return child;
  }

 private:
  /// Whether this thread's network has a listening (TCP) or unconnected (UDP) socket at each of the ports.
  static bool has_sockets(const std::string& protocol, const std::vector<std::uint16_t>& ports) {
    const std::string_view wanted_state = protocol == "tcp" ? "0A" : "07";
    std::vector<std::uint16_t> found;
    for (const auto* family : {"", "6"}) {
      std::ifstream table("/proc/thread-self/net/" + protocol + family);
      std::string line;
      std::getline(table, line);
      while (std::getline(table, line)) {
        // "  0: 0100007F:0035 00000000:0000 0A ...": number, local and remote address, state.
        std::istringstream words(line);
        std::string number, local, remote, state;
        words >> number >> local >> remote >> state;
        const auto colon = local.rfind(':');
        std::uint16_t port = 0;
        if (state != wanted_state || colon == std::string::npos) continue;
        std::from_chars(local.data() + colon + 1, local.data() + local.size(), port, 16);
        found.push_back(port);
      }
    }
    for (const auto port : ports)
      if (std::ranges::find(found, port) == found.end()) return false;
    return true;
  }

  net::NetworkNamespace namespace_;
};

}  // namespace doxlab::test
