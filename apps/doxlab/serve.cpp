#include <fcntl.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <memory>
#include <print>

#include "commands.hpp"
#include "dnscrypt/stamp.hpp"
#include "files.hpp"
#include "io/unix_clock.hpp"
#include "key_log_file.hpp"
#include "net/file_descriptor.hpp"
#include "net/system_error.hpp"
#include "qlog_folder.hpp"
#include "server/server.hpp"

namespace doxlab::app {
namespace {

struct ServeOptions {
  ResolverOptions resolver;
  std::vector<std::string> addresses{"127.0.0.1"}, only, names;
  std::uint16_t port_offset = 0;
  std::string certificate_file, key_file, root_file, provider_secret_file, path = "/dns-query", qlog;
  bool early_data = false;
};

/// The provider's key from a file, which is made if it does not exist, so that stamps outlive the process.
dnscrypt::ProviderKey provider_key(const std::string& path) {
  const net::FileDescriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (made) {
    const auto text = to_hex(dnscrypt::random_octets<dnscrypt::kKeyOctets>()) + '\n';
    if (::write(made.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) net::throw_errno(path);
  } else if (errno != EEXIST) {
    net::throw_errno(path);
  }
  auto text = read_file(path);
  text.erase(text.find_last_not_of(" \r\n") + 1);
  const auto seed = dnscrypt::parse_key(text);
  if (!seed) throw UsageError(std::format("--provider-secret {}: {}", path, seed.error().message));
  return dnscrypt::ProviderKey::from_seed(*seed);
}

server::ServerOptions server_options(const ServeOptions& options, const std::vector<IpAddress>& addresses) {
  experiment::Setup setup;
  options.resolver.apply(setup, false);
  if (!options.only.empty()) setup.transports = parse_transports(options.only, "--only");
  tls::Chain chain;
  if (options.certificate_file.empty() != options.key_file.empty())
    throw UsageError("--certificate and --key belong together");
  if (!options.certificate_file.empty()) {
    chain.chain_pem = read_file(options.certificate_file);
    chain.key_pem = read_file(options.key_file);
  } else {
    auto wanted = setup.chain;
    if (!options.names.empty()) wanted.dns_names = options.names;
    wanted.dns_names.push_back("localhost");
    wanted.addresses = addresses;
    chain = tls::forge_chain(wanted);
    if (!options.root_file.empty()) write_output(options.root_file, chain.root_pem);
  }
  auto out = experiment::server_options(setup, chain);
  out.doh_path = options.path;
  out.early_data = options.early_data;
  out.tls.key_log = key_log_of_environment();
  if (!options.provider_secret_file.empty() && out.dnscrypt_keys) {
    dnscrypt::ResolverKeyOptions keys;
    keys.es_versions = setup.dnscrypt_constructions;
    out.dnscrypt_keys = std::make_shared<dnscrypt::ResolverKeys>(
        setup.dnscrypt_provider, provider_key(options.provider_secret_file), keys, io::unix_clock_now().seconds);
  }
  return out;
}

/// What a client of DNSCrypt must know, in both usual forms.
void print_dnscrypt(const server::Server& server, const dnscrypt::ResolverKeys& keys) {
  std::println("DNSCrypt provider: {} {}", keys.provider_name(), to_hex(keys.provider_key()));
  for (const auto& bound : server.bound()) {
    if (bound.transport != Transport::Dnscrypt) continue;
    const dnscrypt::Stamp stamp{.properties = dnscrypt::Stamp::kNoLogs | dnscrypt::Stamp::kNoFilter,
                                .address = bound.address,
                                .provider_key = keys.provider_key(),
                                .provider_name = keys.provider_name()};
    std::println("DNSCrypt stamp: {}", dnscrypt::to_string(stamp));
  }
}

void serve(const ServeOptions& options, const std::vector<IpAddress>& addresses, quic::QlogOpener&& qlog,
           std::stop_token stop) {
  asio::io_context context(1);
  auto wanted = server_options(options, addresses);
  wanted.quic.qlog = std::move(qlog);
  server::Server server(context, std::move(wanted));
  for (const auto& address : addresses) server.listen(address, options.port_offset);
  for (const auto& bound : server.bound()) {
    const bool doh = bound.transport == Transport::Doh || bound.transport == Transport::Doh3;
    std::println("{:12} {}://{}{}", display_name(bound.transport), url_scheme(bound.transport), bound.address.to_string(),
                 doh ? options.path : "");
  }
  if (const auto keys = server.dnscrypt_keys()) print_dnscrypt(server, *keys);
  if (options.certificate_file.empty() && !options.root_file.empty())
    std::println("trust anchor for clients: {}", options.root_file);
  std::println("ready");
  std::fflush(stdout);
  const std::stop_callback on_stop(stop, [&] { asio::post(context, [&] { server.close(500ms); }); });
  context.run();
}

int run(const ServeOptions& options, const Invocation& invocation) {
  std::vector<IpAddress> addresses;
  for (const auto& text : options.addresses) {
    auto address = IpAddress::parse(text);
    if (!address) throw UsageError("--ip: " + address.error().message);
    addresses.push_back(*address);
  }
  std::optional<QlogFolder> qlog;
  if (!options.qlog.empty()) qlog.emplace(options.qlog);
  serve(options, addresses, qlog ? qlog->opener() : quic::QlogOpener(), invocation.stop);
  return !qlog || qlog->finish() ? kOk : kFailed;
}

}  // namespace

Command add_serve(CLI::App& parent) {
  auto* command = parent.add_subcommand("serve", "The resolver on its own, on every transport");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("--ip", options->addresses, "Address to listen on (repeatable)")->capture_default_str();
  command->add_option("--port-offset", options->port_offset, "Added to the ports 53, 853, 443 and 5443")
      ->check(CLI::Range(0, 64000))
      ->capture_default_str();
  command->add_option("--only", options->only, "Transports (comma list; default all)")->delimiter(',');
  command->add_option("--path", options->path, "DoH path")->capture_default_str();
  command->add_flag("--early-data", options->early_data, "Accept 0-RTT");
  command->add_option("--certificate", options->certificate_file, "Chain in PEM, leaf first (default: forged)");
  command->add_option("--key", options->key_file, "Its private key in PEM");
  command->add_option("--name", options->names, "DNS name in the forged certificate (repeatable; default dns.doxlab.test)");
  command->add_option("--provider-secret", options->provider_secret_file,
                      "DNSCrypt: file with the provider's secret key, made if it does not exist (default: a new key)");
  command->add_option("--write-root", options->root_file, "Write the forged root certificate here, for clients to trust");
  add_qlog_option(*command, options->qlog);
  options->resolver.add_to(*command);
  command->footer(
      "Examples:\n"
      "  doxlab serve --port-offset 10000 --write-root root.pem\n"
      "  doxlab serve --ip 127.0.0.1 --ip ::1 --only dot,doq --retry always\n"
      "  doxlab serve --ip 127.0.0.1 --only dnscrypt --construction xsalsa20\n\n"
      "If SSLKEYLOGFILE is set, the TLS secrets of all connections are appended to the file that it names.\n"
      "Ends in an orderly way on Ctrl-C or SIGTERM.");
  return {command, [options](const Invocation& invocation) { return run(*options, invocation); }, [] { return false; }};
}

}  // namespace doxlab::app
