#pragma once
/// Which application a connection carries, and the names of its octets. Internal.

#include "dissect/flow.hpp"

namespace doxlab::dissect {

inline constexpr std::uint16_t kDnsPort = 53, kDotPort = 853, kHttpsPort = 443;

/// Reads the streams of a TCP connection: TLS, HTTP/2, DNS, DNSCrypt.
void read_tcp_streams(Dissection& out, std::uint32_t connection, const KeyLog& keys);
/// Reads the streams of a QUIC connection: DoQ or HTTP/3.
void read_quic_streams(Dissection& out, std::uint32_t connection);
/// True if a datagram shows that its path carries DNSCrypt: an encrypted response, or a question for the certificate.
bool shows_dnscrypt(BytesView payload);
/// Names a datagram that is not QUIC. `is_dnscrypt`: its path carries DNSCrypt. Empty: it is nothing known.
Layout read_datagram(Dissection& out, BytesView payload, link::Direction direction, std::uint16_t server_port,
                     bool is_dnscrypt);

}  // namespace doxlab::dissect
