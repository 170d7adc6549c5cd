#pragma once
/// The records of a run: plain data, all that a report knows. The JSON of `--json` is these structs, field
/// by field; docs/results.md describes it. Per-transport summaries keep the field names of the public
/// harness that doxlab follows, so its readers work on ours.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/accounting.hpp"
#include "results/schema_version.hpp"

namespace doxlab::results {

/// Where and with what the run was made.
struct Environment {
  std::string doxlab_version;
  std::string kernel, architecture, distribution, cpu;
  unsigned cores = 0;
  std::uint64_t memory_bytes = 0;
  bool virtual_machine = false;
  std::string openssl, ngtcp2, nghttp3, nghttp2;
  std::map<std::string, std::string> kernel_settings;  ///< read back in the client's namespace
};

struct LinkSettings {
  double one_way_delay_ms = 0;
  double round_trip_ms = 0;
  double loss_percent = 0;          ///< each direction; with bursts the long-run share
  std::string burst;                ///< Gilbert-Elliott "p,r,1-h,1-k" in percent; empty: independent losses
  double duplicate_percent = 0, corrupt_percent = 0, reorder_percent = 0;  ///< each direction
  std::uint64_t mtu = 0;            ///< of the interfaces, IP bytes
  std::uint64_t path_mtu = 0;       ///< larger packets vanish on the way, IP bytes; 0: none do
  std::vector<std::string> dropped; ///< of every lookup, "s2c/1": the second packet of the server
  std::uint64_t rate_bps = 0;       ///< 0: unlimited
  std::uint64_t queue_bytes = 0;    ///< 0: unlimited
  std::uint64_t seed = 0;
};

/// How late the link delivered packets: actual minus due.
struct LinkPrecision {
  std::uint64_t packets = 0;
  double p50_us = 0, p99_us = 0, max_us = 0;
  bool real_time_priority = false;
  bool within_1_ms = true;          ///< p99 at most 1 ms; otherwise the figures are not to be trusted
};

/// A client that others wrote.
struct ClientProgram {
  std::string name, version;                    ///< version: empty if it has none
  std::string command;                          ///< as typed, of a client that is a command; else empty
  std::vector<std::string> not_spoken;          ///< transports that it cannot ask over
};

/// What was asked of the endpoints.
struct EndpointSettings {
  std::string subject, subject_version;         ///< the server: "builtin", or a program and its version
  std::vector<std::string> offered, not_offered;  ///< transports; of the builtin resolver all are offered
  /// Of a server elsewhere, reached through address translation; empty: the server was in the lab.
  std::string server_address;
  bool direct = false;                          ///< that server was asked without lab and link, which `link` then says nothing of
  std::map<std::string, std::uint16_t> server_ports;   ///< by transport
  std::map<std::string, std::string> not_answering;    ///< by transport: why it was not measured
  std::string qname, qtype, family;             ///< family: "ipv4" or "ipv6"
  std::string client_groups, server_groups;     ///< OpenSSL lists; `*` marks a key share
  std::uint64_t chain_bytes = 0;                ///< DER bytes that the server sends
  std::string chain_key;                        ///< "ecdsa-p256" or "rsa-2048"
  std::string doq_retry, doh3_retry;            ///< "off" or "always"
  std::uint64_t client_datagram_bytes = 0, server_datagram_bytes = 0;  ///< UDP payload
  double initial_rtt_ms = 0, server_initial_rtt_ms = 0;  ///< QUIC: RTT assumed before the first sample
  std::string congestion_control;               ///< QUIC: "cubic", "reno" or "bbr"; TCP's is among the kernel settings
  std::uint64_t tcp_initial_window = 0;         ///< segments; 0: the kernel's 10
  std::uint64_t first_flight_copies = 1;
  std::string start;                            ///< "cold", "reused", "resumed", "0rtt"
  bool early_data_rejected = false, token = false, fast_open = false;
  double do53_retransmission_ms = 0;            ///< 0: never
  std::string doh_method;                       ///< "post" or "get"
  std::vector<std::string> dnscrypt_constructions;  ///< offered and accepted, the preferred one first
  double timeout_s = 0;
  bool certificate_verified = true;
  /// Not doxlab's own client: times start at the first packet of its lookup, and what is said here of the client's settings is
  /// what it was asked for with the options that it follows; the rest is empty or 0. Absent: doxlab's own.
  std::optional<ClientProgram> client;
};

/// What a client that others wrote sent and got beside its lookup, between two sockets. Bytes are IP bytes; lost packets
/// are among them.
struct OtherFlow {
  std::string protocol;                         ///< "tcp" or "udp"
  std::string server;                           ///< address and port
  std::uint64_t pkts_c2s = 0, pkts_s2c = 0, bytes_c2s = 0, bytes_s2c = 0;
  std::uint64_t pkts_lost = 0;
};

/// One cold lookup. Bytes are IP bytes; packets and bytes count what was sent until the answer (docs/method.md), lost
/// packets included; what came after (tickets, acknowledgements, closing) is apart.
struct PacketsSample {
  std::uint64_t sample = 0;
  std::string outcome;                          ///< "answered", "timed out", ...
  std::string reason;                           ///< why, if not answered
  std::string rcode;                            ///< of the answer: "NOERROR", "REFUSED", ...; empty: no answer
  bool truncated = false;                       ///< the answer has TC: records are missing in it
  std::optional<double> ms;                     ///< start to answer
  std::optional<std::uint64_t> round_trips;     ///< counted on the critical path
  std::optional<double> compute_ms;             ///< ms minus what packets spent on the link
  std::optional<double> client_ms, server_ms;   ///< compute_ms at the client, at the server
  std::optional<double> connect_ms, secure_ms;  ///< start to TCP established; to handshake completed
  std::uint64_t pkts_c2s = 0, pkts_s2c = 0, bytes_c2s = 0, bytes_s2c = 0;
  std::uint64_t flights = 0;
  std::uint64_t pkts_after = 0, bytes_after = 0;
  std::uint64_t pkts_lost = 0;
  /// DNSCrypt: start to an accepted certificate, and the packets of the exchange that fetched it. They are part
  /// of `ms`, `pkts_c2s`, `bytes_c2s` and so on; what is left is what a client that knows the certificate pays.
  std::optional<double> certificate_ms;
  std::optional<std::uint64_t> certificate_pkts, certificate_bytes;
  std::string group, cipher;
  bool retry = false, hello_retry_request = false, tcp_fallback = false;
  bool resumed = false;
  std::string early_data;                       ///< "accepted", "rejected"; empty: not offered
  std::map<std::string, double> causes_ms;      ///< what `ms` consists of; docs/explain.md
  std::map<std::string, OwnedBytes> ledger;     ///< what the bytes of both directions consist of
  bool disturbed = false;                       ///< the machine was too busy in every attempt: do not trust its times
  std::optional<std::vector<OtherFlow>> other_flows;  ///< absent: there were none
};

/// Medians over the answered samples (the lower of two middle ones, so that counts stay whole).
struct PacketsSummary {
  std::string transport;                        ///< display name
  std::uint64_t samples = 0;                    ///< answered
  std::uint64_t no_answer = 0;
  std::uint64_t disturbed = 0;                  ///< of all, answered or not; they are in the figures, with a warning
  std::optional<double> ms, ms_min, ms_max;
  std::optional<double> rtt_est;                ///< ms divided by the round trip, as the public harness has it
  std::optional<std::uint64_t> round_trips, round_trips_min, round_trips_max;
  std::optional<double> compute_ms, compute_ms_min, compute_ms_max;
  std::uint64_t pkts_c2s = 0, pkts_s2c = 0, bytes_c2s = 0, bytes_s2c = 0, bytes_total = 0;
  std::uint64_t flights = 0;
  std::optional<double> certificate_ms;         ///< DNSCrypt: the fetch of the certificate, part of the above
  std::optional<std::uint64_t> certificate_pkts, certificate_bytes;
  std::optional<Accounting> accounting;         ///< empty: nothing was taken apart
  std::vector<PacketsSample> raw;
};

struct PacketsRun {
  int schema_version = kSchemaVersion;
  std::string experiment = "packets";
  std::string command_line;
  std::string started;                          ///< UTC, ISO 8601
  double duration_s = 0;
  bool complete = true;                         ///< false: interrupted; what was measured is here
  std::uint64_t repeated = 0;                   ///< lookups made again because the machine disturbed them
  Environment environment;
  LinkSettings link;
  EndpointSettings endpoints;
  LinkPrecision precision;
  /// By transport, who counted its packets: "link"; of a server that is asked directly "packet_socket", "datagrams" or "segments"
  /// (docs/elsewhere.md).
  std::map<std::string, std::string> counted_by;
  std::uint64_t missed_packets = 0;             ///< that should have been seen or kept, and were not
  std::map<std::string, PacketsSummary> results;  ///< by transport: do53, do53-tcp, dnscrypt, ..., doq
};

/// Pretty-printed JSON with a final newline.
std::string to_json(const PacketsRun& run);

}  // namespace doxlab::results
