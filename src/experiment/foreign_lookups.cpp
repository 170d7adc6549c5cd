#include "experiment/foreign_lookups.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <format>
#include <stdexcept>
#include <thread>

#include "client/lookup.hpp"
#include "dissect/key_log.hpp"
#include "dns/message.hpp"
#include "dnscrypt/stamp.hpp"
#include "experiment/foreign_flows.hpp"
#include "http/doh.hpp"
#include "lab/subject_process.hpp"
#include "net/child_process.hpp"

namespace doxlab::experiment {
namespace {

/// Sample numbers that no experiment uses.
constexpr std::uint64_t kUncountedSample = std::uint64_t{1} << 40;
constexpr std::size_t kKeptWords = 64 * 1024;
/// Some programs say what is wrong first and then at length what one might do.
constexpr std::size_t kQuotedLines = 5;
/// Enough for a browser; a file that is longer was written for something else.
constexpr std::size_t kLargestKeyLog = 4 << 20;
/// How soon the end of a program is noticed at the latest, and that somebody wants to stop.
constexpr Duration kGlance = 20ms;
constexpr Duration kForwarderTermination = 1s;

std::string filled_in(std::string_view text, const lab::SubjectValues& values, const lab::ForeignClient& client) {
  auto out = lab::fill_in(text, values);
  if (!out) throw std::runtime_error(std::format("{}: {}; name one transport with --only", client.name, out.error().message));
  return std::move(*out);
}

}  // namespace

std::string spki_of(const std::string& chain_pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(BIO_new_mem_buf(chain_pem.data(), static_cast<int>(chain_pem.size())), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> leaf(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free);
  if (!leaf) return {};
  unsigned char* der = nullptr;
  const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(leaf.get()), &der);
  if (length <= 0) return {};
  std::array<unsigned char, 32> digest{};
  EVP_Digest(der, static_cast<std::size_t>(length), digest.data(), nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  std::array<unsigned char, 64> text{};
  const int written = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return {text.begin(), text.begin() + written};
}

std::string doh_stamp(const SocketAddress& server, const std::string& name, const std::string& path) {
  constexpr std::uint8_t kDoh = 0x02;
  ByteWriter out;
  const auto field = [&](std::string_view text) {
    out.u8(static_cast<std::uint8_t>(text.size()));
    out.append(as_bytes(text));
  };
  out.u8(kDoh);
  for (int i = 0; i < 8; ++i) out.u8(0);  // properties
  auto address = server.to_string();
  const bool has_default_port = server.port == default_port(Transport::Doh);
  if (has_default_port) address.resize(address.rfind(':'));
  field(address);
  field({});  // no hash of a certificate: the trust anchors decide
  field(has_default_port ? name : std::format("{}:{}", name, server.port));
  field(path);
  return "sdns://" + http::base64url_encode(out.bytes());
}

std::string client_title(const Setup& setup) {
  if (!setup.client) return {};
  return setup.client->name + (setup.client_version.empty() ? "" : " " + setup.client_version);
}

ForeignLookups::ForeignLookups(lab::Lab& lab, const Setup& setup, const Server& server)
    : lab_(lab), setup_(setup), roots_pem_(server.roots_pem) {
  const auto type = dns::parse_type(setup.qtype);
  if (!type) throw std::runtime_error(type.error().message);
  qtype_ = *type;
  const auto address = lab::Lab::server_address(setup.ipv6).to_string();
  auto qname = setup.qname;
  if (qname.size() > 1 && qname.ends_with('.')) qname.pop_back();
  values_ = {{"server", address},
             {"host", setup.ipv6 ? "[" + address + "]" : address},
             {"name", setup.chain.dns_names.front()},
             {"qname", qname},
             {"qtype", setup.qtype},
             {"doh_path", setup.subject ? setup.subject->doh_path : "/dns-query"},
             {"spki", spki_of(server.chain_pem)},
             {"groups", groups_without_marks(setup.client_groups)},
             {"method", setup.method == transport::HttpMethod::Get ? "get" : "post"}};
  if (setup.client->listen_port) values_["listen_port"] = std::to_string(*setup.client->listen_port);
  if (server.dnscrypt_keys != nullptr) {
    dnscrypt::Stamp stamp;
    stamp.address = {lab::Lab::server_address(setup.ipv6), resolver_port(Transport::Dnscrypt)};
    stamp.provider_key = server.dnscrypt_keys->provider_key();
    stamp.provider_name = server.dnscrypt_keys->provider_name();
    dnscrypt_stamp_ = dnscrypt::to_string(stamp);
  }
}

void ForeignLookups::add_secret(std::string_view line) {
  const std::lock_guard lock(mutex_);
  secrets_.append(line).push_back('\n');
}

SocketAddress ForeignLookups::server_of(Transport transport) const {
  std::uint16_t port = resolver_port(transport);
  if (setup_.subject) {
    const auto offered = setup_.subject->ports.find(transport);
    port = offered == setup_.subject->ports.end() ? std::uint16_t{0} : offered->second;
  }
  return {lab::Lab::server_address(setup_.ipv6), port};
}

std::optional<Transport> ForeignLookups::transport_at(capture::Protocol protocol, const SocketAddress& server) const {
  for (const auto t : kAllTransports)
    if (is_stream(t) == (protocol == capture::Protocol::Tcp) && server_of(t) == server) return t;
  return std::nullopt;
}

lab::SubjectValues ForeignLookups::values_for(std::optional<Transport> transport) const {
  auto out = values_;
  const auto query = compose_query(setup_, transport.value_or(Transport::Do53));
  out["query_base64url"] = http::base64url_encode(query);
  if (!transport) return out;
  out["port"] = std::to_string(server_of(*transport).port);
  if (is_dnscrypt(*transport)) out["stamp"] = dnscrypt_stamp_;
  else if (*transport == Transport::Doh || *transport == Transport::Doh3)
    out["stamp"] = doh_stamp(server_of(*transport), values_.at("name"), values_.at("doh_path"));
  return out;
}

std::optional<Sample> ForeignLookups::look_up(const Task& task, bool is_spared, const std::stop_token& stop) {
  return execute(task, task.transport, is_spared, stop);
}

Transport ForeignLookups::find_transport() {
  const auto sample = execute({}, std::nullopt, true, {});
  if (sample && !sample->packets.empty()) return sample->task.transport;
  const auto reason = sample ? sample->result.reason : std::string();
  throw std::runtime_error(std::format("{}: nothing was sent to the server over any transport that it offers: {}", setup_.client->name, reason));
}

std::vector<Transport> ForeignLookups::warm_up() {
  const auto& client = *setup_.client;
  const auto& transports = setup_.transports;
  if (!client.command_line.empty() && transports.size() > 1) return {find_transport()};
  for (const auto t : transports)
    if (client.command_line.empty() && !client.commands.contains(t))
      throw std::invalid_argument(
          std::format("{} does not ask over {}; it asks over {}", client.name, to_string(t), lab::spoken_transports(client)));
  for (const auto t : transports) look_up({.transport = t, .sample = kUncountedSample}, true, {});
  return transports;
}

bool ForeignLookups::look_up_all(std::span<const Task> tasks, Duration interval, const std::function<void(Sample&&)>& on_sample,
                                 const std::stop_token& stop) {
  interval_ = interval;
  std::mutex pause;
  std::condition_variable_any stopped;
  for (const auto& task : tasks) {
    const auto begin = monotonic_now();
    auto sample = look_up(task, false, stop);
    if (!sample) return false;
    on_sample(std::move(*sample));
    std::unique_lock lock(pause);
    stopped.wait_until(lock, stop, begin + interval_, [] { return false; });
    if (stop.stop_requested()) return &task == &tasks.back();
  }
  return true;
}

std::optional<Sample> ForeignLookups::execute(const Task& task, std::optional<Transport> transport, bool is_spared,
                                              const std::stop_token& stop) {
  const auto& client = *setup_.client;
  const bool is_forwarder = client.listen_port.has_value();
  const auto starting = next_lookup_++, key = next_lookup_++;
  const lab::FlowTag tag{key, task.sample};
  {
    const std::lock_guard lock(mutex_);
    secrets_.clear();
  }
  lab_.adopt_flows(is_forwarder ? lab::FlowTag{starting, task.sample} : tag, is_spared || is_forwarder);
  Ending ending;
  // In a thread of its own: one that has a mount namespace of its own is of no use for anything else.
  lab_.run_in(lab::Side::Client, [&] { run_program(transport, tag, is_spared, stop, ending); });
  // What is on the way arrives, and what that provokes too.
  std::this_thread::sleep_for(4 * setup_.link.one_way_delay + 20ms);
  Sample sample{.task = task, .result = {}};
  if (is_forwarder) sample.opening = lab_.take(starting);
  sample.packets = lab_.take(key);
  if (stop.stop_requested()) return std::nullopt;

  sample.key_log = std::move(ending.key_log);
  {
    const std::lock_guard lock(mutex_);
    sample.key_log += secrets_;
  }
  auto& result = sample.result;
  recognize_lookup(sample, {.qname = setup_.qname, .qtype = qtype_, .transport = transport},
                   [this](capture::Protocol protocol, const SocketAddress& server) { return transport_at(protocol, server); });
  if (result.response.empty() && result.answered) result.response = std::move(ending.answer);
  if (result.answered && *result.answered - result.started > setup_.timeout) result.answered.reset();
  if (result.answered) {
    result.outcome = client::Outcome::Answered;
    return sample;
  }
  if (sample.packets.empty()) result.started = monotonic_now();
  result.outcome = ending.timed_out ? client::Outcome::TimedOut : client::Outcome::Failed;
  result.reason = what_happened(ending);
  if (sample.packets.empty() && !ending.timed_out)
    result.reason += transport && !sample.beside.empty() ? std::format("; it sent nothing to the server over {}", display_name(*transport))
                                                         : "; it sent nothing to the server";
  return sample;
}

std::string ForeignLookups::what_happened(const Ending& ending) const {
  auto out = ending.reason;
  if (out.empty()) out = std::format("it ended without an answer on the wire: {}", lab::how_it_ended(ending.status.value_or(0)));
  if (!ending.last_lines.empty()) out += std::format("; the last that it wrote: {}", ending.last_lines);
  return out;
}

void ForeignLookups::run_program(std::optional<Transport> transport, lab::FlowTag tag, bool is_spared, const std::stop_token& stop,
                                 Ending& ending) {
  const auto& client = *setup_.client;
  const lab::ProgramFolder folder;
  auto values = values_for(transport);
  values["folder"] = folder.path();
  for (const auto& [name, file] : {std::pair{"roots", "roots.pem"}, {"query", "query"}, {"key_log", "keys"}})
    values[name] = folder.path() + "/" + file;
  folder.write("roots.pem", roots_pem_);
  folder.write("query", as_text(compose_query(setup_, transport.value_or(Transport::Do53))));
  // The machine's name servers cannot be reached from here. What the program looks up by itself goes through the link.
  folder.write("resolv.conf", std::format("nameserver {}\n", values.at("server")));
  folder.show_at("/etc/resolv.conf", "resolv.conf");
  folder.write("hosts", std::format("127.0.0.1 localhost\n::1 localhost\n{} {}\n", values.at("server"), values.at("name")));
  folder.show_at("/etc/hosts", "hosts");
  for (const auto& file : client.files) folder.write(file.name, filled_in(file.text, values, client));

  net::ChildOptions options{.working_directory = folder.path(), .keep_last = kKeptWords};
  options.environment = {{"SSLKEYLOGFILE", values.at("key_log")}, {"HOME", folder.path()}};
  for (const auto& [name, value] : client.environment) options.environment.emplace_back(name, filled_in(value, values, client));
  std::vector<std::string> command;
  if (client.command_line.empty())
    for (const auto& word : client.commands.at(*transport)) command.push_back(filled_in(word, values, client));
  else
    command = {"sh", "-c", filled_in(client.command_line, values, client)};
  const auto child = lab::start_described({client.name, client.package}, command, options);
  if (client.listen_port) ask_forwarder(*child, tag, is_spared, stop, ending);
  else wait_for_end(*child, stop, ending);
  auto words = child->errors();
  ending.key_log = folder.read("keys", kLargestKeyLog) + dissect::take_key_log(words);
  if (words.find_first_not_of(" \n") == std::string::npos) words = child->output();
  ending.last_lines = lab::last_lines(words, kQuotedLines);
  while (ending.last_lines.ends_with('\n')) ending.last_lines.pop_back();
  for (std::size_t at = 0; (at = ending.last_lines.find('\n', at)) != std::string::npos;) ending.last_lines.replace(at, 1, " / ");
}

void ForeignLookups::wait_for_end(net::ChildProcess& child, const std::stop_token& stop, Ending& ending) const {
  const auto before = lab_.volume(link::Direction::ToServer).packets;
  const auto begin = monotonic_now();
  std::optional<Timestamp> first_sent;
  while (!stop.stop_requested()) {
    ending.status = child.wait(kGlance);
    if (ending.status) return;
    const auto now = monotonic_now();
    if (!first_sent && lab_.volume(link::Direction::ToServer).packets > before) first_sent = now;
    if (first_sent ? now - *first_sent > setup_.timeout : now - begin > kStartLimit) {
      ending.timed_out = true;
      ending.reason = first_sent ? std::format("no answer in {:g} s; killed", to_ms(setup_.timeout) / 1000)
                                 : std::format("it still ran after {:g} s without sending anything; killed", to_ms(kStartLimit) / 1000);
      return;
    }
  }
}

void ForeignLookups::ask_forwarder(net::ChildProcess& child, lab::FlowTag tag, bool is_spared, const std::stop_token& stop,
                                   Ending& ending) {
  const auto& client = *setup_.client;
  client::LookupOptions options;
  options.transport = Transport::Do53;
  options.server = {IpAddress::v4({127, 0, 0, 1}), *client.listen_port};
  options.tcp_fallback = false;
  options.linger = 0ms;
  const auto query = compose_query(setup_, Transport::Do53);
  const auto deadline = monotonic_now() + kStartLimit;
  for (bool is_ready = false; !is_ready;) {
    if (stop.stop_requested()) return;
    if (const auto status = child.wait(0ms)) {
      ending.status = status;
      ending.reason = std::format("it ended before it was ready: {}", lab::how_it_ended(*status));
      return;
    }
    if (monotonic_now() > deadline) {
      ending.timed_out = true;
      ending.reason = std::format("it was not ready in {:g} s; killed", to_ms(kStartLimit) / 1000);
      return;
    }
    if (!client.ready.empty()) {
      is_ready = child.wait_for(client.ready, kGlance);
    } else {
      options.timeout = 1s;
      is_ready = client::lookup(options, query).answered.has_value();
      if (!is_ready) child.wait(kGlance);
    }
  }
  // Acknowledgements and tickets of its start pass.
  child.wait(2 * setup_.link.one_way_delay + 100ms);
  lab_.adopt_flows(tag, is_spared);
  options.timeout = setup_.timeout;
  auto answer = client::lookup(options, query);
  ending.answer = std::move(answer.response);
  ending.timed_out = answer.outcome == client::Outcome::TimedOut;
  if (!answer.answered) ending.reason = std::format("the forwarder gave no answer: {}", answer.reason.empty() ? "timed out" : answer.reason);
  child.signal(SIGTERM);
  ending.status = child.wait(kForwarderTermination);
}

}  // namespace doxlab::experiment
