#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <format>
#include <sstream>

#include "dns/message.hpp"
#include "experiment/foreign_server.hpp"
#include "files.hpp"
#include "key_log_file.hpp"
#include "resolver/resolver.hpp"
#include "tls/context.hpp"

namespace doxlab::app {

void ResolverOptions::add_to(CLI::App& command) {
  command_ = &command;
  auto* server = command.add_option_group("Resolver");
  server->add_option("--retry", retry_, "QUIC address validation by Retry, on DoQ and DoH3")
      ->check(CLI::IsMember({"off", "always"}))
      ->capture_default_str();
  server->add_option("--chain-bytes", chain_bytes_, "Certificate chain sent, DER bytes")->capture_default_str();
  server->add_option("--chain-key", chain_key_, "Key of the certificate")
      ->check(CLI::IsMember({"ecdsa", "rsa"}))
      ->capture_default_str();
  server->add_option("--compression", compression_, "Certificate compression (RFC 8879), offered and used: none, zlib, zstd")
      ->capture_default_str();
  server->add_option("--server-group", groups_, "Groups that the resolver accepts (comma list)");
  server->add_option("--tickets", tickets_, "Session tickets sent after a handshake")->check(CLI::Range(0, 8))->capture_default_str();
  server->add_option("--datagram-bytes", datagram_bytes_, "QUIC: largest UDP payload, both ends")
      ->check(CLI::Range(1200, 65000))
      ->capture_default_str();
  server->add_option("--construction", constructions_,
                     "DNSCrypt: what its certificates are for, the preferred one first: xchacha20, xsalsa20 (comma list; default both)");
  server->add_option("--provider-name", provider_name_, "DNSCrypt: name that the certificates are found under")
      ->default_str(server::kDefaultProviderName);
  server->add_option("--zone", zone_file_, "Zone in master-file format (default: built in)");
}

void ResolverOptions::apply(experiment::Setup& setup, bool preset) const {
  const auto wanted = [&](const char* name) { return !preset || command_->count(name) > 0; };
  if (wanted("--retry")) {
    const auto policy = retry_ == "always" ? quic::RetryPolicy::Always : quic::RetryPolicy::Off;
    setup.doq_retry = setup.doh3_retry = policy;
  }
  if (wanted("--chain-bytes")) setup.chain.chain_bytes = chain_bytes_;
  if (wanted("--datagram-bytes"))
    setup.client_quic.datagram_bytes = setup.server_quic.datagram_bytes = datagram_bytes_;
  setup.chain.key = chain_key_ == "rsa" ? tls::KeyType::Rsa2048 : tls::KeyType::EcdsaP256;
  if (!groups_.empty()) setup.server_groups = group_list(groups_);
  setup.client_compression = setup.server_compression = parse_compression(compression_);
  setup.tickets = tickets_;
  if (!constructions_.empty()) setup.dnscrypt_constructions = parse_constructions(constructions_);
  if (!provider_name_.empty()) {
    if (const auto name = dns::normalize_name(provider_name_); !name)
      throw UsageError("--provider-name: " + name.error().message);
    setup.dnscrypt_provider = provider_name_;
  }
  if (!zone_file_.empty()) {
    auto zone = resolver::Zone::parse(read_file(zone_file_));
    if (!zone) throw UsageError(std::format("--zone {}: {}", zone_file_, zone.error().message));
    setup.zone = *zone;
  }
}

void ResolverOptions::check(const experiment::Setup& setup) const {
  if (!setup.subject) return;
  for (const char* name : {"retry", "compression", "server-group", "tickets", "construction", "provider-name", "zone"})
    if (command_->count(std::string("--") + name) > 0) check_followed(setup, name);
}

void check_followed(const experiment::Setup& setup, const std::string& option) {
  if (!setup.subject || setup.subject->options.contains(option)) return;
  std::string followed;
  for (const auto& name : setup.subject->options) followed += (followed.empty() ? "--" : ", --") + name;
  throw UsageError(std::format("--{}: {} cannot be told so by its subject file; {}", option, setup.subject->name,
                               followed.empty() ? "it follows none of the resolver's options"
                                                : "of the resolver's options it follows " + followed));
}

void LinkOptions::add_to(CLI::App& command) {
  auto* link = command.add_option_group("Link");
  link->add_option("--delay", delay_ms_, "One-way delay in ms")->check(number_from(0.0, 10000.0))->capture_default_str();
  link->add_option("--loss", loss_percent_, "Loss in percent, each direction, independent")
      ->check(number_from(0.0, 100.0))
      ->capture_default_str();
  link->add_option("--burst", burst_,
                   "Bursty loss instead (Gilbert-Elliott, percent): P,R[,1-H[,1-K]] as in tc-netem(8)")
      ->delimiter(',')
      ->expected(2, 4)
      ->check(number_from(0.0, 100.0));
  link->add_option("--duplicate", duplicate_percent_, "Packets that arrive twice, in percent, each direction")
      ->check(number_from(0.0, 100.0))
      ->capture_default_str();
  link->add_option("--corrupt", corrupt_percent_, "Packets that arrive with one bit flipped, in percent, each direction")
      ->check(number_from(0.0, 100.0))
      ->capture_default_str();
  link->add_option("--reorder", reorder_percent_, "Packets that overtake others by skipping the delay, in percent, each direction")
      ->check(number_from(0.0, 100.0))
      ->capture_default_str();
  link->add_option("--mtu", mtu_, "MTU of both interfaces in bytes")->check(CLI::Range(1280, 65535))->capture_default_str();
  link->add_option("--drop", dropped_, "Lose this packet of every lookup: c2s/K or s2c/K, the K-th of its direction from 0 (comma list)")
      ->type_name("DIRECTION/K")
      ->delimiter(',');
  link->add_option("--path-mtu", path_mtu_, "Larger IP packets vanish on the way, without a word of ICMP; 0: as --mtu")
      ->check(number_from(0.0, 65535.0))
      ->capture_default_str();
  link->add_option("--rate", rate_kbps_, "Bottleneck rate in kbit/s; 0: unlimited")->capture_default_str();
  link->add_option("--queue", queue_bytes_, "Queue before the bottleneck in bytes; 0: unlimited")->capture_default_str();
  link->add_option("--seed", seed_, "Seed of every draw")->capture_default_str();
  link->add_flag("--ipv6", ipv6_, "IPv6 instead of IPv4");
}

namespace {

link::Scripted drop_of(const std::string& packet) {
  link::Scripted out{.every_sample = true};
  const auto slash = packet.find('/');
  const auto name = packet.substr(0, slash);
  const auto* const end = packet.data() + packet.size();
  const auto parsed = slash == std::string::npos ? std::from_chars_result{packet.data(), std::errc::invalid_argument}
                                                 : std::from_chars(packet.data() + slash + 1, end, out.place.index);
  if (parsed.ec != std::errc() || parsed.ptr != end || (name != "c2s" && name != "s2c"))
    throw UsageError(std::format("--drop {}: neither c2s/K nor s2c/K, as in s2c/1: the second packet of the server", packet));
  out.place.direction = name == "c2s" ? link::Direction::ToServer : link::Direction::ToClient;
  return out;
}

}  // namespace

void LinkOptions::apply(experiment::Setup& setup) const {
  setup.link.one_way_delay = from_ms(delay_ms_);
  setup.link.loss_probability = loss_percent_ / 100;
  if (!burst_.empty()) {
    auto& burst = setup.link.burst.emplace();
    burst.p = burst_[0] / 100;
    burst.r = burst_[1] / 100;
    if (burst_.size() > 2) burst.one_minus_h = burst_[2] / 100;
    if (burst_.size() > 3) burst.one_minus_k = burst_[3] / 100;
    if (burst.p + burst.r <= 0) throw UsageError("--burst: P and R cannot both be 0");
  }
  setup.link.duplicate_probability = duplicate_percent_ / 100;
  setup.link.corrupt_probability = corrupt_percent_ / 100;
  setup.link.reorder_probability = reorder_percent_ / 100;
  setup.link.mtu = mtu_;
  setup.link.path_mtu = path_mtu_;
  setup.link.bottleneck_rate_bps = rate_kbps_ * 1000;
  setup.link.queue_limit_bytes = queue_bytes_;
  setup.link.seed = seed_;
  for (const auto& packet : dropped_) setup.link.script.push_back(drop_of(packet));
  setup.ipv6 = ipv6_;
}

void LabOptions::add_to(CLI::App& command) {
  command_ = &command;
  std::string names;
  for (const auto& name : experiment::subject_names()) names += (names.empty() ? "" : ", ") + name;
  command
      .add_option("--subject", subject_,
                  "The server that is measured: " + names + " (a stand-in with a fault), or PATH.toml (docs/subjects.md)")
      ->capture_default_str();
  link_.add_to(command);

  auto* client = command.add_option_group("Client");
  client->add_option("--only", only_, "Transports: " + transport_names() + " (comma list; default all)")
      ->delimiter(',');
  client->add_option("--group", group_,
                     "Key exchange groups that the client offers, in order (comma list; default X25519MLKEM768,X25519,...)");
  client->add_option("--qname", qname_, "Name to ask for")->capture_default_str();
  client->add_option("--qtype", qtype_, "Type to ask for")->capture_default_str();
  client->add_option("--method", method_, "DoH method")->check(CLI::IsMember({"post", "get"}))->capture_default_str();
  client->add_option("--timeout", timeout_s_, "Seconds until a lookup counts as without an answer")
      ->check(number_from(0.1, 600.0))
      ->capture_default_str();
  client->add_option("--initial-rtt", initial_rtt_ms_, "QUIC: RTT assumed before the first sample, ms (RFC 9002: 333)")
      ->check(number_from(1.0, 10000.0))
      ->capture_default_str();
  client->add_option("--start", start_,
                     "What lookups start from: cold, reused (an open connection), resumed (TLS ticket), 0rtt (early data)")
      ->check(CLI::IsMember({"cold", "reused", "resumed", "0rtt"}))
      ->capture_default_str();
  client->add_flag("--token", token_, "QUIC: bring a NEW_TOKEN token of an earlier connection, so that no Retry is due");
  client->add_flag("--fast-open", fast_open_, "TCP Fast Open with a cookie of an earlier connection");
  client->add_option("--first-flight-copies", first_flight_copies_, "QUIC: send each datagram of the first flight this often")
      ->check(CLI::Range(1, 8))
      ->capture_default_str();
  client->add_option("--do53-retransmit", do53_retransmit_ms_, "Do53 and DNSCrypt over UDP: send again after this many ms; 0: never")
      ->check(number_from(0.0, 600000.0))
      ->capture_default_str();
  client->add_flag("--no-verify", no_verify_, "Do not verify the server's certificate");

  auto* recovery = command.add_option_group("Recovery, at both ends");
  recovery->add_option("--congestion-control", congestion_, "QUIC and TCP: cubic, reno or bbr")
      ->check(CLI::IsMember({"cubic", "reno", "bbr"}))
      ->capture_default_str();
  recovery->add_option("--initcwnd", initcwnd_, "TCP: initial congestion window in segments; 0: 10 (RFC 6928). QUIC keeps that of RFC 9002, ngtcp2 has no choice")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  recovery->add_option("--server-initial-rtt", server_initial_rtt_ms_, "QUIC server: RTT assumed before the first sample, ms")
      ->check(number_from(1.0, 10000.0))
      ->capture_default_str();
  recovery->add_option("--syn-linear-timeouts", syn_linear_timeouts_,
                       "TCP: SYN timeouts before they double (Linux 6.5 and later default to 4; RFC 6298: 0)")
      ->check(CLI::Range(0, 255))
      ->capture_default_str();

  resolver_.add_to(command);
  command.add_flag("--reject-early-data", reject_early_data_, "The resolver rejects the 0-RTT that its tickets allow");
  command.add_flag("--as-published", as_published_,
                   "As the published measurement was set: Retry on for DoH3 and off for DoQ, 1280-byte QUIC datagrams");
}

namespace {

/// QUIC's datagrams are never fragmented (RFC 9000 §14), so that what the link counts is what was sent.
void check_datagrams(const experiment::Setup& setup) {
  if (std::ranges::none_of(setup.transports, is_quic)) return;
  const std::size_t headers = setup.ipv6 ? 48 : 28;
  const auto largest = std::max(setup.client_quic.datagram_bytes, setup.server_quic.datagram_bytes);
  if (largest + headers > setup.link.mtu)
    throw UsageError(std::format("--mtu {}: QUIC datagrams of {} bytes do not fit with {} bytes of headers, and must not be "
                                 "fragmented (RFC 9000 section 14); add --datagram-bytes {} or less",
                                 setup.link.mtu, largest, headers, setup.link.mtu - headers));
}

}  // namespace

experiment::Setup LabOptions::setup() const {
  experiment::Setup out;
  if (as_published_) experiment::set_as_published(out);
  link_.apply(out);
  if (!only_.empty()) out.transports = parse_transports(only_, "--only");
  if (auto name = dns::normalize_name(qname_); name) out.qname = *name;
  else throw UsageError("--qname: " + name.error().message);
  if (auto type = dns::parse_type(qtype_); !type) throw UsageError("--qtype: " + type.error().message);
  out.qtype = qtype_;
  out.timeout = from_ms(timeout_s_ * 1000);
  out.verify = !no_verify_;
  out.method = method_ == "get" ? transport::HttpMethod::Get : transport::HttpMethod::Post;
  if (!group_.empty()) out.client_groups = group_list(group_);
  resolver_.apply(out, as_published_);
  out.client_quic.initial_rtt = from_ms(initial_rtt_ms_);
  out.server_quic.initial_rtt = from_ms(server_initial_rtt_ms_);
  out.client_quic.first_flight_copies = first_flight_copies_;
  for (auto* quic : {&out.client_quic, &out.server_quic})
    quic->congestion = congestion_ == "reno"  ? quic::CongestionControl::Reno
                       : congestion_ == "bbr" ? quic::CongestionControl::Bbr
                                              : quic::CongestionControl::Cubic;
  out.tcp_initial_window = static_cast<std::uint32_t>(initcwnd_);
  if (congestion_ != "cubic") out.sysctls.emplace_back("tcp_congestion_control", congestion_);
  if (syn_linear_timeouts_ != 0)
    out.sysctls.emplace_back("tcp_syn_linear_timeouts", std::to_string(syn_linear_timeouts_));
  out.start = *experiment::parse_start(start_);
  out.use_token = token_;
  out.fast_open = fast_open_;
  out.reject_early_data = reject_early_data_;
  if (reject_early_data_ && out.start != experiment::Start::EarlyData)
    throw UsageError("--reject-early-data: without --start 0rtt there is no early data to reject");
  out.do53_retransmission = from_ms(do53_retransmit_ms_);
  out.key_log = key_log_of_environment();
  choose_subject(out);
  check_datagrams(out);
  return out;
}

void LabOptions::choose_subject(experiment::Setup& setup) const {
  experiment::choose_subject(setup, subject_);
  if (!setup.subject) return;
  if (!only_.empty() && !setup.not_offered.empty())
    throw UsageError(std::format("--only: {} is not offered by {}; it offers {}", to_string(setup.not_offered.front()),
                                 experiment::subject_title(setup), lab::offered_transports(*setup.subject)));
  resolver_.check(setup);
  for (const char* name : {"reject-early-data", "server-initial-rtt", "congestion-control", "fast-open"})
    if (command_->count(std::string("--") + name) > 0) check_followed(setup, name);
  if (as_published_ && setup.subject->ports.contains(Transport::Doh3)) check_followed(setup, "retry");
  if (setup.start == experiment::Start::EarlyData) check_followed(setup, "early-data");
}

CLI::Validator number_from(double low, double high) {
  const auto range = std::format("[{:g} - {:g}]", low, high);
  return {[low, high, range](std::string& text) {
            double value = 0;
            const bool inside = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return inside ? std::string() : std::format("Value {} not in range {}", text, range);
          },
          "FLOAT in " + range};
}

std::vector<Transport> parse_transports(const std::vector<std::string>& names, std::string_view option) {
  std::vector<Transport> out;
  for (const auto& name : names) {
    const auto t = parse_transport(name);
    if (!t)
      throw UsageError(std::format("{}: '{}' is no transport; they are {}", option, name, transport_names()));
    if (std::ranges::find(out, *t) == out.end()) out.push_back(*t);
  }
  return out;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    std::erase(part, ' ');
    if (!part.empty()) out.push_back(part);
  }
  return out;
}

