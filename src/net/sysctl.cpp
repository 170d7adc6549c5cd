#include "net/sysctl.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "net/file_descriptor.hpp"

namespace doxlab::net {
namespace {

Result<FileDescriptor> open_setting(const std::string& name, int flags) {
  // Names come from a person's options: they stay below /proc/sys.
  if (name.contains("..")) return fail("kernel setting " + name + ": not a name below /proc/sys");
  FileDescriptor fd(::open(("/proc/sys/" + name).c_str(), flags | O_CLOEXEC));
  if (!fd) return fail("kernel setting " + name + ": " + std::strerror(errno));
  return fd;
}

}  // namespace

Result<std::string> read_sysctl(const std::string& name) {
  auto fd = open_setting(name, O_RDONLY);
  if (!fd) return std::unexpected(fd.error());
  std::array<char, 4096> buffer;
  const auto length = ::read(fd->get(), buffer.data(), buffer.size());
  if (length < 0) return fail("read kernel setting " + name + ": " + std::strerror(errno));
  std::string value(buffer.data(), static_cast<std::size_t>(length));
  while (!value.empty() && value.back() == '\n') value.pop_back();
  std::ranges::replace(value, '\t', ' ');
  return value;
}

Result<void> write_sysctl(const std::string& name, const std::string& value) {
  auto fd = open_setting(name, O_WRONLY);
  if (!fd) return std::unexpected(fd.error());
  if (::write(fd->get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return fail("set kernel setting " + name + " to " + value + ": " + std::strerror(errno));
  return {};
}

}  // namespace doxlab::net
