#include "transport/transport.hpp"

#include <algorithm>

namespace doxlab {
namespace {

struct Facts {
  Transport transport;
  std::string_view name, display, alpn, scheme;
  std::uint16_t port;
  bool stream, tls, quic;
};

constexpr std::array kFacts = {
    Facts{Transport::Do53, "do53", "Do53", "", "udp", 53, false, false, false},
    Facts{Transport::Do53Tcp, "do53-tcp", "Do53/TCP", "", "tcp", 53, true, false, false},
    Facts{Transport::Dnscrypt, "dnscrypt", "DNSCrypt", "", "dnscrypt", 443, false, false, false},
    Facts{Transport::DnscryptTcp, "dnscrypt-tcp", "DNSCrypt/TCP", "", "dnscrypt-tcp", 443, true, false, false},
    Facts{Transport::Dot, "dot", "DoT", "dot", "tls", 853, true, true, false},
    Facts{Transport::Doh, "doh", "DoH", "h2", "https", 443, true, true, false},
    Facts{Transport::Doh3, "doh3", "DoH3", "h3", "h3", 443, false, true, true},
    Facts{Transport::Doq, "doq", "DoQ", "doq", "quic", 853, false, true, true},
};

constexpr const Facts& facts(Transport t) { return kFacts[static_cast<std::size_t>(t)]; }

static_assert([] {
  for (auto t : kAllTransports)
    if (facts(t).transport != t) return false;
  return kFacts.size() == kAllTransports.size();
}());

bool is_same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string_view to_string(Transport t) { return facts(t).name; }
std::string_view display_name(Transport t) { return facts(t).display; }
std::string_view alpn(Transport t) { return facts(t).alpn; }
std::string_view url_scheme(Transport t) { return facts(t).scheme; }
std::uint16_t default_port(Transport t) { return facts(t).port; }
std::uint16_t resolver_port(Transport t) { return is_dnscrypt(t) ? 5443 : default_port(t); }
bool is_stream(Transport t) { return facts(t).stream; }
bool is_encrypted(Transport t) { return t != Transport::Do53 && t != Transport::Do53Tcp; }
bool has_tls(Transport t) { return facts(t).tls; }
bool is_dnscrypt(Transport t) { return t == Transport::Dnscrypt || t == Transport::DnscryptTcp; }
bool is_quic(Transport t) { return facts(t).quic; }

std::optional<Transport> tcp_fallback(Transport t) {
  switch (t) {
    case Transport::Do53: return Transport::Do53Tcp;
    case Transport::Dnscrypt: return Transport::DnscryptTcp;
    default: return std::nullopt;
  }
}

std::string transport_names() {
  std::string out;
  for (const auto& f : kFacts) out += (out.empty() ? "" : ", ") + std::string(f.name);
  return out;
}

std::optional<Transport> parse_transport(std::string_view text) {
  for (const auto& f : kFacts)
    if (is_same_word(f.name, text) || is_same_word(f.display, text)) return f.transport;
  return std::nullopt;
}

}  // namespace doxlab
