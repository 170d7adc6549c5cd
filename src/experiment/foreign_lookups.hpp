#pragma once
/// The lookups of a client that others wrote: one execution of its program each, in the client's namespace of a lab, one
/// after the other, since packets are told from each other by the time at which they were sent.

#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "dnscrypt/resolver_keys.hpp"
#include "experiment/rig.hpp"
#include "lab/foreign_client.hpp"
#include "net/child_process.hpp"

namespace doxlab::experiment {

class ForeignLookups {
 public:
  /// What is known of the server beside the setup.
  struct Server {
    std::string chain_pem, roots_pem;
    const dnscrypt::ResolverKeys* dnscrypt_keys = nullptr;  ///< null: no DNSCrypt; used in the constructor only
  };

  /// The setup is one with a client, and outlives this object, as the lab does. Errors: std::runtime_error (a question that is none).
  ForeignLookups(lab::Lab& lab, const Setup& setup, const Server& server);

  /// A line of SSLKEYLOGFILE of a session of the server, from any thread: what decrypts the lookups of clients that write none.
  void add_secret(std::string_view line);

  /// Executes the program once, until it ends, or until setup.timeout after its first packet (or after kStartLimit without any),
  /// when it is killed with all that it has started. Outcomes: Answered if the answer is on the wire within the
  /// timeout, whatever the program says; TimedOut if it had to be killed; else Failed, with how it ended and the last lines
  /// that it wrote. `is_spared`: the link loses nothing of it. Empty: `stop` ended it.
  /// Errors: std::runtime_error if the program is not there.
  std::optional<Sample> look_up(const Task& task, bool is_spared, const std::stop_token& stop);

  /// Executes the program once over each transport of the setup, or once if it is a command, so that it is in memory; the link
  /// loses nothing of that, and it counts nowhere. Returns the transports that are asked over: of a command the one that is seen.
  /// Errors: std::invalid_argument (a transport that the client does not speak); std::runtime_error with what a command did instead
  /// of asking.
  std::vector<Transport> warm_up();

  /// One after the other, the beginnings at least `interval` apart. False if `stop` ended it early.
  bool look_up_all(std::span<const Task> tasks, Duration interval, const std::function<void(Sample&&)>& on_sample,
                   const std::stop_token& stop);
  /// From the thread of look_up_all(), for what is still to come.
  void set_interval(Duration interval) { interval_ = interval; }

  static constexpr Duration kStartLimit = 20s;

 private:
  /// How an execution ended.
  struct Ending {
    std::optional<int> status;   ///< empty: killed
    bool timed_out = false;
    std::string last_lines;
    std::string key_log;
    Bytes answer;                ///< that a forwarder gave
    std::string reason;          ///< why it got no answer; empty: it ended by itself
  };

  Transport find_transport();
  std::optional<Sample> execute(const Task& task, std::optional<Transport> transport, bool is_spared, const std::stop_token& stop);
  void run_program(std::optional<Transport> transport, lab::FlowTag tag, bool is_spared, const std::stop_token& stop, Ending& ending);
  void ask_forwarder(net::ChildProcess& child, lab::FlowTag tag, bool is_spared, const std::stop_token& stop, Ending& ending);
  void wait_for_end(net::ChildProcess& child, const std::stop_token& stop, Ending& ending) const;
  lab::SubjectValues values_for(std::optional<Transport> transport) const;
  SocketAddress server_of(Transport transport) const;
  std::optional<Transport> transport_at(capture::Protocol protocol, const SocketAddress& server) const;
  std::string what_happened(const Ending& ending) const;

  lab::Lab& lab_;
  const Setup& setup_;
  lab::SubjectValues values_;           ///< that are the same for every transport
  std::string roots_pem_, dnscrypt_stamp_;
  std::uint16_t qtype_ = 0;
  std::uint64_t next_lookup_ = 1;
  Duration interval_{};
  std::mutex mutex_;
  std::string secrets_;
};

/// Base64 of the SHA-256 of the public key of the first certificate (RFC 7469 §2.4); empty if there is none.
std::string spki_of(const std::string& chain_pem);
/// A DNS stamp of a DoH server (https://dnscrypt.info/stamps-specifications).
std::string doh_stamp(const SocketAddress& server, const std::string& name, const std::string& path);
/// "kdig 3.4.6"; empty: doxlab's own client.
std::string client_title(const Setup& setup);

}  // namespace doxlab::experiment
