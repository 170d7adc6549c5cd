#include "experiment/packets.hpp"

#include <algorithm>
#include <chrono>
#include <format>
#include <tuple>

#include "dns/name.hpp"
#include "experiment/accountant.hpp"
#include "experiment/describe.hpp"
#include "experiment/elsewhere.hpp"
#include "experiment/foreign_flows.hpp"
#include "experiment/measured.hpp"
#include "experiment/sampler.hpp"
#include "trace/certificate_exchange.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::experiment {
namespace {

// So far apart that lookups hardly meet: their time is what is asked, not how many there can be.
constexpr SamplerOptions kSampling{.first_interval = 15ms, .least_interval = 15ms, .in_flight = 64};

std::optional<double> ms_since(Timestamp start, const std::optional<Timestamp>& end) {
  return end ? std::optional(to_ms(*end - start)) : std::nullopt;
}

results::PacketsSample describe_packets(const Sample& sample, BytesView dnscrypt_provider) {
  const auto& result = sample.result;
  results::PacketsSample out;
  out.sample = sample.task.sample;
  out.outcome = client::to_string(result.outcome);
  out.reason = result.reason;
  std::tie(out.rcode, out.truncated) = describe_answer(result);
  out.ms = ms_since(result.started, result.answered);
  out.connect_ms = ms_since(result.started, result.connected);
  out.secure_ms = ms_since(result.started, result.secured);
  out.retry = result.quic_retry;
  out.tcp_fallback = result.used_tcp_fallback;
  out.disturbed = sample.disturbed;
  if (result.handshake) {
    out.group = result.handshake->group;
    out.cipher = result.handshake->cipher;
    out.hello_retry_request = result.handshake->hello_retry_request;
    out.resumed = result.handshake->resumed;
    if (result.handshake->early_data == tls::EarlyData::Accepted) out.early_data = "accepted";
    if (result.handshake->early_data == tls::EarlyData::Rejected) out.early_data = "rejected";
  }
  const auto [path, volumes, flights] = measure(sample);
  out.pkts_c2s = volumes.to_server.packets;
  out.bytes_c2s = volumes.to_server.ip_bytes;
  out.pkts_s2c = volumes.to_client.packets;
  out.bytes_s2c = volumes.to_client.ip_bytes;
  out.pkts_after = volumes.to_server_after.packets + volumes.to_client_after.packets;
  out.bytes_after = volumes.to_server_after.ip_bytes + volumes.to_client_after.ip_bytes;
  out.pkts_lost = volumes.lost;
  out.flights = flights;
  if (is_dnscrypt(sample.task.transport)) {
    const auto fetch = trace::count_certificate_exchange(sample.packets, dnscrypt_provider);
    out.certificate_ms = out.secure_ms;
    out.certificate_pkts = fetch.to_server.packets + fetch.to_client.packets;
    out.certificate_bytes = fetch.to_server.ip_bytes + fetch.to_client.ip_bytes;
  }
  if (path) {
    out.round_trips = path->round_trips();
    out.client_ms = to_ms(path->client_waits());
    out.server_ms = to_ms(path->server_waits());
    out.compute_ms = *out.client_ms + *out.server_ms;
  }
  if (!sample.beside.empty()) out.other_flows = describe_flows(sample.beside);
  return out;
}

/// The lower median, the least and the greatest of one field over the samples that have it.
template <class Get>
auto spread(const std::vector<results::PacketsSample>& samples, Get get) {
  using Value = std::remove_cvref_t<decltype(*get(samples.front()))>;
  struct Spread {
    std::optional<Value> median, min, max;
  } out;
  std::vector<Value> values;
  for (const auto& s : samples)
    if (const auto value = get(s); s.outcome == "answered" && value) values.push_back(*value);
  if (values.empty()) return out;
  std::ranges::sort(values);
  out.median = values[(values.size() - 1) / 2];
  out.min = values.front();
  out.max = values.back();
  return out;
}

void summarize(results::PacketsSummary& summary, double round_trip_ms) {
  auto& raw = summary.raw;
  std::ranges::sort(raw, {}, &results::PacketsSample::sample);
  summary.samples = static_cast<std::uint64_t>(std::ranges::count(raw, "answered", &results::PacketsSample::outcome));
  summary.no_answer = raw.size() - summary.samples;
  summary.disturbed = static_cast<std::uint64_t>(std::ranges::count(raw, true, &results::PacketsSample::disturbed));
  if (summary.samples == 0) return;
  const auto ms = spread(raw, [](const auto& s) { return s.ms; });
  summary.ms = ms.median;
  summary.ms_min = ms.min;
  summary.ms_max = ms.max;
  if (ms.median && round_trip_ms > 0) summary.rtt_est = *ms.median / round_trip_ms;
  const auto trips = spread(raw, [](const auto& s) { return s.round_trips; });
  summary.round_trips = trips.median;
  summary.round_trips_min = trips.min;
  summary.round_trips_max = trips.max;
  const auto compute = spread(raw, [](const auto& s) { return s.compute_ms; });
  summary.compute_ms = compute.median;
  summary.compute_ms_min = compute.min;
  summary.compute_ms_max = compute.max;
  const auto median_of = [&](auto field) {
    return spread(raw, [field](const auto& s) { return std::optional(s.*field); }).median.value_or(0);
  };
  summary.pkts_c2s = median_of(&results::PacketsSample::pkts_c2s);
  summary.pkts_s2c = median_of(&results::PacketsSample::pkts_s2c);
  summary.bytes_c2s = median_of(&results::PacketsSample::bytes_c2s);
  summary.bytes_s2c = median_of(&results::PacketsSample::bytes_s2c);
  summary.bytes_total = summary.bytes_c2s + summary.bytes_s2c;
  summary.flights = median_of(&results::PacketsSample::flights);
  summary.certificate_ms = spread(raw, [](const auto& s) { return s.certificate_ms; }).median;
  summary.certificate_pkts = spread(raw, [](const auto& s) { return s.certificate_pkts; }).median;
  summary.certificate_bytes = spread(raw, [](const auto& s) { return s.certificate_bytes; }).median;
}

}  // namespace

