#pragma once
/// The transports that doxlab compares, as one small value with all its spellings.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace doxlab {

enum class Transport : std::uint8_t { Do53, Do53Tcp, Dot, Doh, Doh3, Doq };

inline constexpr std::array kAllTransports = {Transport::Do53, Transport::Do53Tcp, Transport::Dot,
                                              Transport::Doh,  Transport::Doh3,    Transport::Doq};

/// The one spelling on the command line, in JSON and in file names: do53, do53-tcp, dot, doh, doh3, doq.
std::string_view to_string(Transport t);
/// As people write it: Do53, Do53/TCP, DoT, DoH, DoH3, DoQ.
std::string_view display_name(Transport t);
std::optional<Transport> parse_transport(std::string_view text);

bool is_stream(Transport t);     ///< runs over TCP
bool is_encrypted(Transport t);
bool is_quic(Transport t);
/// 53, 853 or 443 (RFC 1035, 7858, 8484, 9250).
std::uint16_t default_port(Transport t);
/// The ALPN protocol: dot, h2, h3, doq; empty for Do53.
std::string_view alpn(Transport t);
/// The URL scheme of `doxlab query`: udp, tcp, tls, https, h3, quic.
std::string_view url_scheme(Transport t);

}  // namespace doxlab
