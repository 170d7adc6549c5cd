#include "experiment/foreign_server.hpp"

#include <algorithm>
#include <format>
#include <stdexcept>

#include "resolver/resolver.hpp"

namespace doxlab::experiment {
namespace {

constexpr auto kReadyLimit = 20s, kAttempt = 2s;
constexpr std::uint8_t kServfail = 2;

std::string on_or_off(bool value) { return value ? "on" : "off"; }

lab::SubjectValues subject_values(const Setup& setup) {
  const auto address = lab::Lab::server_address(setup.ipv6).to_string();
  return {{"address", address},
          {"host", setup.ipv6 ? "[" + address + "]" : address},
          {"chain_file", "chain.pem"},
          {"key_file", "key.pem"},
          {"root_file", "root.pem"},
          {"zone_file", "zone"},
          {"zone_name", "example.com"},
          {"server_name", setup.chain.dns_names.front()},
          {"doh_path", setup.subject->doh_path},
          {"groups", groups_without_marks(setup.server_groups)},
          {"doq_retry", on_or_off(setup.doq_retry == quic::RetryPolicy::Always)},
          {"doh3_retry", on_or_off(setup.doh3_retry == quic::RetryPolicy::Always)},
          {"tickets", on_or_off(setup.tickets > 0)},
          {"early_data", on_or_off(setup.start == Start::EarlyData)},
          {"backend", std::format("{}:{}", kBackendAddress.to_string(), kBackendPort)},
          {"backend_ip", kBackendAddress.to_string()},
          {"backend_port", std::to_string(kBackendPort)},
          {"backend_doh", std::format("{}:{}", kBackendAddress.to_string(), kBackendDohPort)}};
}

void check_offered(const Setup& setup) {
  for (const auto t : setup.transports)
    if (!setup.subject->ports.contains(t))
      throw std::invalid_argument(std::format("{} does not offer {}; it offers {}", subject_title(setup), to_string(t),
                                              lab::offered_transports(*setup.subject)));
}

}  // namespace

std::string subject_title(const Setup& setup) {
  if (!setup.subject) return setup.subject_name;
  return setup.subject->name + (setup.subject_version.empty() ? "" : "/" + setup.subject_version);
}

ForeignServer::ForeignServer(lab::Lab& lab, const Setup& setup, const tls::Chain& chain,
                             const client::LookupOptions& base,
                             const std::function<const Bytes&(Transport)>& query_for)
    : setup_((check_offered(setup), setup)),
      process_(lab, *setup.subject, subject_values(setup),
               {{"chain.pem", chain.chain_pem},
                {"key.pem", chain.key_pem},
                {"root.pem", chain.root_pem},
                {"zone", resolver::Zone::built_in_text()}}) {
  wait_until_ready(lab, base, query_for);
}

void ForeignServer::check_that_it_runs() const {
  const auto ended = process_.ended();
  if (!ended) return;
  const auto words = last_words();
  throw std::runtime_error(std::format("{} has ended: {}; {}", subject_title(setup_), *ended,
                                       words.empty() ? "it wrote nothing" : "the last that it wrote:\n" + words));
}

void ForeignServer::wait_until_ready(lab::Lab& lab, const client::LookupOptions& base,
                                     const std::function<const Bytes&(Transport)>& query_for) const {
  // What the setup's client offers may be just what the server refuses; then any group will do.
  auto any_group = base;
  any_group.session.tls = std::make_shared<const tls::ClientContext>(
      tls::ClientOptions{.groups = tls::kDefaultGroups, .verify = false});
  const auto deadline = monotonic_now() + kReadyLimit;
  for (const auto transport : setup_.transports) {
    std::string reason;
    for (std::size_t attempt = 0;; ++attempt) {
      check_that_it_runs();
      if (monotonic_now() > deadline) {
        const auto words = last_words();
        throw std::runtime_error(std::format(
            "{} does not answer over {} within {:.0f} s ({}); {}", subject_title(setup_), display_name(transport),
            to_ms(kReadyLimit) / 1000, reason,
            words.empty() ? "it wrote nothing" : "the last that it wrote:\n" + words));
      }
      auto options = attempt % 2 == 0 ? base : any_group;
      options.transport = transport;
      options.server = {lab::Lab::server_address(setup_.ipv6), setup_.subject->ports.at(transport)};
      options.socket = {};
      options.session.ticket.reset();
      options.session.key_log = {};
      options.session.quic.qlog = {};
      options.timeout = kAttempt;
      options.linger = 0ms;
      client::LookupResult result;
      lab.run_in(lab::Side::Server, [&] { result = client::lookup(options, query_for(transport)); });
      const bool answered = result.outcome == client::Outcome::Answered && result.response.size() > 3;
      if (answered && (result.response[3] & 0x0f) != kServfail) break;
      reason = answered ? "it answers SERVFAIL" : std::format("{}: {}", client::to_string(result.outcome), result.reason);
      // An attempt that was refused at once is not to become a busy loop.
      if (!answered && monotonic_now() - result.started < 20ms) process_.wait(20ms);
    }
  }
}

}  // namespace doxlab::experiment
