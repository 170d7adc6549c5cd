#pragma once
/// Any command behind the emulated link: it runs in the client's namespace of a lab, with our resolver
/// serving every transport at the other end.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/setup.hpp"
#include "lab/lab.hpp"

namespace doxlab::experiment {

struct BehindLink {
  Setup setup;  ///< the link, both kernels and the resolver; with `ipv6` names are looked up over IPv6
  std::vector<std::string> command;  ///< a program by path or by name on PATH, and its arguments
  std::vector<int> inherited;        ///< descriptors beside 0 to 2 that the command gets
  /// The command sees a resolv.conf that names our resolver, the resolver's name in its hosts file, and an
  /// nsswitch.conf that asks no one else.
  bool private_name_service = true;
  bool early_data = false;   ///< the resolver accepts 0-RTT
  std::string capture_file;  ///< pcapng, written as packets come, secrets of our resolver inside; empty: none
  std::string description;   ///< of the capture: the command line
  /// What a person may want to know although the command runs nevertheless.
  std::function<void(std::string_view)> on_note = [](std::string_view) {};
};

struct BehindLinkResult {
  int status =
      0;  ///< of the command, as a shell tells it: 127 not found, 126 not to be executed, 128 + signal
  std::string start_error;  ///< why the command did not start; empty: it did
  lab::LinkPrecision precision;
  lab::LinkVolume to_server, to_client;
  std::uint64_t captured = 0;  ///< packets in the capture
};

/// Runs the command to its end. To be called in the process's only thread: SIGTERM, SIGINT, SIGHUP, SIGQUIT,
/// SIGUSR1 and SIGUSR2 that other processes send to this one are passed to the command until it has ended.
/// Environment of the command: DOXLAB_SERVER and so on, see environment_behind_link().
/// Errors: exceptions of Lab and Server; std::runtime_error if the capture cannot be written.
BehindLinkResult run_behind_link(const BehindLink& options);

/// What tells a command where the resolver is: DOXLAB_SERVER and DOXLAB_SERVER_IPV6 (addresses; the second
/// only where it listens there), DOXLAB_SERVER_NAME, DOXLAB_ROOT_PEM (a file), DOXLAB_PORT_DO53, ..._DOT,
/// ..._DOH,
/// ..._DOH3, ..._DOQ, ..._DNSCRYPT and so on, and with DNSCrypt DOXLAB_DNSCRYPT_STAMP.
std::vector<std::pair<std::string, std::string>> environment_behind_link(const Setup& setup, bool has_ipv6,
                                                                         const std::string& root_file,
                                                                         const dnscrypt::ResolverKeys* keys);

}  // namespace doxlab::experiment
