#pragma once
/// Which of all packets of an execution are those of the lookup: what a client that others wrote sent is told from the wire.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiment/rig.hpp"
#include "results/run.hpp"

namespace doxlab::experiment {

/// Over which transport a server is asked at an address; empty: none.
using TransportAt = std::function<std::optional<Transport>(capture::Protocol protocol, const SocketAddress& server)>;

/// What an execution was to ask.
struct ForeignQuestion {
  std::string qname;                   ///< with or without the final dot
  std::uint16_t qtype = 0;
  /// Empty: whichever it turns out to be.
  std::optional<Transport> transport;
};

/// Takes apart what `sample` has: all packets of the execution in `packets`, those of a forwarder's start in `opening`, and secrets.
/// Leaves in `packets` those of the lookup, in `opening` what went before on the same connection, and in `beside`
/// the rest. The lookup is the flow that brought the first whole answer to the question (a truncated one only if no
/// other came), and earlier ones to the same server, over the same transport or the one that truncation leads from, that asked it
/// in vain or failed before they could ask. Without an answer it is all flows over the transport. Sets `task.transport` if the question has none, and
/// of the result: `started` (the client's first packet; on a connection that had brought answers
/// to other questions before, the one with the question), `connected` and `secured` (arrival of the server's SYN ACK and of its
/// Finished), `answered` (arrival of the last octet that the answer needed, in its stream's order), `response` (the
/// header alone, of DNS that could be read), `handshake`, `quic_retry`, `used_tcp_fallback`.
/// False: no flow over any known transport was there.
bool recognize_lookup(Sample& sample, const ForeignQuestion& question, const TransportAt& transport_at);

/// Flows of `packets`, in order of their first packets.
std::vector<results::OtherFlow> describe_flows(std::span<const capture::RecordedPacket> packets);

}  // namespace doxlab::experiment
