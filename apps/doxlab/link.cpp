#include <fcntl.h>

#include <cstdio>
#include <memory>
#include <print>

#include "commands.hpp"
#include "experiment/behind_link.hpp"
#include "net/foreground.hpp"

namespace doxlab::app {
namespace {

struct LinkCommandOptions {
  LinkOptions link;
  ResolverOptions resolver;
  std::string capture;
  bool early_data = false, quiet = false, own_resolv_conf = false;
};

/// A program started without standard streams would find the lab's devices in their place.
void open_standard_streams() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0 || fd > 2) {
      if (fd > 2) ::close(fd);
      return;
    }
  }
}

std::string volume_text(const lab::LinkVolume& volume, std::string_view to) {
  return std::format("{} packets ({} bytes) to the {}, {} lost", volume.packets, volume.ip_bytes, to,
                     volume.dropped);
}

void print_summary(const LinkCommandOptions& options, const experiment::BehindLinkResult& result) {
  const auto us = [](Duration d) { return to_ms(d) * 1000; };
  const auto& p = result.precision;
  std::print(stderr, "doxlab: {}; {}", volume_text(result.to_server, "resolver"),
             volume_text(result.to_client, "command"));
  if (p.packets > 0)
    std::print(stderr, "; late by {:.0f} µs at the median, {:.0f} µs at p99, {:.0f} µs at most{}", us(p.p50),
               us(p.p99), us(p.max), p.p99 > 1ms ? " (WARNING: more than 1 ms, is the machine busy?)" : "");
  if (!options.capture.empty()) std::print(stderr, "; {} packets in {}", result.captured, options.capture);
  std::println(stderr, "");
}

int run(const LinkCommandOptions& options, const Invocation& invocation) {
  if (invocation.command.empty())
    throw UsageError("a command is missing; usage: doxlab link [OPTIONS] -- COMMAND [ARGUMENT...]");
  open_standard_streams();
  experiment::BehindLink wanted;
  wanted.inherited = net::inherited_descriptors();
  options.resolver.apply(wanted.setup, false);
  options.link.apply(wanted.setup);
  wanted.command = invocation.command;
  wanted.private_name_service = !options.own_resolv_conf;
  wanted.early_data = options.early_data;
  wanted.capture_file = options.capture;
  wanted.description = invocation.command_line;
  wanted.on_note = [&](std::string_view note) {
    if (!options.quiet) std::println(stderr, "doxlab: {}", note);
  };
  const auto result = experiment::run_behind_link(wanted);
  if (!result.start_error.empty())
    std::println(stderr, "doxlab: {}", result.start_error);
  else if (!options.quiet)
    print_summary(options, result);
  return result.status;
}

}  // namespace

Command add_link(CLI::App& parent) {
  auto* command = parent.add_subcommand(
      "link", "Any command behind the emulated link, with the resolver at its other end");
  auto options = std::make_shared<LinkCommandOptions>();
  command->usage("Usage: doxlab link [OPTIONS] -- COMMAND [ARGUMENT...]");
  command->add_option(
      "--capture", options->capture,
      "Write what the command sends and gets to this file (pcapng), with the resolver's TLS secrets in it");
  command->add_flag("-q,--quiet", options->quiet, "No line on packets and precision at the end");
  command->add_flag("--early-data", options->early_data, "The resolver accepts 0-RTT");
  command->add_flag("--own-resolv-conf", options->own_resolv_conf,
                    "Leave the command this machine's resolv.conf, hosts and nsswitch.conf");
  options->link.add_to(*command);
  options->resolver.add_to(*command);
  command->footer(
      "The resolver is at 10.66.0.1 and fd66::1 with every transport at its usual port, DNSCrypt at 5443. "
      "The command finds\n"
      "in its environment: DOXLAB_SERVER, DOXLAB_SERVER_IPV6, DOXLAB_SERVER_NAME, DOXLAB_ROOT_PEM (file of "
      "the trust\n"
      "anchor), DOXLAB_PORT_DOT and so on, DOXLAB_DNSCRYPT_STAMP. Its resolv.conf names the resolver. It "
      "reaches nothing else.\n\n"
      "Examples:\n"
      "  doxlab link --delay 40 -- kdig @10.66.0.1 +tls example.com\n"
      "  doxlab link --loss 5 --seed 7 --capture lost.pcapng -- kdig @10.66.0.1 +quic example.com\n"
      "  doxlab link -- sh -c 'curl -s --cacert $DOXLAB_ROOT_PEM "
      "https://$DOXLAB_SERVER_NAME/dns-query?dns=AAABAAABAAAAAAAAB2V4YW1wbGUDY29tAAABAAE | xxd'\n"
      "  doxlab link --rate 256 --queue 20000 -- bash\n\n"
      "Exits with the command's status: 128 + number if a signal ended it, 127 if there is no such command, "
      "126 if it\n"
      "cannot be executed; 125 if the link or the resolver failed. What the command leaves running ends with "
      "it.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }, [] { return true; }, true};
}

}  // namespace doxlab::app
