#include "experiment/machine_checks.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <format>
#include <fstream>
#include <map>

#include "net/environment.hpp"
#include "net/network_namespace.hpp"
#include "net/scheduling.hpp"
#include "net/sysctl.hpp"
#include "net/system_error.hpp"
#include "net/tun_device.hpp"

namespace doxlab::experiment {
namespace {

constexpr std::size_t kListenerBuffer = 4 * 1024 * 1024;  // what io's datagram listeners ask for
// Half of what Linux grants by default (net.core.rmem_max 212992, doubled by the kernel for its own use).
constexpr std::size_t kSmallReceiveBuffer = 212992;

double us(Duration d) { return to_ms(d) * 1000; }

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Which of the kernel's switches keeps user namespaces from people; empty: none of those that are known.
std::string closed_switch() {
  const auto is = [](const char* name, std::string_view value) {
    const auto now = net::read_sysctl(name);
    return now && *now == value;
  };
  if (is("kernel/unprivileged_userns_clone", "0")) return "kernel.unprivileged_userns_clone is 0";
  if (is("user/max_user_namespaces", "0")) return "user.max_user_namespaces is 0";
  if (is("kernel/apparmor_restrict_unprivileged_userns", "1"))
    return "kernel.apparmor_restrict_unprivileged_userns is 1";
  return {};
}

/// Whether a child of this process may make a user namespace: 0, or the errno.
int try_user_namespace() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : errno & 0x7f);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

Duration to_duration(const timespec& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec); }

/// Settings whose values change what TCP sends, and what Linux has had for long.
constexpr std::pair<std::string_view, std::string_view> kUsual[] = {
    {"tcp_timestamps", "1"}, {"tcp_sack", "1"},          {"tcp_dsack", "1"},       {"tcp_window_scaling", "1"},
    {"tcp_recovery", "1"},   {"tcp_early_retrans", "3"}, {"tcp_mtu_probing", "0"},
};
/// Settings that the lab makes, and without which lookups are not independent of each other.
constexpr std::pair<std::string_view, std::string_view> kMade[] = {
    {"tcp_no_metrics_save", "1"}, {"tcp_syn_linear_timeouts", "0"}, {"tcp_congestion_control", "cubic"}};

}  // namespace

results::PreflightCheck passed(std::string name, std::string found) {
  return {.name = std::move(name), .status = "ok", .found = std::move(found), .why = {}, .action = {}};
}

results::PreflightCheck warned(std::string name, std::string found, std::string why, std::string action) {
  return {std::move(name), "warning", std::move(found), std::move(why), std::move(action)};
}

results::PreflightCheck failed(std::string name, std::string found, std::string why, std::string action) {
  return {std::move(name), "failed", std::move(found), std::move(why), std::move(action)};
}

results::PreflightCheck skipped(std::string name, std::string_view needs) {
  return {.name = std::move(name), .status = "skipped", .found = std::format("needs {}", needs), .why = {}, .action = {}};
}

results::PreflightCheck check_privileges(bool is_root, const std::string& namespace_error) {
  if (is_root) {
    const int error = try_user_namespace();
    return passed("privileges", std::format("CAP_SYS_ADMIN and CAP_NET_ADMIN; user namespaces, which others would need, {}",
                                            error == 0 ? std::string("can be made")
                                                       : std::format("cannot be made ({})", std::strerror(error))));
  }
  if (namespace_error.empty()) return passed("privileges", "an ordinary user, root in a user namespace of its own");
  const auto closed = closed_switch();
  const bool is_apparmor = closed.contains("apparmor");
  return failed(
      "privileges", closed.empty() ? namespace_error.substr(0, namespace_error.find(';')) : "no user namespace: " + closed,
      "the lab is made of network namespaces, and making those takes root or a user namespace",
      closed.empty() ? "run as root; user namespaces are also refused below chroot, and by the seccomp filter of containers "
                       "(docker: --cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun)"
      : is_apparmor ? "run as root, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
                    : std::format("run as root, or sysctl -w {}={}", closed.substr(0, closed.find(' ')),
                                  closed.starts_with("user.") ? "10000" : "1"));
}

