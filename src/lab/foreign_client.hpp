#pragma once
/// A client that others wrote, as a file describes it (docs/clients.md): by which command it asks over each transport, and
/// what can be told to it.
///
/// A caller sets `experiment::Setup::client` (experiment::choose_client() does it from a name, a file or a command) and runs
/// any experiment: Rig then executes the program once for each Task and hands over samples of the same form, of which
/// the packets are those of the lookup, and beside them what else the program sent.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "lab/subject.hpp"
#include "transport/transport.hpp"

namespace doxlab::lab {

/// Words of a command, or the values of variables, may hold placeholders, which stand for:
///   server        address of the server; `host`: the same, in brackets if it is IPv6
///   port          of the transport at the server
///   name          the server's name, for which its certificate is valid; the program finds it in its hosts file
///   roots         a file of trust anchors, PEM
///   qname, qtype  the question; `query`: a file with the DNS message, `query_base64url`: the same in a word (RFC 8484 §4.1)
///   doh_path      "/dns-query"
///   stamp         DNS stamp of the server: of DNSCrypt, and of DoH
///   spki          base64 of the SHA-256 of the certificate's public key (RFC 7469 §2.4); empty if a subject holds the key elsewhere
///   folder        a folder of this execution alone, working directory of the program, gone afterwards
///   key_log       a file in it, which is SSLKEYLOGFILE too
///   listen_port   of a forwarder
///   groups, method   as --group (OpenSSL's list without marks) and --method (post, get) have it
struct ForeignClient {
  std::string name;
  std::string summary;                       ///< one line for people
  std::string package;                       ///< Debian package that holds the program; may be empty
  std::vector<std::string> version_command;  ///< prints a version; empty: none is known
  /// By transport: program and arguments.
  std::map<Transport, std::vector<std::string>> commands;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<SubjectFile> files;            ///< written into the folder before each execution
  /// Zones in master-file format that doxlab's resolver serves beside the built-in one: what the program asks by itself before
  /// it trusts a server. Not beside a zone that the user gives.
  std::string zones;
  /// Options of doxlab's client that it follows, without dashes: those that its file has placeholders for.
  std::set<std::string, std::less<>> options;
  /// Of a forwarder: it is started, asked by a plain UDP query to this port of 127.0.0.1 and ended. It is ready when it has
  /// written `ready`, or, if that is empty, when it answers; then it is asked what is measured.
  std::optional<std::uint16_t> listen_port;
  std::string ready;
  /// A command as it was typed, run by sh(1); `commands` is then empty, and over which transport it asks is seen on the wire.
  std::string command_line;
};

/// Reads a client file. Errors: `source`, the line, and what is wrong, as parse_subject().
Result<ForeignClient> parse_foreign_client(std::string_view toml, std::string_view source);

/// A command that somebody typed: its words as sh(1) has them, with placeholders. The name is that of its program.
/// Errors: it is empty or too long, or there is no such placeholder.
Result<ForeignClient> foreign_client_of_command(std::string_view command_line);

/// Names of the clients that are built in, sorted: "chromium", "curl", "dig", "dnscrypt-proxy", "kdig".
std::vector<std::string> built_in_foreign_clients();
/// One of them. Errors: no client of that name.
Result<ForeignClient> built_in_foreign_client(std::string_view name);

/// The version that its program prints; empty if it prints none or has no command for it. Errors: std::runtime_error if a
/// program is not there, with the package that has it.
std::string ask_version(const ForeignClient& client);

/// "dot, doq"; empty of a command.
std::string spoken_transports(const ForeignClient& client);

}  // namespace doxlab::lab
