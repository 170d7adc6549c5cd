#include "elsewhere_options.hpp"

#include <algorithm>
#include <format>
#include <print>

#include "client/resolve_host.hpp"
#include "dns/message.hpp"
#include "experiment/elsewhere.hpp"
#include "net/netlink.hpp"
#include "net/user_namespace.hpp"
#include "options.hpp"

namespace doxlab::app {

void ElsewhereOptions::add_to(CLI::App& command) {
  command_ = &command;
  auto* group = command.add_option_group("A server elsewhere (docs/elsewhere.md)");
  group->add_option("--server", server_, "Name of a server on the network, as its certificate has it; the link leads to it, not to the resolver");
  group->add_option("--ip", ip_, "Its address (default: NAME is looked up)");
  group->add_flag("--direct", is_direct_, "Over this machine's own sockets: no link, no namespaces, no root");
  for (const auto t : experiment::kTransportsElsewhere) {
    ports_[t] = default_port(t);
    group->add_option("--port-" + std::string(to_string(t)), ports_[t], std::format("Its port of {}", display_name(t)))
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
  }
  group->add_option("--doh-path", doh_path_, "Its path of DoH and DoH3")->capture_default_str();
  group->add_option("--lookups-per-second", lookups_per_second_, "At most; above 5 only with --i-operate-this-server")
      ->check(number_from(0.01, 500.0))
      ->capture_default_str();
  group->add_flag("--i-operate-this-server", operates_, "It is yours: more than 5 lookups a second and 2000 in all are allowed");
}

void ElsewhereOptions::check_privileges() const {
  if (!is_given() || is_direct_ || net::is_privileged()) return;
  throw std::runtime_error(
      "--server: needs root. An ordinary user's namespaces have no way to the machine's network: no device can be attached to it from "
      "there, and no address translated. Run as root, or with --direct, without a link; the resolver and --subject need no root");
}

void ElsewhereOptions::apply(experiment::Setup& setup, std::size_t lookups, std::stop_token stop) {
  if (!is_given()) {
    for (const auto* option : command_->get_option_group("A server elsewhere (docs/elsewhere.md)")->get_options())
      if (option->count() > 0) throw UsageError(std::format("{}: only with --server", option->get_name()));
    return;
  }
  check_followed_elsewhere();
  if (is_direct_) check_followed_directly();
  const auto name = dns::normalize_name(server_);
  if (!name && !IpAddress::parse(server_)) throw UsageError("--server: " + name.error().message);
  std::string plain = IpAddress::parse(server_) ? server_ : *name;
  if (plain.ends_with('.')) plain.pop_back();
  if (!doh_path_.starts_with('/')) throw UsageError(std::format("--doh-path: '{}' does not begin with '/'", doh_path_));
  Result<IpAddress> address = fail("");
  if (!ip_.empty()) {
    address = IpAddress::parse(ip_);
    if (!address) throw UsageError("--ip: " + address.error().message);
  } else {
    address = client::resolve_host(plain);
    if (!address) throw std::runtime_error("--server: " + address.error().message + "; give --ip");
  }
  if (net::is_loopback(*address) && !is_direct_)
    throw UsageError(std::format("--ip {}: each network namespace has a loopback device of its own, so the link cannot lead there; give the address of another device, or --direct",
                                 address->to_string()));
  if (command_->count("--ipv6") > 0 && !address->is_v6()) throw UsageError(std::format("--ipv6: {} is no IPv6 address", address->to_string()));

  const bool only = command_->count("--only") > 0;
  std::erase_if(setup.transports, [&](Transport t) {
    if (ports_.contains(t)) return false;
    if (only) throw UsageError(std::format("--only: {} cannot be asked of a server elsewhere", to_string(t)));
    return true;
  });
  setup.subject_name = plain;
  setup.subject_version.clear();
  setup.ipv6 = address->is_v6();
  setup.elsewhere = experiment::Elsewhere{.name = plain, .address = *address, .ports = ports_, .doh_path = doh_path_,
                                          .interval = from_ms(1000 / lookups_per_second_), .is_direct = is_direct_};
  if (is_direct_) setup.link = {.one_way_delay = {}, .mtu = setup.link.mtu};
  check_rate(setup, lookups);
  experiment::prime(setup, std::move(stop));
}

void ElsewhereOptions::check_followed_elsewhere() const {
  for (const char* name : {"--subject", "--retry", "--chain-bytes", "--chain-key", "--compression", "--server-group", "--tickets",
                           "--construction", "--provider-name", "--zone", "--reject-early-data", "--as-published", "--server-initial-rtt"})
    if (command_->count(name) > 0) throw UsageError(std::format("{}: a server elsewhere is as it is; not with --server", name));
}

void ElsewhereOptions::check_followed_directly() const {
  for (const auto* option : command_->get_option_group("Link")->get_options())
    if (option->count() > 0 && option->get_name() != "--ipv6")
      throw UsageError(std::format("{}: with --direct there is no link, and the path is as it is; without --direct the link comes before it", option->get_name()));
  for (const char* name : {"--initcwnd", "--syn-linear-timeouts", "--congestion-control", "--fast-open"})
    if (command_->count(name) > 0) throw UsageError(std::format("{}: with --direct the kernel's settings are the machine's own", name));
}

void ElsewhereOptions::check_rate(const experiment::Setup& setup, std::size_t lookups) const {
  if (operates_ || net::is_own_address(setup.elsewhere->address)) return;
  const auto where = setup.elsewhere->address.to_string();
  if (lookups_per_second_ > experiment::kGentleRate)
    throw UsageError(std::format("--lookups-per-second {:g}: {} is not this machine's; more than {:g} a second only with --i-operate-this-server",
                                 lookups_per_second_, where, experiment::kGentleRate));
  if (const auto total = lookups * setup.transports.size(); total > experiment::kGentleTotal)
    throw UsageError(std::format("-n {}: {} lookups in all; {} is not this machine's; more than {} only with --i-operate-this-server", lookups, total,
                                 where, experiment::kGentleTotal));
}

bool ElsewhereOptions::misses_transport(const experiment::Setup& setup) const {
  if (!is_given()) return false;
  if (command_->count("--only") > 0) return !setup.not_answering.empty();
  // Nothing listens, or nothing comes back: not offered. Whatever else is said is a failure of what is offered.
  return std::ranges::any_of(setup.not_answering, [](const auto& entry) {
    return !entry.second.starts_with("refused") && !entry.second.starts_with("timed out");
  });
}

void ElsewhereOptions::leave_out_link(std::map<std::string, std::string>& options) const {
  if (!is_direct_) return;
  for (const auto* option : command_->get_option_group("Link")->get_options())
    if (option->get_name() != "--ipv6") options.erase(option->get_lnames().front());
}

void ElsewhereOptions::explain_silence() const {
  if (!is_given() || is_direct_) return;
  std::println(stderr,
               "doxlab: the server answers this machine, but nothing came back through the link: a forward chain of this machine's packet filter "
               "may drop it (nft list ruleset; iptables -S FORWARD), and doxlab does not change what others have set");
}

}  // namespace doxlab::app
