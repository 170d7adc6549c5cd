#pragma once
/// The transports that doxlab compares, as one small value with all its spellings.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace doxlab {

enum class Transport : std::uint8_t { Do53, Do53Tcp, Dnscrypt, DnscryptTcp, Dot, Doh, Doh3, Doq };

inline constexpr std::array kAllTransports = {Transport::Do53,        Transport::Do53Tcp, Transport::Dnscrypt,
                                              Transport::DnscryptTcp, Transport::Dot,     Transport::Doh,
                                              Transport::Doh3,        Transport::Doq};

/// The one spelling on the command line, in JSON and in file names: do53, do53-tcp, dnscrypt, dnscrypt-tcp, dot,
/// doh, doh3, doq.
std::string_view to_string(Transport t);
/// As people write it: Do53, Do53/TCP, DNSCrypt, DNSCrypt/TCP, DoT, DoH, DoH3, DoQ.
std::string_view display_name(Transport t);
std::optional<Transport> parse_transport(std::string_view text);
/// All spellings, for messages: "do53, do53-tcp, ...".
std::string transport_names();

bool is_stream(Transport t);     ///< runs over TCP
bool is_encrypted(Transport t);  ///< all but Do53: there is something to agree on before the query
bool has_tls(Transport t);       ///< DoT, DoH, DoH3, DoQ: a TLS handshake with certificate, groups and ALPN
bool is_dnscrypt(Transport t);   ///< over UDP or TCP
bool is_quic(Transport t);
/// The transport that a truncated answer is asked for again over (RFC 7766 §5): Do53/TCP for Do53, DNSCrypt/TCP
/// for DNSCrypt; none for the others.
std::optional<Transport> tcp_fallback(Transport t);
/// 53, 853 or 443 (RFC 1035, 7858, 8484, 9250, draft-denis-dprive-dnscrypt-11 §5.2).
std::uint16_t default_port(Transport t);
/// Where doxlab's own resolver listens: the default port, but 5443 for DNSCrypt, since DoH and DoH3 have 443.
std::uint16_t resolver_port(Transport t);
/// The ALPN protocol: dot, h2, h3, doq; empty without TLS.
std::string_view alpn(Transport t);
/// The URL scheme of `doxlab query`: udp, tcp, dnscrypt, dnscrypt-tcp, tls, https, h3, quic.
std::string_view url_scheme(Transport t);

}  // namespace doxlab
