#pragma once
/// DNS messages where they stand in a datagram or a stream, cut into header, question, records, OPT and
/// padding. What they say is for src/dns to parse.

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "dissect/carrier.hpp"

namespace doxlab::dissect {

struct DnsMessage {
  Carrier carrier;
  std::uint64_t stream_id = 0;  ///< of the QUIC or HTTP/2 stream; 0 over UDP, TCP and TLS
  /// Where its first octet is: in the TCP, TLS or QUIC stream; over HTTP in the content of its stream.
  std::uint64_t stream_offset = 0;
  std::uint32_t length = 0;     ///< without length prefix
  bool is_well_formed = false;  ///< it is whole, and its records fill it
  bool is_response = false;
  bool is_truncated = false;  ///< TC
  std::uint16_t id = 0;
  std::uint16_t rcode = 0;  ///< without the extended bits
  std::string qname;        ///< presentation form; empty: no question
  std::uint16_t qtype = 0;
  std::uint32_t padding_bytes = 0;  ///< of padding options with their headers

  /// Asks for a certificate of DNSCrypt v2, or brings one (draft-denis-dprive-dnscrypt-11 §5.5).
  bool is_dnscrypt_certificate() const { return qtype == 16 && qname.starts_with("2.dnscrypt-cert."); }
};

/// Cuts the message that `octets` are, and names its octets in a layout from `begin` on. `index` is what its
/// labels' `item` will be. Carrier and place are the caller's.
DnsMessage read_dns_message(BytesView octets, Layout& layout, std::uint64_t begin, std::uint32_t index);

/// True if a message is well-formed and has at most one question: what other protocols' octets hardly are.
bool is_dns_message(BytesView octets);

/// Reads a stream of messages with their lengths in front (RFC 1035 §4.2.2; RFC 9250 §4.2 has one a stream).
/// Names the octets of `stream` and appends the messages.
void read_dns_stream(BytesView stream, const Carrier& carrier, std::uint64_t stream_id, Layout& layout,
                     std::vector<DnsMessage>& messages);

}  // namespace doxlab::dissect