results::PreflightCheck check_network_namespaces() {
  try {
    net::NetworkNamespace::make();
    net::NetworkNamespace::make();
  } catch (const std::system_error& error) {
    const bool is_full = error.code().value() == ENOSPC;
    const auto limit = net::read_sysctl("user/max_net_namespaces").value_or("unknown");
    return failed("namespaces", is_full ? std::format("no network namespace: user.max_net_namespaces is {}", limit) : error.what(),
                  "client and server have one each", is_full ? "sysctl -w user.max_net_namespaces=1000" : "run as root");
  }
  return passed("namespaces", "two network namespaces can be made");
}

results::PreflightCheck check_tun_device() {
  try {
    net::NetworkNamespace::make().run([] { net::TunDevice device("lab0"); });
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    const std::string what = code == ENOENT              ? "/dev/net/tun does not exist"
                             : code == ENODEV            ? "the kernel has no TUN driver"
                             : code == EACCES || code == EPERM ? "/dev/net/tun may not be opened by this user"
                                                         : std::string(error.what());
    return failed("tun", what, "the link reads and writes packets through TUN devices",
                  code == EACCES || code == EPERM ? "run as root, or chmod 666 /dev/net/tun"
                                                  : "modprobe tun; in a container: --device /dev/net/tun");
  }
  return passed("tun", "/dev/net/tun opens, and a device can be made in a namespace");
}

results::PreflightCheck check_real_time_priority() {
  bool granted = false;
  net::run_in_thread([&] { granted = net::take_real_time_priority(1); });
  if (granted) return passed("priority", "real-time scheduling (SCHED_FIFO) is granted");
  return warned("priority", "no real-time scheduling (SCHED_FIFO)", "other programs can make packets late",
                "run as root, or give the user an rtprio limit (limits.conf: USER - rtprio 10); on an idle machine it does not matter");
}

ClockFigures measure_clock() {
  ClockFigures out;
  out.source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (timespec resolution{}; ::clock_getres(CLOCK_MONOTONIC, &resolution) == 0) out.resolution = to_duration(resolution);
  constexpr int kReadings = 20000;
  out.step = Duration::max();
  const auto first = monotonic_now();
  auto last = first;
  for (int i = 0; i < kReadings; ++i) {
    const auto now = monotonic_now();
    if (now < last) out.goes_back = true;
    if (now > last) out.step = std::min<Duration>(out.step, now - last);
    last = now;
  }
  out.reading = (last - first) / kReadings;
  return out;
}

results::PreflightCheck judge_clock(const ClockFigures& clock) {
  const auto found =
      std::format("CLOCK_MONOTONIC from {}, resolution {} ns, a reading takes {} ns", clock.source.empty() ? "an unknown source" : clock.source,
                  clock.resolution.count(), clock.reading.count());
  if (clock.goes_back)
    return failed("clock", found + ", and it went back", "times between packets would be wrong",
                  "boot with another clocksource; a virtual machine needs its host's");
  const auto step = std::max(clock.resolution, clock.step);
  if (step > 100us)
    return failed("clock", std::format("{}, steps of {:.0f} us", found, us(step)), "a packet's time is that coarse",
                  "a kernel with high resolution timers (CONFIG_HIGH_RES_TIMERS, no highres=off), and a clocksource such as tsc");
  if (clock.reading > 2us)
    return warned("clock", found, "each packet takes several readings, so the link slows down",
                  "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if the machine's tsc is stable");
  return passed("clock", found);
}

