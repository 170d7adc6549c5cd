#include <format>
#include <memory>
#include <print>
#include <random>

#include "client/lookup.hpp"
#include "client/resolve_host.hpp"
#include "client/server_url.hpp"
#include "commands.hpp"
#include "dns/message.hpp"
#include "files.hpp"
#include "io/unix_clock.hpp"
#include "key_log_file.hpp"
#include "qlog_folder.hpp"
#include "results/query.hpp"

namespace doxlab::app {
namespace {

struct QueryOptions {
  std::vector<std::string> words;
  std::string groups, ca_file, server_name, ip, compression = "none", provider_name, provider_key, constructions, qlog;
  double timeout_s = 5;
  std::size_t datagram_bytes = 1232;
  bool brief = false, json = false, tcp = false, no_verify = false, get = false, dnssec = false, no_padding = false;
};

struct Question {
  std::string name, type = "A";
  client::ServerUrl server;
};

/// dig's order-free words: NAME [TYPE] @SERVER [+short] [+json] [+tcp].
Question read_words(QueryOptions& options) {
  Question out;
  bool has_server = false, has_type = false;
  for (const auto& word : options.words) {
    if (word.starts_with('@')) {
      auto url = client::parse_server_url(std::string_view(word).substr(1));
      if (!url) throw UsageError(url.error().message);
      out.server = *url;
      has_server = true;
    } else if (word == "+short") {
      options.brief = true;
    } else if (word == "+json") {
      options.json = true;
    } else if (word == "+tcp") {
      options.tcp = true;
    } else if (word.starts_with('+')) {
      throw UsageError(std::format("'{}' is unknown; there are +short, +json and +tcp", word));
    } else if (out.name.empty()) {
      auto name = dns::normalize_name(word);
      if (!name) throw UsageError(name.error().message);
      out.name = *name;
    } else if (!has_type) {
      if (auto type = dns::parse_type(word); !type) throw UsageError(type.error().message);
      out.type = word;
      has_type = true;
    } else {
      throw UsageError(std::format("'{}' is one word too many; usage: doxlab query NAME [TYPE] @SERVER", word));
    }
  }
  if (options.tcp && !is_stream(out.server.transport)) {
    const auto over_tcp = tcp_fallback(out.server.transport);
    if (!over_tcp) throw UsageError(std::format("{} does not run over TCP", display_name(out.server.transport)));
    out.server.transport = *over_tcp;
  }
  if (out.name.empty()) throw UsageError("a NAME to ask for is missing");
  if (!has_server) throw UsageError("a server is missing, for example @tls://192.0.2.1 or @https://dns.example/dns-query");
  return out;
}

/// Who the provider is: by options, or by the stamp that named the server.
transport::DnscryptClientOptions dnscrypt_options(const QueryOptions& options, const client::ServerUrl& server) {
  transport::DnscryptClientOptions out;
  out.provider_name = options.provider_name.empty() ? server.provider_name : options.provider_name;
  if (!options.provider_key.empty()) {
    const auto key = dnscrypt::parse_key(options.provider_key);
    if (!key) throw UsageError("--provider-key: " + key.error().message);
    out.provider_key = *key;
  } else if (server.provider_key) {
    out.provider_key = *server.provider_key;
  }
  if (out.provider_name.empty() || (options.provider_key.empty() && !server.provider_key))
    throw UsageError("DNSCrypt needs --provider-name and --provider-key, or a stamp: @sdns://...");
  if (!options.constructions.empty()) out.es_versions = parse_constructions(options.constructions);
  out.clock = io::unix_clock_now();
  out.retransmission = 1s;
  return out;
}

client::LookupOptions lookup_options(const QueryOptions& options, const Question& question) {
  client::LookupOptions out;
  out.transport = question.server.transport;
  auto address = options.ip.empty() ? client::resolve_host(question.server.host) : IpAddress::parse(options.ip);
  if (!address) throw std::runtime_error(address.error().message);
  out.server = {*address, question.server.port};
  out.timeout = from_ms(options.timeout_s * 1000);
  out.linger = 50ms;
  auto& session = out.session;
  session.server_name = options.server_name.empty() ? question.server.host : options.server_name;
  session.port = question.server.port;
  session.doh_path = question.server.path;
  session.method = options.get ? transport::HttpMethod::Get : transport::HttpMethod::Post;
  session.quic.datagram_bytes = options.datagram_bytes;
  session.do53_retransmission = 1s;
  if (is_dnscrypt(out.transport)) session.dnscrypt = dnscrypt_options(options, question.server);
  if (has_tls(out.transport)) {
    tls::ClientOptions tls;
    if (!options.groups.empty()) tls.groups = group_list(options.groups);
    if (!options.ca_file.empty()) tls.roots_pem = read_file(options.ca_file);
    tls.verify = !options.no_verify;
    tls.key_log = key_log_of_environment();
    tls.certificate_compression = parse_compression(options.compression);
    session.tls = std::make_shared<const tls::ClientContext>(std::move(tls));
  }
  return out;
}

std::string_view to_string(tls::EarlyData e) {
  switch (e) {
    case tls::EarlyData::NotOffered: return "not offered";
    case tls::EarlyData::Accepted: return "accepted";
    case tls::EarlyData::Rejected: return "rejected";
  }
  return "not offered";
}

results::QueryResult describe(const Question& question, const client::LookupOptions& options,
                              const client::LookupResult& result, const std::optional<dns::Message>& message) {
  results::QueryResult out;
  out.qname = question.name;
  out.qtype = question.type;
  out.server = options.server.to_string();
  out.transport = doxlab::to_string(options.transport);
  out.outcome = client::to_string(result.outcome);
  out.reason = result.reason;
  out.message_bytes = result.response.size();
  const auto since = [&](const std::optional<Timestamp>& at) {
    return at ? std::optional(to_ms(*at - result.started)) : std::nullopt;
  };
  out.connected_ms = since(result.connected);
  out.secured_ms = since(result.secured);
  out.answered_ms = since(result.answered);
  out.retry = result.quic_retry;
  out.tcp_fallback = result.used_tcp_fallback;
  if (const auto& handshake = result.handshake) {
    out.tls_version = handshake->version;
    out.group = handshake->group;
    out.cipher = handshake->cipher;
    out.alpn = handshake->alpn;
    out.resumed = handshake->resumed;
    out.hello_retry_request = handshake->hello_retry_request;
    out.early_data = to_string(handshake->early_data);
    out.certificate_bytes = handshake->peer_certificate_bytes;
  }
  if (message) {
    out.rcode = dns::rcode_to_string(message->rcode);
    for (const auto& r : message->answer) out.answer.push_back({r.name, dns::type_to_string(r.type), r.ttl, r.rdata});
  }
  return out;
}

void print_phases(const results::QueryResult& r) {
  std::string line = std::format(";; {} to {}", display_name(*parse_transport(r.transport)), r.server);
  if (!r.group.empty() || !r.cipher.empty())
    line += std::format(", {} {} {}{}", r.tls_version, r.group.empty() ? "PSK" : r.group, r.cipher,
                        r.alpn.empty() ? "" : ", ALPN " + r.alpn);
  if (!r.cipher.empty())
    line += std::format(", {}, {} {} bytes", r.resumed ? "resumed" : "not resumed",
                        is_dnscrypt(*parse_transport(r.transport)) ? "certificate" : "chain", r.certificate_bytes);
  if (r.hello_retry_request) line += ", HelloRetryRequest";
  if (r.retry) line += ", Retry";
  if (r.tcp_fallback) line += ", truncated and asked again over TCP";
  std::println("{}", line);
  std::string times = ";; from the start:";
  if (r.connected_ms) times += std::format(" connected {:.2f} ms,", *r.connected_ms);
  if (r.secured_ms) times += std::format(" secured {:.2f} ms,", *r.secured_ms);
  if (r.answered_ms) times += std::format(" answered {:.2f} ms", *r.answered_ms);
  std::println("{}; message {} bytes", times, r.message_bytes);
}

int run(QueryOptions options, const Invocation&) {
  const auto question = read_words(options);
  auto lookup_with = lookup_options(options, question);
  std::optional<QlogFolder> qlog;
  if (!options.qlog.empty()) lookup_with.session.quic.qlog = qlog.emplace(options.qlog).opener();
  std::random_device random;
  const auto query = dns::compose_query(question.name, *dns::parse_type(question.type),
                                        {.id = static_cast<std::uint16_t>(random()),
                                         .dnssec_ok = options.dnssec,
                                         .pad_to_multiple = has_tls(lookup_with.transport) && !options.no_padding ? 128u : 0u});
  if (!query) throw UsageError(query.error().message);
  const auto result = client::lookup(lookup_with, *query);
  const bool logged = !qlog || qlog->finish();
  std::optional<dns::Message> message;
  std::string reason = result.reason;
  if (result.outcome == client::Outcome::Answered) {
    auto parsed = dns::parse_message(result.response);
    if (parsed) message = std::move(*parsed);
    else reason = "the answer is malformed: " + parsed.error().message;
  }
  auto record = describe(question, lookup_with, result, message);
  record.reason = reason;
  if (options.json) {
    std::print("{}", results::to_json(record));
  } else if (!message) {
    std::println(stderr, "doxlab: {} {}: {}: {}", display_name(lookup_with.transport), record.server, record.outcome, reason);
  } else if (options.brief) {
    for (const auto& r : record.answer) std::println("{}", r.rdata);
  } else {
    std::print("{}", dns::to_text(*message));
    print_phases(record);
  }
  return message && logged ? kOk : kFailed;
}

}  // namespace

Command add_query(CLI::App& parent) {
  auto* command = parent.add_subcommand("query", "One lookup, dig-like: NAME [TYPE] @udp|tcp|tls|https|h3|quic|dnscrypt://HOST[:PORT][/path], or @sdns://STAMP");
  auto options = std::make_shared<QueryOptions>();
  command->add_option("words", options->words, "NAME [TYPE] @SERVER [+short] [+json] [+tcp]")->required();
  command->add_flag("--short", options->brief, "Only the answer's data (also +short)");
  command->add_flag("--json", options->json, "One JSON object (also +json)");
  command->add_option("--group", options->groups, "Key exchange groups, in order (comma list)");
  command->add_option("--ca", options->ca_file, "Trust anchors in PEM (default: the system's)");
  command->add_option("--server-name", options->server_name, "Name to verify and send (default: HOST)");
  command->add_option("--ip", options->ip, "Address to connect to instead of looking HOST up");
  command->add_flag("--tcp", options->tcp, "Do53, DNSCrypt: over TCP from the start (also +tcp)");
  command->add_option("--provider-name", options->provider_name, "DNSCrypt: name that the certificates are found under");
  command->add_option("--provider-key", options->provider_key, "DNSCrypt: the provider's public key in hexadecimal");
  command->add_option("--construction", options->constructions,
                      "DNSCrypt: what is accepted, the preferred one first: xchacha20, xsalsa20 (comma list; default both)");
  command->add_flag("--no-verify", options->no_verify, "Do not verify the certificate");
  command->add_flag("--get", options->get, "DoH by GET instead of POST");
  command->add_flag("--dnssec", options->dnssec, "Set the DO bit");
  command->add_flag("--no-padding", options->no_padding, "No EDNS padding on transports with TLS");
  command->add_option("--compression", options->compression, "Certificate compression to offer: none, zlib, zstd");
  command->add_option("--datagram-bytes", options->datagram_bytes, "QUIC: largest UDP payload")
      ->check(CLI::Range(1200, 65000))
      ->capture_default_str();
  add_qlog_option(*command, options->qlog);
  command->add_option("--timeout", options->timeout_s, "Seconds")->check(number_from(0.01, 600.0))->capture_default_str();
  command->footer(
      "Examples:\n"
      "  doxlab query example.com AAAA @udp://127.0.0.1:10053 +short\n"
      "  doxlab query example.com @quic://127.0.0.1:10853 --ca root.pem\n"
      "  doxlab query example.com @https://dns.example/dns-query --ip 192.0.2.1 +json\n"
      "  doxlab query example.com @sdns://AQcAAAAAAAAA... +tcp\n\n"
      "If SSLKEYLOGFILE is set, the TLS secrets are appended to the file that it names.\n"
      "Exits with 1 if there is no answer; an answer with any RCODE is an answer.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }, [] { return false; }};
}

}  // namespace doxlab::app
