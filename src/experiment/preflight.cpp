#include "experiment/preflight.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <format>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "experiment/describe.hpp"
#include "experiment/foreign_server.hpp"
#include "experiment/machine_checks.hpp"
#include "experiment/packet_checks.hpp"
#include "experiment/rig.hpp"
#include "experiment/sampler.hpp"
#include "net/sysctl.hpp"

namespace doxlab::experiment {
namespace {

/// A lookup that takes longer on a path without losses will not come.
constexpr auto kLongestLookup = 5s;
/// Fewer delivered packets say little of the 99th percentile.
constexpr std::uint64_t kEnoughPackets = 100;

Setup without_chance(Setup setup) {
  auto& link = setup.link;
  link.loss_probability = link.duplicate_probability = link.corrupt_probability = link.reorder_probability = 0;
  link.burst.reset();
  link.script.clear();
  setup.timeout = std::min<Duration>(setup.timeout, kLongestLookup + 8 * link.one_way_delay);
  return setup;
}

/// What the kernel counted at the lab's device in the calling thread's namespace.
struct DeviceCounters {
  std::uint64_t received = 0, sent = 0, send_dropped = 0;
};
DeviceCounters read_device_counters() {
  // "  lab0: bytes packets errs drop and four more received, bytes packets errs drop and four more sent"
  std::ifstream table("/proc/thread-self/net/dev");
  for (std::string line; std::getline(table, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || !line.substr(0, colon).ends_with("lab0")) continue;
    std::istringstream numbers(line.substr(colon + 1));
    const std::vector<std::uint64_t> values(std::istream_iterator<std::uint64_t>(numbers), {});
    if (values.size() > 11) return {.received = values[1], .sent = values[9], .send_dropped = values[11]};
  }
  return {};
}

class PreflightChecks {
 public:
  PreflightChecks(const PreflightOptions& options, std::stop_token stop) : options_(options), stop_(std::move(stop)) {}

  std::vector<results::PreflightCheck> make() {
    machine();
    if (!stop_.stop_requested()) lab();
    if (!stop_.stop_requested()) server();
    return std::move(checks_);
  }

 private:
  void add(results::PreflightCheck check) {
    if (check.status == "failed" && blocker_.empty()) blocker_ = check.name;
    checks_.push_back(std::move(check));
  }

  void machine() {
    add(judge_clock(measure_clock()));
    add(judge_processors(measure_processors()));
    add(check_privileges(options_.is_root, options_.namespace_error));
    const auto unless_blocked = [&](const char* name, auto check) { add(blocker_.empty() ? check() : skipped(name, blocker_)); };
    unless_blocked("namespaces", check_network_namespaces);
    unless_blocked("tun", check_tun_device);
    add(check_real_time_priority());
    add(judge_timers(measure_timers()));
    add(judge_receive_buffer(measure_receive_buffer()));
  }

  /// The link and the kernel at its ends, before anything that speaks DNS.
  void lab() {
    const auto setup = without_chance(options_.setup.value_or(Setup{}));
    if (!blocker_.empty()) {
      for (const auto* name : {"kernel settings", "packets IPv4", "mtu IPv4"}) add(skipped(name, blocker_));
      return;
    }
    try {
      lab::Lab lab({.impairments = setup.link, .sysctls = setup.sysctls, .tcp_initial_window = setup.tcp_initial_window});
      add(judge_kernel_settings(lab.kernel_settings(), setup.sysctls));
      const bool has_quic = std::ranges::any_of(setup.transports, is_quic);
      const auto largest = has_quic ? std::max(setup.client_quic.datagram_bytes, setup.server_quic.datagram_bytes) : 0;
      const auto check_family = [&](bool ipv6) {
        for (auto& check : check_packets(lab, ipv6, largest)) {
          if (ipv6 != setup.ipv6 && check.status == "failed") check.status = "warning";  // not what is asked for
          add(std::move(check));
        }
      };
      check_family(false);
      bool has_ipv6 = false;
      lab.run_in(lab::Side::Client, [&] { has_ipv6 = net::read_sysctl("net/ipv6/bindv6only").has_value(); });
      if (setup.ipv6 || has_ipv6)
        check_family(true);
      else
        add(warned("packets IPv6", "the kernel has no IPv6", "--ipv6 cannot be measured", "boot without ipv6.disable=1, if it is wanted"));
    } catch (const std::exception& error) {
      add(failed("lab", error.what(), "every measurement runs in it", "end what uses up the machine, or choose other settings"));
    }
  }

