#include "transport/transport.hpp"

namespace doxlab {
namespace {

struct Facts {
  Transport transport;
  std::string_view name, display, alpn, scheme;
  std::uint16_t port;
  bool stream, encrypted, quic;
};

constexpr std::array kFacts = {
    Facts{Transport::Do53, "do53", "Do53", "", "udp", 53, false, false, false},
    Facts{Transport::Do53Tcp, "do53-tcp", "Do53/TCP", "", "tcp", 53, true, false, false},
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

}  // namespace

std::string_view to_string(Transport t) { return facts(t).name; }
std::string_view display_name(Transport t) { return facts(t).display; }
std::string_view alpn(Transport t) { return facts(t).alpn; }
std::string_view url_scheme(Transport t) { return facts(t).scheme; }
std::uint16_t default_port(Transport t) { return facts(t).port; }
bool is_stream(Transport t) { return facts(t).stream; }
bool is_encrypted(Transport t) { return facts(t).encrypted; }
bool is_quic(Transport t) { return facts(t).quic; }

std::optional<Transport> parse_transport(std::string_view text) {
  for (const auto& f : kFacts)
    if (f.name == text) return f.transport;
  return std::nullopt;
}

}  // namespace doxlab
