#include "experiment/describe.hpp"

#include <nghttp2/nghttp2.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <format>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "net/environment.hpp"

namespace doxlab::experiment {
namespace {

std::string to_string(quic::RetryPolicy policy) { return policy == quic::RetryPolicy::Always ? "always" : "off"; }

std::string to_string(quic::CongestionControl control) {
  switch (control) {
    case quic::CongestionControl::Reno: return "reno";
    case quic::CongestionControl::Cubic: return "cubic";
    case quic::CongestionControl::Bbr: return "bbr";
  }
  return "";
}

double to_us(Duration d) { return to_ms(d) * 1000; }

}  // namespace

results::Environment describe_environment(const std::vector<std::pair<std::string, std::string>>& kernel_settings) {
  results::Environment out;
  out.doxlab_version = DOXLAB_VERSION;
  auto machine = net::read_environment();
  out.kernel = std::move(machine.kernel);
  out.architecture = std::move(machine.architecture);
  out.distribution = std::move(machine.distribution);
  out.cpu = std::move(machine.cpu);
  out.cores = machine.cores;
  out.memory_bytes = machine.memory_bytes;
  out.virtual_machine = machine.virtual_machine;
  out.openssl = OpenSSL_version(OPENSSL_VERSION_STRING);
  out.ngtcp2 = ngtcp2_version(0)->version_str;
  out.nghttp3 = nghttp3_version(0)->version_str;
  out.nghttp2 = nghttp2_version(0)->version_str;
  for (const auto& [name, value] : kernel_settings) out.kernel_settings[name] = value;
  return out;
}

results::LinkSettings describe(const link::Impairments& impairments) {
  results::LinkSettings out;
  out.one_way_delay_ms = to_ms(impairments.one_way_delay);
  out.round_trip_ms = 2 * out.one_way_delay_ms;
  out.loss_percent = impairments.loss_probability * 100;
  if (const auto& burst = impairments.burst) {
    out.burst = std::format("{:g},{:g},{:g},{:g}", burst->p * 100, burst->r * 100, burst->one_minus_h * 100, burst->one_minus_k * 100);
    const double bad = burst->p / (burst->p + burst->r);
    out.loss_percent = 100 * (bad * burst->one_minus_h + (1 - bad) * burst->one_minus_k);
  }
  out.duplicate_percent = impairments.duplicate_probability * 100;
  out.corrupt_percent = impairments.corrupt_probability * 100;
  out.reorder_percent = impairments.reorder_probability * 100;
  for (const auto& event : impairments.script)
    if (event.every_sample && event.action == link::Scripted::Action::Drop)
      out.dropped.push_back(std::format("{}/{}", link::to_string(event.place.direction), event.place.index));
  out.mtu = impairments.mtu;
  out.path_mtu = impairments.path_mtu;
  out.rate_bps = impairments.bottleneck_rate_bps;
  out.queue_bytes = impairments.queue_limit_bytes;
  out.seed = impairments.seed;
  return out;
}

results::LinkSettings describe_link(const Setup& setup) { return setup.is_direct() ? results::LinkSettings{} : describe(setup.link); }

results::EndpointSettings describe_endpoints(const Setup& setup) {
  results::EndpointSettings out;
  out.subject = setup.subject_name;
  out.subject_version = setup.subject_version.empty() && !setup.subject ? DOXLAB_VERSION : setup.subject_version;
  for (const auto t : kAllTransports)
    if (setup.elsewhere ? std::ranges::contains(setup.transports, t) : !setup.subject || setup.subject->ports.contains(t))
      out.offered.emplace_back(to_string(t));
  for (const auto t : setup.not_offered) out.not_offered.emplace_back(to_string(t));
  out.qname = setup.qname;
  out.qtype = setup.qtype;
  out.family = setup.ipv6 ? "ipv6" : "ipv4";
  out.client_groups = setup.client_groups;
  out.server_groups = setup.server_groups;
  out.chain_bytes = setup.chain.chain_bytes;
  out.chain_key = setup.chain.key == tls::KeyType::Rsa2048 ? "rsa-2048" : "ecdsa-p256";
  out.doq_retry = to_string(setup.doq_retry);
  out.doh3_retry = to_string(setup.doh3_retry);
  out.client_datagram_bytes = setup.client_quic.datagram_bytes;
  out.server_datagram_bytes = setup.server_quic.datagram_bytes;
  out.initial_rtt_ms = to_ms(setup.client_quic.initial_rtt);
  out.server_initial_rtt_ms = to_ms(setup.server_quic.initial_rtt);
  out.congestion_control = to_string(setup.client_quic.congestion);
  out.tcp_initial_window = setup.tcp_initial_window;
  out.first_flight_copies = setup.client_quic.first_flight_copies;
  out.start = to_string(setup.start);
  out.early_data_rejected = setup.reject_early_data;
  out.token = setup.use_token;
  out.fast_open = setup.fast_open;
  out.do53_retransmission_ms = to_ms(setup.do53_retransmission);
  out.doh_method = setup.method == transport::HttpMethod::Get ? "get" : "post";
  for (const auto version : setup.dnscrypt_constructions)
    out.dnscrypt_constructions.emplace_back(dnscrypt::to_string(version));
  out.timeout_s = to_ms(setup.timeout) / 1000;
  out.certificate_verified = setup.verify;
  if (setup.client) {
    const auto& client = *setup.client;
    auto& described = out.client.emplace(
        results::ClientProgram{.name = client.name, .version = setup.client_version, .command = client.command_line, .not_spoken = {}});
    for (const auto t : setup.not_spoken) described.not_spoken.emplace_back(to_string(t));
    if (!client.options.contains("group")) out.client_groups.clear();
    if (!client.options.contains("method")) out.doh_method.clear();
    out.client_datagram_bytes = out.first_flight_copies = 0;
    out.initial_rtt_ms = out.do53_retransmission_ms = 0;
    out.start.clear();
  }
  if (setup.subject) {
    // Its own business, unknown here.
    if (!setup.subject->options.contains("server-group")) out.server_groups.clear();
    out.server_datagram_bytes = 0;
    out.server_initial_rtt_ms = 0;
  }
  if (setup.elsewhere) {
    out.server_address = setup.elsewhere->address.to_string();
    out.direct = setup.elsewhere->is_direct;
    for (const auto t : setup.transports) out.server_ports[std::string(to_string(t))] = setup.elsewhere->ports.at(t);
    for (const auto& [t, reason] : setup.not_answering) out.not_answering[std::string(to_string(t))] = reason;
    out.server_groups = out.chain_key = out.doq_retry = out.doh3_retry = "";
    out.dnscrypt_constructions.clear();
    out.chain_bytes = out.server_datagram_bytes = 0;
    out.server_initial_rtt_ms = 0;
  }
  return out;
}

results::LinkPrecision describe(const lab::LinkPrecision& precision) {
  return {.packets = precision.packets,
          .p50_us = to_us(precision.p50),
          .p99_us = to_us(precision.p99),
          .max_us = to_us(precision.max),
          .real_time_priority = precision.real_time_priority,
          .within_1_ms = precision.p99 <= 1ms};
}

std::pair<std::string, bool> describe_answer(const client::LookupResult& result) {
  if (!result.answered) return {};
  const auto header = dns::read_header(result.response);
  if (!header) return {};
  return {dns::rcode_to_string(header->rcode()), header->has(dns::kFlagTruncated)};
}

}  // namespace doxlab::experiment