  /// Short real runs.
  void server() {
    if (!options_.setup) {
      add(failed("server", options_.server_error, "it is what would be measured", "install it, or choose another --subject"));
      return skip_lookups(Setup{}, "server");
    }
    const auto setup = without_chance(*options_.setup);
    if (!blocker_.empty()) {
      add(skipped("server", blocker_));
      return skip_lookups(setup, blocker_);
    }
    try {
      Rig rig(setup);
      add(passed("server", setup.subject ? subject_title(setup) + " runs" : "the resolver runs: " + subject_title(setup)));
      look_up(rig);
    } catch (const std::exception& error) {
      add(failed("server", error.what(), "it is what would be measured", "see what it wrote, and docs/subjects.md"));
      skip_lookups(setup, "server");
    }
  }

  void skip_lookups(const Setup& setup, std::string_view needs) {
    for (const auto t : setup.transports) add(skipped("transport " + std::string(to_string(t)), needs));
    for (const auto* name : {"recorder", "precision"}) add(skipped(name, needs));
  }

  void look_up(Rig& rig) {
    const auto& setup = rig.setup();
    std::vector<Task> tasks;
    for (std::uint64_t sample = 0; sample < options_.lookups; ++sample)
      for (const auto t : setup.transports) tasks.push_back({t, sample});
    std::map<Transport, std::vector<Sample>> samples;
    if (!rig.run(tasks, {}, [&](Sample&& sample) { samples[sample.task.transport].push_back(std::move(sample)); }, stop_)) return;
    for (const auto t : setup.transports) add(judge_transport(rig, t, samples[t]));
    add(judge_recorder(rig, samples));
    add(judge_precision(rig, samples));
  }

  results::PreflightCheck judge_transport(const Rig& rig, Transport t, const std::vector<Sample>& samples) const {
    const auto name = "transport " + std::string(to_string(t));
    std::vector<double> times;
    std::string reason, rcode;
    for (const auto& sample : samples) {
      const auto& result = sample.result;
      if (result.answered) {
        times.push_back(to_ms(*result.answered - result.started));
        rcode = describe_answer(result).first;
      } else if (reason.empty()) {
        reason = std::format("{}: {}", client::to_string(result.outcome), result.reason);
      }
    }
    const auto count = std::format("{} of {} lookups answered", times.size(), samples.size());
    if (!reason.empty()) {
      const auto log = rig.server_log();
      return failed(name, count + ", " + reason, std::format("no figure of {} would mean anything", display_name(t)),
                    log.empty() ? std::format("doxlab explain --sample {}/0 shows its packets; or leave it out of --only", to_string(t))
                                : "the server wrote last: " + log.substr(0, log.find('\n')));
    }
    std::ranges::sort(times);
    const auto found = std::format("{}, {} in {:.1f} ms", count, rcode, times.empty() ? 0 : times[(times.size() - 1) / 2]);
    if (rcode == "NOERROR" || rcode == "NXDOMAIN") return passed(name, found);
    return warned(name, found, "an answer with an error may cost less than a real one", "choose --qname, --qtype or --zone so that it can answer");
  }