TimerFigures measure_timers() {
  constexpr int kSleeps = 300;
  std::vector<Duration> late;
  net::run_in_thread([&] {
    net::take_real_time_priority(1);
    net::take_precise_timers();
    auto due = monotonic_now();
    for (int i = 0; i < kSleeps; ++i) {
      due = std::max<Timestamp>(due + 1ms, monotonic_now());
      const auto ns = to_ns(due);
      const timespec until{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      late.push_back(monotonic_now() - due);
    }
  });
  std::ranges::sort(late);
  return {.p50 = late[kSleeps / 2], .p99 = late[kSleeps * 99 / 100], .max = late.back()};
}

results::PreflightCheck judge_timers(const TimerFigures& timers) {
  const auto found = std::format("threads wake {:.0f} us late (p99 {:.0f} us, at most {:.0f} us)", us(timers.p50), us(timers.p99), us(timers.max));
  if (timers.p99 <= 1ms) return passed("timers", found);
  return warned("timers", found, "packets leave the link late, and lookups that met that are made again",
                "end other programs, or give the virtual machine processors of its own");
}

ProcessorFigures measure_processors() {
  ProcessorFigures out{.count = net::read_environment().cores, .load = 0, .pressure = {}};
  std::ifstream("/proc/loadavg") >> out.load;
  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
  const auto line = first_line("/proc/pressure/cpu");
  if (const auto at = line.find("avg10="); at != std::string::npos) out.pressure = std::strtod(line.c_str() + at + 6, nullptr);
  return out;
}

results::PreflightCheck judge_processors(const ProcessorFigures& processors) {
  auto found = std::format("{} processor{}, load {:.1f}", processors.count, processors.count == 1 ? "" : "s", processors.load);
  if (processors.pressure) found += std::format(", {:.0f}% of the last 10 s something waited for one", *processors.pressure);
  const bool busy = processors.pressure ? *processors.pressure > 25 : processors.load > processors.count;
  if (busy)
    return warned("processors", found, "what else runs delays client, link and server", "end other programs, or measure later");
  if (processors.count < 2)
    return warned("processors", found, "client, link and server take turns", "two or more; else expect lookups that are made again");
  return passed("processors", found);
}

std::size_t measure_receive_buffer() {
  const net::FileDescriptor socket(net::checked(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "make a UDP socket"));
  int bytes = static_cast<int>(kListenerBuffer);
  socklen_t length = sizeof bytes;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return static_cast<std::size_t>(bytes);
}

results::PreflightCheck judge_receive_buffer(std::size_t bytes) {
  const auto found = std::format("UDP sockets get {} KiB", bytes / 1024);
  if (bytes >= kSmallReceiveBuffer) return passed("receive buffer", found);
  return warned("receive buffer", found, "bursts of datagrams are lost in the server's socket, after the link has delivered them",
                "sysctl -w net.core.rmem_max=4194304");
}

results::PreflightCheck judge_kernel_settings(const std::vector<std::pair<std::string, std::string>>& settings,
                                              const std::vector<std::pair<std::string, std::string>>& chosen) {
  const std::map<std::string_view, std::string_view> now(settings.begin(), settings.end());
  const auto is_chosen = [&](std::string_view name) { return std::ranges::contains(chosen, name, &std::pair<std::string, std::string>::first); };
  std::string unmade, unusual;
  const auto compare = [&](std::string_view name, std::string_view value, std::string& list) {
    const auto at = now.find(name);  // what an older kernel lacks, it does as the value says
    if (at == now.end() || is_chosen(name) || at->second.substr(0, at->second.find(' ')) == value) return;
    list += std::format("{}{} is {} and not {}", list.empty() ? "" : ", ", name, at->second, value);
  };
  for (const auto& [name, value] : kMade) compare(name, value, unmade);
  for (const auto& [name, value] : kUsual) compare(name, value, unusual);
  if (!unmade.empty())
    return warned("kernel settings", unmade, "TCP lookups can influence each other, or differ from those of other machines",
                  "modprobe tcp_cubic; let the namespace write /proc/sys/net (in containers: --privileged)");
  if (!unusual.empty())
    return warned("kernel settings", unusual, "TCP behaves otherwise than on most machines",
                  "look who set it (sysctl -a, /etc/sysctl.d); results record it");
  return passed("kernel settings", std::format("{} settings of TCP read in the namespace, none unusual", settings.size()));
}

}  // namespace doxlab::experiment
