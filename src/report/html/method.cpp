#include <format>

#include "report/html/parts.hpp"
#include "report/html/sections.hpp"

namespace doxlab::report::html {
namespace {

struct RunLine {
  std::string name, command_line, started;
  double duration_s = 0;
  const results::LinkPrecision* precision = nullptr;
  std::uint64_t seed = 0;
};

template <class Run>
RunLine line_of(std::string name, const Run& run) {
  RunLine out{.name = std::move(name), .command_line = run.command_line, .started = run.started, .duration_s = run.duration_s,
              .seed = run.link.seed};
  if constexpr (requires { run.precision; }) out.precision = &run.precision;
  return out;
}

std::vector<RunLine> lines_of(const results::Study& study) {
  std::vector<RunLine> out;
  if (study.packets) out.push_back(line_of("clean path", *study.packets));
  if (study.as_published) out.push_back(line_of("as published", *study.as_published));
  if (study.pq) {
    out.push_back(line_of("key exchange", *study.pq));
    for (const auto& one : study.pq->cases)
      if (!out.back().precision || one.precision.p99_us > out.back().precision->p99_us) out.back().precision = &one.precision;
  }
  if (study.warm && !study.warm->cases.empty()) {
    auto line = line_of("warm starts", study.warm->cases.front().run);
    line.command_line = study.warm->command_line;
    for (const auto& one : study.warm->cases)
      if (one.run.precision.p99_us > line.precision->p99_us) line.precision = &one.run.precision;
    out.push_back(std::move(line));
  }
  if (study.loss) out.push_back(line_of("loss", *study.loss));
  if (study.dropmap) out.push_back(line_of("each packet", *study.dropmap));
  return out;
}

struct Settings {
  const results::Environment* environment = nullptr;
  const results::LinkSettings* link = nullptr;
  const results::EndpointSettings* endpoints = nullptr;
};

Settings settings_of(const results::Study& study) {
  const auto of = [](const auto& run) { return Settings{&run.environment, &run.link, &run.endpoints}; };
  if (study.packets) return of(*study.packets);
  if (study.as_published) return of(*study.as_published);
  if (study.loss) return of(*study.loss);
  if (study.pq) return of(*study.pq);
  if (study.dropmap) return of(*study.dropmap);
  if (study.warm && !study.warm->cases.empty()) return of(study.warm->cases.front().run);
  return {};
}

void add_term(Html& html, std::string_view term, std::string_view what) {
  if (!what.empty()) html.element("dt", term).element("dd", what);
}

void add_precision(Html& html, const std::vector<RunLine>& lines) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : lines) {
    if (!line.precision) continue;
    const auto& p = *line.precision;
    rows.push_back({line.name, whole(static_cast<double>(p.packets)), whole(p.p50_us), whole(p.p99_us), whole(p.max_us),
                    p.real_time_priority ? "yes" : "no", p.within_1_ms ? "yes" : "no"});
  }
  html.element("h3", "How precise the link was");
  html.element("p", "For every packet it is known when it was due and when the receiver's kernel got it. How late that was, in µs; where a part has "
                    "several runs, the worst of them:");
  add_table(html, "Lateness of the link, µs",
            {{"part", true}, {"packets"}, {"p50"}, {"p99"}, {"most"}, {"real-time priority"}, {"p99 within 1 ms"}}, rows);
}

void add_environment(Html& html, const Settings& settings) {
  html.element("h3", "Machine and settings");
  html.open("dl");
  const auto& e = *settings.environment;
  add_term(html, "doxlab", e.doxlab_version);
  add_term(html, "Kernel", std::format("{}, {}", e.kernel, e.architecture));
  add_term(html, "System", e.distribution);
  add_term(html, "Processor", std::format("{}, {}{}", e.cpu, counted(e.cores, "core", "cores"), e.virtual_machine ? ", virtual machine" : ""));
  add_term(html, "Libraries", std::format("OpenSSL {}, ngtcp2 {}, nghttp3 {}, nghttp2 {}", e.openssl, e.ngtcp2, e.nghttp3, e.nghttp2));
  const auto& l = *settings.link;
  const auto& s = *settings.endpoints;
  add_term(html, "Link", s.direct ? "none, the path as it is" : std::format("{:g} ms each way, MTU {}", l.one_way_delay_ms, l.mtu));
  add_term(html, "Question", std::format("{} {} over {}", s.qname, s.qtype, s.family == "ipv6" ? "IPv6" : "IPv4"));
  if (s.client) add_term(html, "Client", std::format("{} {}; times start at the first packet of its lookup", s.client->name, s.client->version));
  add_term(html, "Key exchange groups", s.client_groups);
  add_term(html, "Certificate chain", std::format("{} bytes, {}", whole(static_cast<double>(s.chain_bytes)), s.chain_key));
  if (!s.client)
    add_term(html, "QUIC", std::format("datagrams of {} bytes, congestion control {}, initial RTT {:g} ms", s.client_datagram_bytes,
                                       s.congestion_control, s.initial_rtt_ms));
  html.close();
  if (e.kernel_settings.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : e.kernel_settings) rows.push_back({name, value});
  html.open("details").element("summary", "Kernel settings");
  add_table(html, "Kernel settings, read back", {{"setting", true}, {"value", true}}, rows);
  html.close();
}

}  // namespace

void add_method(Html& html, const results::Study& study) {
  open_section(html, "method", "How this was measured", "");
  html.element("p",
               "Client and resolver run in two network namespaces of one machine, with the kernel's own TCP, UDP and IP. Between them is a link that "
               "delays each packet by a known time and loses those that a counter-based generator says, so every transport meets the same losses and a "
               "single lookup can be repeated. Round trips are counted on the chain of packets that the answer waited for; bytes are IP bytes until "
               "the answer; packets that were lost count as sent.");
  html.element("h3", "Limits");
  html.open("ul");
  html.element("li", "It is one implementation of each side, and one path. Others wait, retransmit and pad differently.");
  html.element("li", "The resolver answers from memory: what a real one needs to find the answer comes on top of every transport alike.");
  html.element("li", "Losses are independent unless the settings say bursts; real paths lose packets in company.");
  html.element("li", "Times include computing on this machine; round trips and bytes do not depend on it.");
  html.element("li", "Intervals say how far the number of lookups reaches, not how other machines or paths would do.");
  html.close();
  const auto lines = lines_of(study);
  if (!lines.empty()) {
    add_precision(html, lines);
    add_environment(html, settings_of(study));
    html.element("h3", "To repeat it");
    std::vector<std::vector<std::string>> rows;
    for (const auto& line : lines)
      rows.push_back({line.name, line.command_line, std::to_string(line.seed), line.started, std::format("{} s", whole(line.duration_s))});
    if (!study.command_line.empty()) html.open("pre", {{"tabindex", "0"}, {"aria-label", "Command"}}).element("code", study.command_line).close();
    html.element("p", "The same seed gives the same losses.", {{"class", "note"}});
    add_table(html, "Runs", {{"part", true}, {"command for this part alone", true}, {"seed"}, {"started (UTC)", true}, {"took"}}, rows);
  }
  html.close();
}

}  // namespace doxlab::report::html
