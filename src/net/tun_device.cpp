#include "net/tun_device.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cstring>
#include <stdexcept>

#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

FileDescriptor open_clone_device() {
  FileDescriptor fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd) return fd;
  switch (errno) {
    case ENOENT:
      throw_errno("open /dev/net/tun (in a container, add --device /dev/net/tun; else modprobe tun)");
    case ENODEV:
      throw_errno("open /dev/net/tun (the kernel has no TUN driver: modprobe tun)");
    case EACCES:
    case EPERM:
      throw_errno("open /dev/net/tun (run as root, or allow this user to read and write it)");
    default:
      throw_errno("open /dev/net/tun");
  }
}

}  // namespace

TunDevice::TunDevice(const std::string& name) : name_(name), fd_(open_clone_device()) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) throw std::invalid_argument("device name too long: " + name);
  std::memcpy(request.ifr_name, name.c_str(), name.size());
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(fd_.get(), TUNSETIFF, &request) < 0)
    throw_errno("make TUN device " + name + " (needs CAP_NET_ADMIN)");
}

std::optional<std::size_t> TunDevice::read(std::span<std::uint8_t> buffer) {
  const auto length = ::read(fd_.get(), buffer.data(), buffer.size());
  if (length < 0) return std::nullopt;
  return static_cast<std::size_t>(length);
}

bool TunDevice::write(BytesView packet) {
  return ::write(fd_.get(), packet.data(), packet.size()) == static_cast<ssize_t>(packet.size());
}

}  // namespace doxlab::net