results::PacketsRun run_packets(const Setup& asked, std::size_t repetitions, const std::string& command_line,
                                const Progress& progress, std::stop_token stop,
                                const SampleHandler& on_packets) {
  results::PacketsRun run;
  run.command_line = command_line;
  run.started = std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  const auto begin = monotonic_now();
  Rig rig(asked);
  const auto& setup = rig.setup();
  const auto provider = dns::name_to_wire(setup.dnscrypt_provider).value_or(Bytes{});
  for (auto t : setup.transports) run.results[std::string(to_string(t))].transport = display_name(t);

  std::vector<Task> tasks;
  for (std::uint64_t sample = 0; sample < repetitions; ++sample)
    for (auto t : setup.transports) tasks.push_back({t, sample});
  Accountant accountant(setup.link, [&](const Sample& sample, Account&& account) {
    auto& raw = run.results[std::string(to_string(sample.task.transport))].raw;
    raw.push_back(describe_packets(sample, provider));
    raw.back().causes_ms = std::move(account.causes_ms);
    raw.back().ledger = std::move(account.ledger);
    run.counted_by[std::string(to_string(sample.task.transport))] = to_string(sample.counting);
  });
  run.complete = run_sampler(
      rig, tasks, kept_gentle(kSampling, setup),
      [&](Sample&& sample) {
        if (on_packets) on_packets(sample);
        accountant.add(std::move(sample));
      },
      [&](const SamplerStatus& status) {
        run.repeated = status.repeated;
        if (progress) progress(status.done, status.of);
      },
      stop);
  accountant.finish();

  run.link = describe_link(setup);
  for (auto t : setup.transports) {
    auto& summary = run.results[std::string(to_string(t))];
    // Of a server elsewhere the link is only part of the way.
    summarize(summary, setup.elsewhere ? 0 : run.link.round_trip_ms);
    if (auto taken_apart = accountant.accounting(t); taken_apart.lookups > 0) summary.accounting = std::move(taken_apart);
  }
  run.environment = describe_environment(rig.kernel_settings());
  run.endpoints = describe_endpoints(setup);
  run.precision = describe(rig.precision());
  run.missed_packets = rig.missed_packets();
  run.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return run;
}

}  // namespace doxlab::experiment