  /// The recorder beside the kernel, which counts by itself.
  results::PreflightCheck judge_recorder(Rig& rig, const std::map<Transport, std::vector<Sample>>& samples) const {
    std::size_t packets = 0, answered = 0;
    std::string missing;
    for (const auto& [t, list] : samples) {
      for (const auto& sample : list) {
        packets += sample.packets.size();
        if (!sample.result.answered) continue;
        ++answered;
        for (const auto direction : {link::Direction::ToServer, link::Direction::ToClient})
          if (std::ranges::none_of(sample.packets, [&](const auto& p) { return p.place.direction == direction; }))
            missing = std::format("of {} it has none {} the server, although there was an answer", display_name(t),
                                  direction == link::Direction::ToServer ? "to" : "from");
      }
    }
    constexpr const char* kWhy = "round trips, packets and bytes are counted from what it saw";
    constexpr const char* kAction = "report it, with this output";
    if (!missing.empty()) return failed("recorder", missing, kWhy, kAction);
    const auto in = rig.lab().volume(link::Direction::ToServer);
    DeviceCounters client, server;
    rig.lab().run_in(lab::Side::Client, [&] { client = read_device_counters(); });
    rig.lab().run_in(lab::Side::Server, [&] { server = read_device_counters(); });
    if (client.send_dropped + server.send_dropped > 0)
      return failed("recorder", std::format("the devices dropped {} packets before the link could read them", client.send_dropped + server.send_dropped),
                    kWhy, "end other programs, or make fewer lookups at once");
    // What is neither TCP nor UDP, such as ICMP, passes the link uncounted.
    if (in.packets == 0 || in.packets > client.sent)
      return failed("recorder", std::format("the link saw {} packets of the client, its kernel sent {}", in.packets, client.sent), kWhy, kAction);
    return passed("recorder", std::format("{} packets of {} lookups; the link saw {} packets of the client, its kernel sent {}", packets, answered,
                                          in.packets, client.sent));
  }

  results::PreflightCheck judge_precision(Rig& rig, const std::map<Transport, std::vector<Sample>>& samples) const {
    constexpr SamplerOptions kTolerances;
    std::size_t disturbed = 0, all = 0;
    for (const auto& [t, list] : samples) {
      all += list.size();
      disturbed += static_cast<std::size_t>(std::ranges::count_if(list, [&](const Sample& s) {
        return s.link_lateness > kTolerances.link_tolerance || s.loop_lag > kTolerances.loop_tolerance;
      }));
    }
    const auto precision = rig.lab().precision();
    const auto found = std::format("{} packets, late by {:.2f} ms (median), {:.2f} ms (p99), {:.2f} ms (at most)", precision.packets,
                                   to_ms(precision.p50), to_ms(precision.p99), to_ms(precision.max));
    constexpr const char* kAction = "end other programs, or give the machine processors of its own";
    if (precision.p99 > kTolerances.link_tolerance)
      return failed("precision", found, std::format("beyond {:.0f} ms lookups count as disturbed, and figures as not to be trusted", to_ms(kTolerances.link_tolerance)), kAction);
    if (disturbed * 4 > all)
      return warned("precision", std::format("{}; {} of {} lookups were disturbed", found, disturbed, all),
                    "disturbed lookups are made again, so a run takes longer", kAction);
    return precision.packets < kEnoughPackets ? warned("precision", found, "so few packets say little", "more lookups: -n") : passed("precision", found);
  }

  const PreflightOptions& options_;
  std::stop_token stop_;
  std::vector<results::PreflightCheck> checks_;
  std::string blocker_;  ///< the first check that failed
};

}  // namespace

results::PreflightRun run_preflight(const PreflightOptions& options, const std::string& command_line, std::stop_token stop) {
  results::PreflightRun out;
  out.command_line = command_line;
  out.started = std::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  const auto begin = monotonic_now();
  out.checks = PreflightChecks(options, stop).make();
  out.complete = !stop.stop_requested();
  out.passes = out.complete && std::ranges::none_of(out.checks, [](const auto& it) { return it.status == "failed"; });
  out.duration_s = to_ms(monotonic_now() - begin) / 1000;
  return out;
}

}  // namespace doxlab::experiment
