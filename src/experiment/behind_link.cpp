#include "experiment/behind_link.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <format>
#include <fstream>
#include <future>
#include <sstream>

#include "dnscrypt/stamp.hpp"
#include "experiment/link_capture.hpp"
#include "net/file_descriptor.hpp"
#include "net/foreground.hpp"
#include "net/private_files.hpp"
#include "net/scheduling.hpp"
#include "net/system_error.hpp"

namespace doxlab::experiment {
namespace {

constexpr int kNotFound = 127, kNotExecutable = 126;  // as shells have it (POSIX sh, 2.8.2)

std::string read_text(const char* path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The resolver in the server's namespace, on both families where the kernel has both.
class ResolverBehindLink {
 public:
  ResolverBehindLink(lab::Lab& lab, const server::ServerOptions& options, bool needs_ipv6) : io_(1) {
    std::promise<void> ready;
    thread_ = lab.start_thread(lab::Side::Server, [&, this](std::stop_token stop) {
      net::name_this_thread("doxlab-server");
      std::unique_ptr<server::Server> server;
      try {
        server = std::make_unique<server::Server>(io_, options);
        server->listen(lab::Lab::server_address(false));
        try {
          server->listen(lab::Lab::server_address(true));
          has_ipv6_ = true;
        } catch (const std::system_error&) {
          if (needs_ipv6) throw;  // else this machine is one without IPv6
        }
        ready.set_value();
      } catch (...) {
        ready.set_exception(std::current_exception());
        return;
      }
      const std::stop_callback on_stop(stop, [this] { io_.stop(); });
      io_.run();
    });
    ready.get_future().get();
  }

  bool has_ipv6() const { return has_ipv6_; }

 private:
  asio::io_context io_;
  bool has_ipv6_ = false;
  std::jthread thread_;
};

/// A file in memory. Its path is valid for other processes too, for as long as this object lives.
class FileInMemory {
 public:
  FileInMemory(const char* name, const std::string& content)
      : fd_(net::checked(::memfd_create(name, MFD_CLOEXEC), "make a file in memory")) {
    if (::write(fd_.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      net::throw_errno("write a file in memory");
  }
  std::string path() const {
    // Not getpid(): in a process namespace /proc may be that of the machine, with other numbers.
    return std::format("/proc/{}/fd/{}", std::filesystem::read_symlink("/proc/self").string(), fd_.get());
  }

 private:
  net::FileDescriptor fd_;
};

/// The signals that are passed on. They are blocked for as long as this object lives, in this thread and
/// in those that it starts; so is the one that stops whoever writes to a terminal from the background.
class PassedSignals {
 public:
  PassedSignals() {
    ::sigemptyset(&set_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&set_, number);
    sigset_t blocked = set_;
    ::sigaddset(&blocked, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    signals_ = net::FileDescriptor(
        net::checked(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK), "receive signals"));
    ended_ = net::FileDescriptor(net::checked(::eventfd(0, EFD_CLOEXEC), "make an event descriptor"));
  }

  /// Any thread: there is nobody to pass signals to any more.
  void end() { ::eventfd_write(ended_.get(), 1); }
  /// Passes signals to `process` (0: none yet; they wait) until end() was called.
  void pass_on(const std::atomic<int>& process) {
    pollfd polls[] = {{signals_.get(), POLLIN, 0}, {ended_.get(), POLLIN, 0}};
    while (true) {
      if (::poll(polls, 2, -1) < 0) continue;
      if (polls[1].revents != 0) return;
      process.wait(0);
      signalfd_siginfo info;
      // What the kernel sends for a terminal goes to the whole process group, so the command has it already.
      while (::read(signals_.get(), &info, sizeof info) == sizeof info)
        if (info.ssi_code <= 0 && process > 0) ::kill(process, static_cast<int>(info.ssi_signo));
    }
  }

 private:
  sigset_t set_;
  net::FileDescriptor signals_, ended_;
};

/// Gives the terminal back to this process group: a shell takes it for itself and may end without.
class Terminal {
 public:
  Terminal() : was_ours_(::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) {}
  ~Terminal() {
    if (was_ours_) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

 private:
  bool was_ours_;
};

/// `hosts:` lines of nsswitch.conf(5) may name services that ask outside the namespace over a local socket.
std::string without_other_services(const std::string& nsswitch) {
  std::istringstream lines(nsswitch);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || !line.substr(begin).starts_with("hosts:")) out += line + '\n';
  }
  return out + "hosts: files dns\n";
}

std::vector<net::PrivateFile> name_service_files(const Setup& setup) {
  std::vector<net::PrivateFile> out;
  const auto address = lab::Lab::server_address(setup.ipv6).to_string();
  out.push_back({"/etc/resolv.conf", std::format("nameserver {}\n", address)});
  if (auto hosts = read_text("/etc/hosts"); !hosts.empty()) {
    hosts += '\n';
    for (const auto& name : setup.chain.dns_names) hosts += std::format("{} {}\n", address, name);
    out.push_back({"/etc/hosts", hosts});
  }
  if (const auto nsswitch = read_text("/etc/nsswitch.conf"); !nsswitch.empty())
    out.push_back({"/etc/nsswitch.conf", without_other_services(nsswitch)});
  return out;
}

/// The command in the client's namespace; in a thread of its own, since a thread that has private files is of
/// no use for anything else.
void run_command(const BehindLink& options, const net::ForegroundOptions& foreground,
                 std::span<const net::PrivateFile> files, BehindLinkResult& result) {
  if (!files.empty())
    if (const auto shown = net::show_private_files(files); !shown)
      options.on_note(std::format("the command sees this machine's resolv.conf: {}", shown.error().message));
  try {
    result.status = net::run_in_foreground(options.command, foreground);
  } catch (const std::system_error& error) {
    const auto code = error.code().value();
    result.status = code == ENOENT || code == ENOTDIR ? kNotFound : kNotExecutable;
    result.start_error = error.what();
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environment_behind_link(const Setup& setup, bool has_ipv6,
                                                                         const std::string& root_file,
                                                                         const dnscrypt::ResolverKeys* keys) {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("DOXLAB_SERVER", lab::Lab::server_address(false).to_string());
  if (has_ipv6) out.emplace_back("DOXLAB_SERVER_IPV6", lab::Lab::server_address(true).to_string());
  out.emplace_back("DOXLAB_SERVER_NAME", setup.chain.dns_names.front());
  out.emplace_back("DOXLAB_ROOT_PEM", root_file);
  for (const auto t : setup.transports) {
    std::string name(to_string(t));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    out.emplace_back("DOXLAB_PORT_" + name, std::to_string(resolver_port(t)));
  }
  if (keys != nullptr) {
    dnscrypt::Stamp stamp;
    stamp.address = {lab::Lab::server_address(setup.ipv6), resolver_port(Transport::Dnscrypt)};
    stamp.provider_key = keys->provider_key();
    stamp.provider_name = keys->provider_name();
    out.emplace_back("DOXLAB_DNSCRYPT_STAMP", dnscrypt::to_string(stamp));
  }
  return out;
}

BehindLinkResult run_behind_link(const BehindLink& options) {
  PassedSignals signals;
  const Terminal terminal;
  const auto& setup = options.setup;
  lab::Lab lab(
      {.impairments = setup.link, .sysctls = setup.sysctls, .tcp_initial_window = setup.tcp_initial_window});
  std::optional<LinkCapture> capture;
  if (!options.capture_file.empty()) capture.emplace(lab, options.capture_file, options.description);

  auto chain_options = setup.chain;
  for (const bool ipv6 : {false, true}) chain_options.addresses.push_back(lab::Lab::server_address(ipv6));
  const auto chain = tls::forge_chain(chain_options);
  auto serving = server_options(setup, chain);
  serving.early_data = options.early_data;
  if (capture) serving.tls.key_log = [&](std::string_view line) { capture->add_secret(line); };
  const ResolverBehindLink resolver(lab, serving, setup.ipv6);

  const FileInMemory root("doxlab-root.pem", chain.root_pem);
  std::atomic<int> process = 0;
  const net::ForegroundOptions foreground{
      .environment =
          environment_behind_link(setup, resolver.has_ipv6(), root.path(), serving.dnscrypt_keys.get()),
      .inherited = options.inherited,
      .on_started = [&](int pid) {
        process = pid;
        process.notify_all();
      }};
  const auto files =
      options.private_name_service ? name_service_files(setup) : std::vector<net::PrivateFile>{};
  BehindLinkResult result;
  std::exception_ptr failure;
  auto client = lab.start_thread(lab::Side::Client, [&](std::stop_token) {
    try {
      run_command(options, foreground, files, result);
    } catch (...) {
      failure = std::current_exception();
    }
    process = -1;  // it has been waited for, so its number may soon be another's
    process.notify_all();
    signals.end();
  });
  signals.pass_on(process);
  client.join();
  if (failure) std::rethrow_exception(failure);

  if (capture) result.captured = capture->finish();
  result.precision = lab.precision();
  result.to_server = lab.volume(link::Direction::ToServer);
  result.to_client = lab.volume(link::Direction::ToClient);
  return result;
}

}  // namespace doxlab::experiment
