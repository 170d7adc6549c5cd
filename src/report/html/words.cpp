#include "report/html/words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <format>
#include <utility>

namespace doxlab::report::html {
namespace {

/// Digits in groups of three.
std::string grouped(std::string digits) {
  for (std::size_t at = digits.find('.') == std::string::npos ? digits.size() : digits.find('.'); at > 3;) {
    at -= 3;
    if (at > 0) digits.insert(at, ",");
  }
  return digits;
}

/// No figure of ours comes near; one in a file from elsewhere may.
constexpr double kMost = 1e15;

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value) || std::fabs(value) > kMost) return "?";
  const auto text = grouped(std::format("{:.{}f}", std::fabs(value), decimals));
  const bool is_zero = text.find_first_of("123456789") == std::string::npos;
  return (value < 0 && !is_zero ? "−" : "") + text;
}

struct KnownTransport {
  std::string_view key, name, color;
  bool is_dashed;
};
constexpr KnownTransport kTransports[] = {
    {"do53", "Do53", "#7c8088", false},         {"do53-tcp", "Do53/TCP", "#7c8088", true},
    {"dnscrypt", "DNSCrypt", "#b0559b", false}, {"dnscrypt-tcp", "DNSCrypt/TCP", "#b0559b", true},
    {"dot", "DoT", "#cc6318", false},           {"doh", "DoH", "#a6820a", true},
    {"doh3", "DoH3", "#12908c", true},          {"doq", "DoQ", "#3b76d6", false}};

const KnownTransport* known(std::string_view transport) {
  const auto* found = std::ranges::find(kTransports, transport, &KnownTransport::key);
  return found == std::end(kTransports) ? nullptr : found;
}

using Members = std::vector<std::string_view>;

std::size_t group_of(std::string_view name, const std::vector<Members>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (std::ranges::find(groups[i], name) != groups[i].end()) return i;
  return groups.size();
}

}  // namespace

std::string ms_number(double ms) {
  return fixed(ms, std::fabs(ms) < 999.95 ? 1 : 0);
}

std::string signed_ms(double ms) {
  return (ms >= 0.05 ? "+" : "") + ms_number(ms);
}

std::string ms_text(double ms) {
  return ms_number(ms) + " ms";
}

std::string ms_text(const std::optional<double>& ms) {
  return ms ? ms_text(*ms) : "–";
}

std::string whole(double value) {
  return fixed(value, 0);
}

std::string percent(double share) {
  return fixed(share * 100, share > 0 && share < 0.0995 ? 2 : 1) + "%";
}

std::string signed_whole(double value) {
  return (value > 0 ? "+" : "") + fixed(value, 0);
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  return out;
}

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  return std::format("{} {}", n, n == 1 ? one : many);
}

std::string transport_name(std::string_view transport) {
  const auto* found = known(transport);
  return std::string(found ? found->name : transport);
}

std::string retry_text(const results::EndpointSettings& endpoints) {
  std::vector<std::string> names;
  if (endpoints.doh3_retry == "always") names.push_back(transport_name("doh3"));
  if (endpoints.doq_retry == "always") names.push_back(transport_name("doq"));
  return names.empty() ? std::string() : ", with a Retry on " + listed(names);
}

Paint transport_paint(std::string_view transport) {
  const auto* found = known(transport);
  if (!found) return {std::string(transport), "#7c8088", {2, 2}};
  return {std::string(found->name), std::string(found->color), found->is_dashed ? std::vector<int>{5, 3} : std::vector<int>{1, 0}};
}

const std::vector<Paint>& cause_groups() {
  static const std::vector<Paint> groups = {
      {"TCP handshake", "#7c8088", {}},
      {"TLS or QUIC handshake", "#3b76d6", {}},
      {"DNSCrypt certificate", "#b0559b", {}},
      {"Retry, HelloRetryRequest", "#cc6318", {}},
      {"not allowed to send more", "#a6820a", {}},
      {"query and answer", "#2b9348", {}},
      {"waiting for a timer after a loss", "#d1344b", {}},
      {"round trips that repaired a loss", "#e58a94", {}},
      {"computing, queues", "#56a7b5", {}},
      {"unexplained", "#8a6d5a", {}},
  };
  return groups;
}

std::size_t group_of_cause(std::string_view cause) {
  static const std::vector<Members> groups = {
      {"tcp_handshake"},
      {"tls_handshake", "quic_handshake"},
      {"certificate_fetch"},
      {"retry", "version_negotiation", "hello_retry_request"},
      {"amplification_limit", "congestion_window"},
      {"query", "truncation"},
      {"syn_retransmission", "syn_ack_retransmission", "rto", "tlp", "loss_delay", "pto_initial", "pto_handshake",
       "pto_application", "delayed_ack", "query_retransmission"},
      {"loss_recovery"},
      {"client_computing", "server_computing", "client_think_time", "server_think_time", "queue"}};
  return group_of(cause, groups);
}

bool waits_for_timer(std::string_view cause) {
  return group_of_cause(cause) == 6;
}

const std::vector<Paint>& owner_groups() {
  static const std::vector<Paint> groups = {
      {"DNS message", "#2b9348", {}},
      {"IP, UDP, TCP headers", "#7c8088", {}},
      {"TLS and QUIC framing", "#56a7b5", {}},
      {"key shares", "#cc6318", {}},
      {"rest of the handshake", "#3b76d6", {}},
      {"certificate and signature", "#b0559b", {}},
      {"tickets and tokens", "#a6820a", {}},
      {"HTTP", "#d1344b", {}},
      {"padding", "#b4b8bf", {}},
      {"not read", "#8a6d5a", {}},
  };
  return groups;
}

std::size_t group_of_owner(std::string_view owner) {
  static const std::vector<Members> groups = {
      {"dns_query", "dns_answer", "dnscrypt"},
      {"ip_header", "udp_header", "tcp_header"},
      {"quic_header", "quic_tag", "quic_ack", "quic_control", "quic_close", "tls_record", "tls_alert"},
      {"key_share"},
      {"client_hello", "server_hello", "handshake"},
      {"certificate", "signature"},
      {"ticket", "quic_token"},
      {"http_framing"},
      {"quic_padding", "dns_padding"}};
  return group_of(owner, groups);
}

}  // namespace doxlab::report::html
