// Cold lookups a second over loopback: our client against our resolver, one at a time and 16 at a time. Beside it, in
// the same run and against the same resolver, what people use today: kdig, a process for each lookup, and
// openssl s_time, which makes handshakes and asks nothing.

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <format>
#include <fstream>
#include <functional>
#include <print>
#include <regex>
#include <thread>

#include "client/lookup.hpp"
#include "dns/message.hpp"
#include "net/child_process.hpp"
#include "server/server.hpp"
#include "tls/forge.hpp"

namespace doxlab {
namespace {

const IpAddress kLoopback = IpAddress::v4({127, 0, 0, 1});
constexpr std::uint16_t kPortOffset = 20000;
constexpr auto kDuration = 3s;
constexpr const char* kRootFile = "/tmp/doxlab-bench-root.pem";

/// Lookups finished in kDuration with `at_once` in flight.
double ours(const client::LookupOptions& options, const Bytes& query, std::size_t at_once) {
  asio::io_context io(1);
  const auto begin = monotonic_now();
  std::uint64_t answered = 0, failed = 0;
  std::function<void()> next = [&] {
    client::start_lookup(io, options, query, [&](client::LookupResult&& result) {
      ++(result.outcome == client::Outcome::Answered ? answered : failed);
      if (monotonic_now() - begin < kDuration) next();
    });
  };
  for (std::size_t i = 0; i < at_once; ++i) next();
  io.run();
  if (failed > 0) std::println("  {} of {} lookups failed", failed, failed + answered);
  return static_cast<double>(answered) / (to_ms(monotonic_now() - begin) / 1000);
}

/// kdig processes a second, one after the other.
double kdig(Transport t) {
  std::vector<std::string> command = {"kdig", "@127.0.0.1", "-p", std::to_string(resolver_port(t) + kPortOffset), "+short"};
  if (t == Transport::Do53Tcp) command.push_back("+tcp");
  if (t == Transport::Dot) command.push_back("+tls-ca=" + std::string(kRootFile));
  if (t == Transport::Doh) command.insert(command.end(), {"+https", "+tls-ca=" + std::string(kRootFile)});
  if (t == Transport::Doq) command.insert(command.end(), {"+quic", "+tls-ca=" + std::string(kRootFile)});
  if (has_tls(t)) command.push_back("+tls-hostname=dns.doxlab.test");
  command.insert(command.end(), {"example.com", "A"});
  const auto begin = monotonic_now();
  std::uint64_t answered = 0;
  while (monotonic_now() - begin < kDuration) {
    net::ChildProcess child(command);
    if (child.wait(10s) != 0 || child.output().empty())
      throw std::runtime_error("kdig failed: " + child.output() + child.errors());
    ++answered;
  }
  return static_cast<double>(answered) / (to_ms(monotonic_now() - begin) / 1000);
}

/// Full handshakes a second of openssl s_time, one at a time.
double s_time() {
  net::ChildProcess child({"openssl", "s_time", "-connect", std::format("127.0.0.1:{}", resolver_port(Transport::Dot) + kPortOffset),
                           "-new", "-time", "3", "-CAfile", kRootFile});
  child.wait(30s);
  const auto text = child.output() + child.errors();
  std::smatch match;
  if (!std::regex_search(text, match, std::regex(R"((\d+) connections in (\d+) real seconds)")))
    throw std::runtime_error("openssl s_time: " + text);
  return std::stod(match[1]) / std::stod(match[2]);
}

int run() {
  const auto chain = tls::forge_chain({.addresses = {kLoopback}});
  std::ofstream(kRootFile) << chain.root_pem;
  asio::io_context server_io(1);
  server::ServerOptions server_options;
  server_options.tls.chain_pem = chain.chain_pem;
  server_options.tls.key_pem = chain.key_pem;
  server::Server server(server_io, server_options);
  server.listen(kLoopback, kPortOffset);
  std::jthread server_thread([&] { server_io.run(); });

  std::println("cold lookups a second over loopback, {} s each, resolver and client on one machine", std::chrono::seconds(kDuration).count());
  std::println("{:<10} {:>12} {:>12} {:>12} {:>8}", "", "one at once", "16 at once", "kdig", "ratio");
  const auto query = dns::compose_query("example.com", 1, {}).value();
  double dot = 0;
  for (auto t : {Transport::Do53, Transport::Do53Tcp, Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq}) {
    client::LookupOptions options;
    options.transport = t;
    options.server = {kLoopback, static_cast<std::uint16_t>(resolver_port(t) + kPortOffset)};
    options.linger = 1ms;
    options.session.server_name = "dns.doxlab.test";
    options.session.tls = std::make_shared<const tls::ClientContext>(tls::ClientOptions{.roots_pem = chain.root_pem});
    const double one = ours(options, query, 1), many = ours(options, query, 16);
    if (t == Transport::Dot) dot = one;
    if (t == Transport::Doh3) {
      std::println("{:<10} {:>12.0f} {:>12.0f} {:>12} {:>8}", display_name(t), one, many, "has none", "");
      continue;
    }
    const double peer = kdig(t);
    std::println("{:<10} {:>12.0f} {:>12.0f} {:>12.0f} {:>7.1f}x", display_name(t), one, many, peer, one / peer);
  }
  const double handshakes = s_time();
  std::println("openssl s_time, handshakes without a query: {:.0f} a second; our DoT lookups one at once: {:.2f} of that",
               handshakes, dot / handshakes);
  asio::post(server_io, [&] { server.close(1ms); });
  server_thread.join();
  return 0;
}

}  // namespace
}  // namespace doxlab

int main() {
  try {
    return doxlab::run();
  } catch (const std::exception& error) {
    std::println(stderr, "bench_lookups: {}", error.what());
    return 1;
  }
}
