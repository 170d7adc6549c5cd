#pragma once
/// What a packet carried, for people (a line of text) and for the analysis (what of it matters for causes).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dissect/flow.hpp"

namespace doxlab::trace {

/// In order of their octets: "SYN", "ACK", "ClientHello 1173", "initial 0: ServerHello 1210, handshake 0:
/// EncryptedExtensions 64 + Certificate 901 again". Numbers behind names are octets in this packet, those behind
/// QUIC packet types are packet numbers; "again" marks octets that the sender had sent before.
std::string describe_packet(const dissect::Dissection& dissection, std::size_t packet);

/// What a datagram asks for that is neither TCP nor QUIC.
enum class Asks : std::uint8_t { Nothing, Dns, DnscryptCertificate, Dnscrypt };

/// The points in which a packet can matter for the time of a lookup. Of several QUIC packets in a datagram all
/// count.
struct Carried {
  bool syn = false, reset = false, fin = false;
  bool client_hello = false, server_hello = false, hello_retry_request = false;
  bool retry = false, version_negotiation = false;
  bool certificate_answer = false;  ///< DNSCrypt: the answer with the certificate
  bool truncated_answer = false;    ///< DNS: TC over UDP
  Asks asks = Asks::Nothing;
  bool answer = false;              ///< octets of a DNS answer
  bool new_handshake = false;       ///< handshake octets that its sender had not sent before
  bool new_data = false;            ///< any octets of a stream that its sender had not sent before, handshake or not
  bool repeated = false;            ///< octets of a stream, a SYN or a FIN that its sender had sent before
  bool is_quic = false;
  bool ack_eliciting = false;       ///< QUIC (RFC 9002 §2); TCP: it has payload, SYN or FIN
  bool has_ack = false;             ///< QUIC: an ACK frame; TCP: the flag
  bool close = false;               ///< CONNECTION_CLOSE, stateless reset, RST, or a fatal or closing TLS alert
  /// QUIC: the packet number space of its first ack-eliciting frame, of a probe if it is one.
  std::optional<dissect::Epoch> space;
  std::uint32_t udp_payload_bytes = 0;
};

Carried what_it_carried(const dissect::Dissection& dissection, std::size_t packet);
/// Of all packets, by index. A SYN or FIN counts as repeated if its sender sent one before on the connection.
std::vector<Carried> what_they_carried(const dissect::Dissection& dissection);

/// True if a QUIC frame asks for an acknowledgement (RFC 9002 §2): all but ACK, PADDING, CONNECTION_CLOSE.
bool is_ack_eliciting(std::uint64_t frame_type);

}  // namespace doxlab::trace
