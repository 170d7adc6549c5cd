#include "client/resolve_host.hpp"

#include <format>
#include <fstream>
#include <random>
#include <sstream>

#include "client/lookup.hpp"
#include "dns/message.hpp"

namespace doxlab::client {
namespace {

constexpr std::uint16_t kTypeA = 1, kTypeAaaa = 28;

std::string slurp(const char* path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<IpAddress> from_hosts(const std::string& host, const std::string& hosts) {
  std::istringstream lines(hosts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address, name;
    words >> address;
    while (words >> name)
      if (name == host)
        if (auto parsed = IpAddress::parse(address)) return *parsed;
  }
  return std::nullopt;
}

std::vector<IpAddress> name_servers(const std::string& resolv_conf) {
  std::vector<IpAddress> out;
  std::istringstream lines(resolv_conf);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string keyword, address;
    words >> keyword >> address;
    if (keyword != "nameserver") continue;
    if (auto parsed = IpAddress::parse(address)) out.push_back(*parsed);
  }
  return out;
}

Result<IpAddress> ask(const IpAddress& server, const std::string& host, std::uint16_t type) {
  std::random_device random;
  auto query = dns::compose_query(host, type, {.id = static_cast<std::uint16_t>(random())});
  if (!query) return std::unexpected(query.error());
  LookupOptions options;
  options.server = {server, 53};
  options.timeout = 5s;
  options.linger = 0ms;
  options.session.do53_retransmission = 1s;
  const auto result = lookup(options, *query);
  if (result.outcome != Outcome::Answered) return fail(std::format("{}: {}", server.to_string(), result.reason));
  const auto message = dns::parse_message(result.response);
  if (!message) return fail(std::format("{}: {}", server.to_string(), message.error().message));
  for (const auto& record : message->answer)
    if (record.type == type)
      if (auto address = IpAddress::parse(record.rdata)) return *address;
  return fail(std::format("{}: {} has no {} record ({})", server.to_string(), host, dns::type_to_string(type),
                          dns::rcode_to_string(message->rcode)));
}

}  // namespace

Result<IpAddress> resolve_host(const std::string& host) {
  return resolve_host(host, slurp("/etc/hosts"), slurp("/etc/resolv.conf"));
}

Result<IpAddress> resolve_host(const std::string& host, const std::string& hosts, const std::string& resolv_conf) {
  if (auto address = IpAddress::parse(host)) return *address;
  if (auto address = from_hosts(host, hosts)) return *address;
  std::string why = "no name server in /etc/resolv.conf";
  for (const auto& server : name_servers(resolv_conf)) {
    for (auto type : {kTypeA, kTypeAaaa}) {
      auto address = ask(server, host, type);
      if (address) return address;
      why = address.error().message;
    }
  }
  return fail(std::format("the address of '{}' could not be found: {}", host, why));
}

}  // namespace doxlab::client
