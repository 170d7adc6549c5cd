#include "net/environment.hpp"

#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <fstream>
#include <string_view>

namespace doxlab::net {
namespace {

/// The rest of the first line that begins with `key`, after blanks, `separator` and quotation marks.
std::string value_of(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto at = line.find(separator, key.size());
    if (at == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t\"", at + 1);
    const auto last = line.find_last_not_of(" \t\"");
    if (first != std::string::npos && last >= first) return line.substr(first, last - first + 1);
  }
  return {};
}

}  // namespace

Environment read_environment() {
  Environment out;
  if (utsname name{}; ::uname(&name) == 0) {
    out.kernel = std::string(name.sysname) + " " + name.release;
    out.architecture = name.machine;
  }
  out.distribution = value_of("/etc/os-release", "PRETTY_NAME", '=');
  out.cpu = value_of("/proc/cpuinfo", "model name", ':');
  if (cpu_set_t cpus; ::sched_getaffinity(0, sizeof cpus, &cpus) == 0)
    out.cores = static_cast<unsigned>(CPU_COUNT(&cpus));
  if (struct sysinfo info{}; ::sysinfo(&info) == 0)
    out.memory_bytes = std::uint64_t{info.totalram} * info.mem_unit;
  out.virtual_machine = (" " + value_of("/proc/cpuinfo", "flags", ':') + " ").contains(" hypervisor ");
  return out;
}

}  // namespace doxlab::net
