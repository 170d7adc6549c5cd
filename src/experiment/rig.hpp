#pragma once
/// A lab with the resolver running in the server's namespace and a client loop in the client's: give it
/// lookups, get back what each did and every packet of it.

#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "client/lookup.hpp"
#include "experiment/setup.hpp"
#include "lab/lab.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {

/// One cold lookup to make. `sample` goes into the link's draws: the same number meets the same luck on
/// every transport.
struct Task {
  Transport transport = Transport::Do53;
  std::uint64_t sample = 0;
};

/// Who counted the packets of a lookup.
enum class Counting : std::uint8_t {
  Link,          ///< the lab's link: sent and delivered are known
  PacketSocket,  ///< a packet socket at the client: both times are those at the client until place_server()
  Datagrams,     ///< the client's UDP socket, of which each datagram was made a packet; times likewise
  Segments,      ///< the kernel, which knows of a TCP connection how many segments there were, and not which
};
std::string_view to_string(Counting counting);  // "link", "packet_socket", "datagrams", "segments"

/// What is known of a lookup over TCP where no packets were seen.
struct StreamCounts {
  /// What the socket's user did and saw, and the acknowledgements that the kernel gave: packets without octets. Round trips are
  /// counted on them, and nothing else.
  std::vector<capture::RecordedPacket> steps;
  trace::Volumes volumes;  ///< with IP and TCP headers as they follow from the number of segments; lost ones are not told
};

/// What one lookup did. Packets include the closing of the connection.
struct Sample {
  Task task;
  client::LookupResult result;
  Counting counting = Counting::Link;
  std::vector<capture::RecordedPacket> packets;  ///< in order of `sent`; none if there are `streams`
  std::optional<StreamCounts> streams;           ///< if and only if Counting::Segments
  /// Of a reused connection: what went before the measured query. Not counted; dissecting needs it.
  std::vector<capture::RecordedPacket> opening;
  /// Of a client that others wrote: what the program sent and got that does not belong to the lookup, in order of `sent`.
  std::vector<capture::RecordedPacket> beside;
  std::string key_log;                           ///< lines of SSLKEYLOGFILE for its TLS sessions
  Duration link_lateness{};  ///< of the latest of its packets: actual minus due, or the link's stall before it was read
  Duration loop_lag{};       ///< the worst of an event loop when a packet for it arrived, or until the first was sent
  bool disturbed = false;                        ///< set by the sampler: late in every attempt
};

/// Looks at a sample, packets and all, before they are reduced to results; in the thread that runs the
/// experiment, in order of completion.
using SampleHandler = std::function<void(const Sample&)>;

/// The query that a setup's lookups send. Errors: std::runtime_error (no such type).
Bytes compose_query(const Setup& setup, Transport t);
/// What a setup's lookups share, without transport, addresses and what is remembered of earlier ones. Trust anchors in PEM;
/// empty: the system's. Errors: std::runtime_error (groups).
client::LookupOptions lookup_options(const Setup& setup, const std::string& roots_pem);

struct Pace {
  Duration interval = 15ms;        ///< between the starts of two lookups
  std::size_t in_flight = 256;     ///< at most; a lookup counts until its answer or timeout
};

class Rig {
 public:
  /// With setup.client that program asks, once for each task: `result.started` is then the first packet of its lookup, the
  /// client's settings in the setup are its own business, and of a command setup() has the transport that it was seen to use.
  /// Builds the lab, starts the resolver or the setup's subject, makes one uncounted lookup for each transport so that nothing is
  /// loaded for the first time inside a measurement. A server elsewhere is reached from the network namespace of the thread
  /// that calls this. Errors: exceptions that say what failed and what to do.
  explicit Rig(const Setup& setup);
  ~Rig();

  /// Runs the tasks in order. `on_sample` is called for each in this thread, in order of completion.
  /// Returns false if `stop` ended it early; lookups in flight are then dropped. Errors: std::runtime_error if a
  /// foreign server has ended meanwhile.
  bool run(std::span<const Task> tasks, const Pace& pace, const std::function<void(Sample&&)>& on_sample,
           std::stop_token stop);

  /// Changes the pace of the run under way, from any thread; with setup.client from that of run().
  void set_interval(Duration interval);

  /// Not of a setup that measures directly: std::logic_error.
  lab::Lab& lab();
  /// Of the lab, or directly of this machine.
  std::vector<std::pair<std::string, std::string>> kernel_settings() const;
  /// Of the lab's link; directly there is none, and nothing was late.
  lab::LinkPrecision precision() const;
  /// Packets of the server that should have been seen or kept and were not, those of other programs included.
  std::uint64_t missed_packets() const;
  const Setup& setup() const;
  /// The last lines that a foreign server wrote; empty: none, or doxlab's own resolver serves.
  std::string server_log() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::experiment