std::string group_name(const std::string& name) {
  if (name == "P-256") return "secp256r1";
  if (name == "P-384") return "secp384r1";
  if (name == "P-521") return "secp521r1";
  return name;
}

void check_groups(const std::string& list, std::string_view typed) {
  try {
    const tls::ClientContext probe({.groups = list, .verify = false});
  } catch (const std::runtime_error&) {
    throw UsageError(
        std::format("'{}' is no key exchange group; there are X25519, secp256r1, X25519MLKEM768, MLKEM768 and others", typed));
  }
}

std::string group_list(const std::string& text) {
  if (text.find_first_of(":*") != std::string::npos) {
    check_groups(text, text);
    return text;
  }
  std::string out;
  bool hybrid_share = false, classical_share = false;
  for (const auto& given : split_list(text)) {
    const auto name = group_name(given);
    check_groups(name, given);
    const bool hybrid = name.find("MLKEM") != std::string::npos;
    auto& has_share = hybrid ? hybrid_share : classical_share;
    if (!out.empty()) out += ':';
    if (!std::exchange(has_share, true)) out += '*';
    out += name;
  }
  return out;
}

std::vector<dnscrypt::EsVersion> parse_constructions(const std::string& text) {
  std::vector<dnscrypt::EsVersion> out;
  for (const auto& name : split_list(text)) {
    using enum dnscrypt::EsVersion;
    std::optional<dnscrypt::EsVersion> version;
    for (const auto& [short_name, candidate] : {std::pair{"xchacha20", X25519XChaCha20Poly1305},
                                                std::pair{"xsalsa20", X25519XSalsa20Poly1305}})
      if (name == short_name || name == dnscrypt::to_string(candidate)) version = candidate;
    if (!version) throw UsageError(std::format("--construction: '{}' is not xchacha20 or xsalsa20", name));
    if (std::ranges::find(out, *version) == out.end()) out.push_back(*version);
  }
  if (out.empty()) throw UsageError("--construction: at least one of xchacha20 and xsalsa20 is needed");
  return out;
}

std::vector<tls::CertificateCompression> parse_compression(const std::string& text) {
  std::vector<tls::CertificateCompression> out;
  for (const auto& name : split_list(text)) {
    if (name == "zlib") out.push_back(tls::CertificateCompression::Zlib);
    else if (name == "zstd") out.push_back(tls::CertificateCompression::Zstd);
    else if (name != "none") throw UsageError(std::format("--compression: '{}' is not none, zlib or zstd", name));
  }
  return out;
}

}  // namespace doxlab::app
