#include "experiment/setup.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <format>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "io/unix_clock.hpp"

namespace doxlab::experiment {
namespace {

constexpr std::pair<Start, std::string_view> kStarts[] = {
    {Start::Cold, "cold"}, {Start::Reused, "reused"}, {Start::Resumed, "resumed"}, {Start::EarlyData, "0rtt"}};

}  // namespace

std::string_view to_string(Start start) {
  return std::ranges::find(kStarts, start, &std::pair<Start, std::string_view>::first)->second;
}

std::optional<Start> parse_start(std::string_view text) {
  const auto found = std::ranges::find(kStarts, text, &std::pair<Start, std::string_view>::second);
  return found == std::end(kStarts) ? std::nullopt : std::optional(found->first);
}

std::string groups_without_marks(std::string groups) {
  std::erase(groups, '*');
  std::ranges::replace(groups, '/', ':');
  return groups;
}

void set_as_published(Setup& setup) {
  setup.doh3_retry = quic::RetryPolicy::Always;
  setup.doq_retry = quic::RetryPolicy::Off;
  setup.client_quic.datagram_bytes = 1280;
  setup.server_quic.datagram_bytes = 1280;
  setup.chain.chain_bytes = 3900;
  setup.client_groups = tls::kDefaultGroups;
  setup.server_groups = tls::kDefaultGroups;
  setup.method = transport::HttpMethod::Post;
}

namespace {

Result<std::string> read_description(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  // One octet more than may be there shows a file that is too long without reading it all.
  text.resize(lab::kLargestSubjectFile + 1);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof())
    return fail(std::format("{}: {}", path, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Result<lab::Subject> read_subject(const std::string& name_or_path) {
  if (!name_or_path.ends_with(".toml")) return lab::built_in_subject(name_or_path);
  return read_description(name_or_path).and_then([&](const std::string& text) { return lab::parse_subject(text, name_or_path); });
}

Result<lab::ForeignClient> read_client(const std::string& given) {
  if (given.find_first_of(" \t\n") != std::string::npos || given.contains("{{")) return lab::foreign_client_of_command(given);
  if (!given.ends_with(".toml")) return lab::built_in_foreign_client(given);
  return read_description(given).and_then([&](const std::string& text) { return lab::parse_foreign_client(text, given); });
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

std::vector<std::string> subject_names() {
  auto out = lab::built_in_subjects();
  out.insert(out.begin(), "builtin");
  out.emplace_back(kStandIn);
  return out;
}

void choose_subject(Setup& setup, const std::string& name_or_path) {
  setup.subject_name = name_or_path;
  setup.server_quic.withhold_initial_retransmission = name_or_path == kStandIn;
  setup.subject.reset();
  setup.subject_version = DOXLAB_VERSION;
  if (name_or_path == "builtin" || name_or_path == kStandIn) return;
  auto subject = read_subject(name_or_path);
  if (!subject)
    throw std::runtime_error(std::format("{} (there are {}, and any PATH.toml)", subject.error().message, joined(subject_names())));
  setup.subject_version = lab::ask_version(*subject);
  setup.subject_name = subject->name;
  std::erase_if(setup.transports, [&](Transport t) {
    if (subject->ports.contains(t)) return false;
    setup.not_offered.push_back(t);
    return true;
  });
  setup.subject = std::make_shared<const lab::Subject>(std::move(*subject));
}

std::vector<std::string> client_names() {
  auto out = lab::built_in_foreign_clients();
  out.insert(out.begin(), "builtin");
  return out;
}

void choose_client(Setup& setup, const std::string& name_path_or_command) {
  setup.client.reset();
  setup.client_version.clear();
  if (name_path_or_command == "builtin") return;
  auto client = read_client(name_path_or_command);
  if (!client)
    throw std::runtime_error(
        std::format("{} (there are {}, any PATH.toml, and any 'COMMAND WITH ARGUMENTS')", client.error().message, joined(client_names())));
  setup.client_version = lab::ask_version(*client);
  if (client->command_line.empty())
    std::erase_if(setup.transports, [&](Transport t) {
      if (client->commands.contains(t)) return false;
      setup.not_spoken.push_back(t);
      return true;
    });
  if (!client->zones.empty() && !setup.zone) {
    auto zone = resolver::Zone::parse(resolver::Zone::built_in_text() + client->zones);
    if (!zone) throw std::runtime_error(std::format("{}: zones: {}", client->name, zone.error().message));
    setup.zone = std::move(*zone);
  }
  setup.client = std::make_shared<const lab::ForeignClient>(std::move(*client));
}

server::ServerOptions server_options(const Setup& setup, const tls::Chain& chain) {
  server::ServerOptions out;
  out.transports = setup.transports;
  out.zone = setup.zone;
  out.tls.groups = setup.server_groups;
  out.tls.chain_pem = chain.chain_pem;
  out.tls.key_pem = chain.key_pem;
  out.tls.tickets = setup.tickets;
  out.tls.certificate_compression = setup.server_compression;
  out.quic = setup.server_quic;
  out.doq_retry = setup.doq_retry;
  out.doh3_retry = setup.doh3_retry;
  out.early_data = setup.start == Start::EarlyData;
  out.stream.fast_open = setup.fast_open;
  // Truncated answers are asked for again over TCP, so a server of one is a server of both.
  for (auto t : setup.transports) {
    const auto over_tcp = tcp_fallback(t);
    if (over_tcp && std::ranges::find(out.transports, *over_tcp) == out.transports.end())
      out.transports.push_back(*over_tcp);
  }
  if (std::ranges::any_of(out.transports, is_dnscrypt)) {
    dnscrypt::ResolverKeyOptions keys;
    keys.es_versions = setup.dnscrypt_constructions;
    out.dnscrypt_keys = std::make_shared<dnscrypt::ResolverKeys>(
        setup.dnscrypt_provider, dnscrypt::ProviderKey::generate(), keys, io::unix_clock_now().seconds);
  }
  return out;
}

}  // namespace doxlab::experiment
