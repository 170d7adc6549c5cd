#include "experiment/propose.hpp"

#include <algorithm>
#include <format>
#include <ranges>

namespace doxlab::experiment {
namespace {

/// The signature of a handshake varies by some bytes (ECDSA in DER), and with it the flight.
constexpr std::uint64_t kVaries = 16;

constexpr std::string_view kHybrid = "X25519MLKEM768";

std::vector<std::string> groups_of(std::string_view list) {
  std::vector<std::string> out;
  for (const auto part : std::views::split(list, ':'))
    if (!part.empty()) out.emplace_back(part.begin(), part.end());
  return out;
}

bool is_hybrid(std::string_view group) { return group.contains("MLKEM"); }

/// True if the ClientHello has a key share of an ML-KEM group. Without any mark OpenSSL sends one for the first group.
bool sends_hybrid_share(std::string_view list) {
  const auto groups = groups_of(list);
  if (!list.contains('*')) return !groups.empty() && is_hybrid(groups.front());
  return std::ranges::any_of(groups, [](const std::string& group) { return group.starts_with('*') && is_hybrid(group); });
}

/// `list` with a share of the hybrid group before all others.
std::string with_hybrid_share(std::string_view list) {
  auto out = "*" + std::string(kHybrid);
  bool is_first = !list.contains('*');
  for (auto group : groups_of(list)) {
    if (group.ends_with(kHybrid)) continue;
    if (std::exchange(is_first, false)) group.insert(0, "*");
    out += ":" + group;
  }
  return out;
}

class Changes {
 public:
  Changes(const Setup& setup, std::string finding, std::vector<Transport> transports, std::uint64_t shortfall)
      : setup_(setup), finding_(std::move(finding)), shortfall_(shortfall) {
    setup_.transports = std::move(transports);
  }

  std::vector<Proposal> make() {
    if (finding_ == "retry_round_trip") retry_off();
    else if (finding_ == "amplification_stall" || finding_ == "certificate_beyond_window") fit_the_flight();
    else if (finding_ == "client_hello_half_lost") spare_the_client_hello();
    else if (finding_ == "early_data_not_used") use_early_data();
    else if (finding_ == "early_data_rejected") accept_early_data();
    else if (finding_ == "no_session_ticket") give_tickets();
    else if (finding_ == "above_path_mtu") fit_the_path();
    return std::move(out_);
  }

 private:
  Setup& add(std::string change, std::string options) {
    out_.push_back({finding_, std::move(change), std::move(options), setup_});
    return out_.back().setup;
  }

  void retry_off() {
    // A resolver without it still sends one where only the second part of a ClientHello arrived: nothing to turn off.
    std::erase_if(setup_.transports, [this](Transport t) {
      return (t == Transport::Doq ? setup_.doq_retry : setup_.doh3_retry) == quic::RetryPolicy::Off;
    });
    if (setup_.transports.empty()) return;
    auto& changed = add("Retry off", "--retry off");
    changed.doq_retry = changed.doh3_retry = quic::RetryPolicy::Off;
  }

  void fit_the_flight() {
    if (finding_ == "amplification_stall" && !sends_hybrid_share(setup_.client_groups)) {
      const auto groups = with_hybrid_share(setup_.client_groups);
      add("a post-quantum key share, so that the ClientHello takes two datagrams and the server may send twice as much",
          std::format("--group '{}'", groups))
          .client_groups = groups;
    }
    if (shortfall_ > 0 && shortfall_ + kVaries < setup_.chain.chain_bytes) {
      const auto bytes = setup_.chain.chain_bytes - shortfall_ - kVaries;
      add(std::format("a chain that fits: smaller by the {} bytes that were too many, and {} to spare", shortfall_, kVaries),
          std::format("--chain-bytes {}", bytes))
          .chain.chain_bytes = bytes;
    }
    using enum tls::CertificateCompression;
    if (std::ranges::find(setup_.server_compression, Zstd) == setup_.server_compression.end()) {
      auto& changed = add("certificate compression; the random filler of the lab's chain does not compress, most of a real chain does", "--compression zstd");
      changed.client_compression = changed.server_compression = {Zstd};
    }
  }

  void spare_the_client_hello() {
    if (setup_.client_quic.first_flight_copies == 1)
      add("the client's first flight sent twice", "--first-flight-copies 2").client_quic.first_flight_copies = 2;
    if (sends_hybrid_share(setup_.client_groups))
      add("a classical key share alone, so that the ClientHello takes one datagram", "--group X25519").client_groups = "*X25519";
  }

  void use_early_data() { add("the query as early data", "--start 0rtt").start = Start::EarlyData; }

  void accept_early_data() {
    add("early data accepted", "without --reject-early-data").reject_early_data = false;
  }

  void give_tickets() {
    auto& changed = add("a session ticket, and the next lookup resumed with it", "--tickets 1 --start resumed");
    changed.tickets = 1;
    changed.start = Start::Resumed;
  }

  void fit_the_path() {
    if (!std::ranges::any_of(setup_.transports, is_quic)) return;
    const auto path_mtu = setup_.link.path_mtu > 0 ? setup_.link.path_mtu : setup_.link.mtu;
    const std::size_t largest = path_mtu - (setup_.ipv6 ? 48 : 28);
    if (largest >= std::max(setup_.client_quic.datagram_bytes, setup_.server_quic.datagram_bytes)) return;
    auto& changed = add("datagrams that fit the path", std::format("--datagram-bytes {}", largest));
    std::erase_if(changed.transports, [](Transport t) { return !is_quic(t); });
    changed.client_quic.datagram_bytes = changed.server_quic.datagram_bytes = largest;
  }

  Setup setup_;
  std::string finding_;
  std::uint64_t shortfall_;
  std::vector<Proposal> out_;
};

}  // namespace

std::vector<Proposal> propose(const Setup& setup, std::span<const Found> found) {
  std::vector<Proposal> out;
  std::vector<std::string_view> done;
  for (const auto& first : found) {
    if (std::ranges::find(done, first.finding) != done.end()) continue;
    done.push_back(first.finding);
    std::vector<Transport> transports;
    std::uint64_t shortfall = 0;
    for (const auto& other : found) {
      if (other.finding != first.finding) continue;
      transports.push_back(other.transport);
      shortfall = std::max(shortfall, other.shortfall.value_or(0));
    }
    std::ranges::move(Changes(setup, first.finding, std::move(transports), shortfall).make(), std::back_inserter(out));
  }
  return out;
}

}  // namespace doxlab::experiment
