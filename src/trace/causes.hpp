#pragma once
/// Where the time of a lookup went: from start to answer, cut into spans along the critical path. The spans lie
/// side by side and sum to the measured time exactly. Transit belongs to a round trip, and a round trip is named
/// by what needed it; the rest is waiting for a timer, computing, or unexplained and said to be so.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/flow.hpp"
#include "trace/carried.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::trace {

/// What needed a round trip.
enum class Need : std::uint8_t {
  TcpHandshake,
  TlsHandshake,        ///< over TCP
  QuicHandshake,
  Retry,               ///< address validation (RFC 9000 §8.1.2)
  VersionNegotiation,  ///< RFC 9000 §6
  HelloRetryRequest,   ///< RFC 8446 §4.1.4
  AmplificationLimit,  ///< RFC 9000 §8.1: the server had more to send than three times what it had received
  CongestionWindow,    ///< the sender had more to send than its window
  CertificateFetch,    ///< DNSCrypt
  Truncation,          ///< the answer over UDP had TC
  LossRecovery,        ///< it only told the sender that something was missing
  Query,
};
std::string_view to_string(Need need);     // "tcp_handshake", ...: the names in JSON
std::string_view display_name(Need need);  // "TCP handshake", ...

/// What an end waited for before it sent.
enum class Timer : std::uint8_t {
  SynRetransmission,     ///< RFC 6298 §2.1, §5.7
  SynAckRetransmission,
  RetransmissionTimeout, ///< RFC 6298; Linux never waits less than 200 ms
  TailLossProbe,         ///< RFC 8985 §7
  LossDelay,             ///< what came later was acknowledged, so it waits for reordering: RFC 8985 §6.2, RFC 9002 §6.1.2
  PtoInitial,            ///< probe timeout by packet number space (RFC 9002 §6.2)
  PtoHandshake,
  PtoApplication,
  DelayedAck,            ///< RFC 9293 §3.8.6.3, RFC 9000 §13.2.1
  QueryRetransmission,   ///< of a DNS client over UDP
};
inline constexpr std::size_t kTimerCount = 10;
std::string_view to_string(Timer timer);     // "syn_retransmission", ...
std::string_view display_name(Timer timer);  // "SYN retransmission", ...

enum class SpanKind : std::uint8_t {
  Transit,      ///< on the link; `need` is set
  Queue,        ///< on the link beyond its delay: behind other packets at the bottleneck, or late
  Timer,        ///< `timer` is set
  Computing,    ///< at one end, from what it had to what it sent
  ThinkTime,    ///< longer, and it had acknowledged what it had: the program was busy or waited, not the network
  Unexplained,  ///< longer than computing takes, and no timer is known for it
};

struct Span {
  SpanKind kind = SpanKind::Computing;
  std::optional<Need> need{};
  std::optional<Timer> timer{};
  link::Direction direction = link::Direction::ToServer;  ///< of the transit, or of what was sent after the wait
  Timestamp begin{}, end{};
  /// Indexes of packets. Transit: the one. Wait: the packet sent at its end, before it those that were lost meanwhile.
  std::vector<std::uint32_t> packets;

  bool is_at_client() const { return kind != SpanKind::Transit && direction == link::Direction::ToServer; }
  Duration length() const { return end - begin; }
};
/// The name of a span's cause in JSON: that of its need or timer, "client_computing", "server_computing",
/// "client_think_time", "server_think_time", "queue", "unexplained"; and for people.
std::string cause_name(const Span& span);
std::string cause_display_name(const Span& span);
/// Every name that cause_name can give.
std::vector<std::string> cause_names();

/// A pair of transits on the path.
struct RoundTrip {
  Need need = Need::Query;
  std::uint32_t to_server = 0, to_client = 0;  ///< indexes of packets
};

/// A server that had more to send than RFC 9000 §8.1 allows. UDP payload bytes.
struct AmplificationStall {
  std::uint64_t received = 0;   ///< by the server from the address that was not validated yet
  std::uint64_t budget = 0;     ///< three times that
  std::uint64_t sent = 0;       ///< by the server when it stopped
  std::uint64_t flight = 0;     ///< what it had to send in all: what it sent, and the new data that followed
  std::uint64_t shortfall = 0;  ///< flight beyond the budget
  std::uint32_t stopped_at = 0, released_by = 0;  ///< its last packet before, and the client's that ended the wait
};

struct Causes {
  std::vector<Span> spans;
  std::vector<RoundTrip> round_trips;
  std::optional<AmplificationStall> stall;
  bool is_explained() const;
  Duration sum() const;
};

/// `packets` are those that `dissection` was made of, in order of sending, with their directions (what was before
/// `started` may be among them). `one_way_delay` is that of the link if it is known; without it there are no Queue
/// spans. Empty: no chain of packets leads from the answer to the start.
std::optional<Causes> find_causes(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets,
                                  Timestamp started, Timestamp answered, std::optional<Duration> one_way_delay);

}  // namespace doxlab::trace
