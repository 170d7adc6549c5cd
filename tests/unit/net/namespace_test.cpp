#include <gmock/gmock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/time.hpp"
#include "net/environment.hpp"
#include "net/netlink.hpp"
#include "net/network_namespace.hpp"
#include "net/sysctl.hpp"
#include "net/system_error.hpp"
#include "net/tun_device.hpp"
#include "net/user_namespace.hpp"

namespace doxlab::net {
namespace {

std::string namespace_of_thread() {
  return std::filesystem::read_symlink("/proc/thread-self/ns/net");
}

TEST(NetworkNamespace, IsNewAndEmptyAndLeavesTheCallerWhereItIs) {
  const auto before = namespace_of_thread();
  const auto made = NetworkNamespace::make();
  EXPECT_EQ(namespace_of_thread(), before);
  made.run([&] {
    EXPECT_NE(namespace_of_thread(), before);
    EXPECT_THAT(device_names(), testing::ElementsAre("lo"));
  });
  EXPECT_EQ(namespace_of_thread(), before);
}

TEST(NetworkNamespace, ExceptionsPassThrough) {
  EXPECT_THROW(NetworkNamespace::current().run([] { throw std::runtime_error("inside"); }),
               std::runtime_error);
}

TEST(Netlink, MissingDeviceIsNamed) {
  NetworkNamespace::make().run([] {
    try {
      Netlink().set_up("nothing0");
      FAIL() << "it was found";
    } catch (const std::system_error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("nothing0"));
    }
  });
}

TEST(Netlink, AddressTwiceIsAnError) {
  NetworkNamespace::make().run([] {
    Netlink netlink;
    const auto address = IpAddress::parse("192.0.2.1").value();
    netlink.add_address("lo", address, 32);
    EXPECT_THROW(netlink.add_address("lo", address, 32), std::system_error);
  });
}

TEST(Sysctl, BelongsToTheNamespaceOfTheThread) {
  const auto outside = read_sysctl("net/ipv4/tcp_syn_retries");
  ASSERT_TRUE(outside);
  NetworkNamespace::make().run([&] {
    ASSERT_TRUE(write_sysctl("net/ipv4/tcp_syn_retries", "2"));
    EXPECT_EQ(read_sysctl("net/ipv4/tcp_syn_retries").value(), "2");
  });
  EXPECT_EQ(read_sysctl("net/ipv4/tcp_syn_retries").value(), *outside);
}

TEST(Sysctl, BadNamesAndValuesAreErrors) {
  EXPECT_FALSE(read_sysctl("net/ipv4/no_such_setting"));
  EXPECT_FALSE(read_sysctl("../version"));
  NetworkNamespace::make().run([] { EXPECT_FALSE(write_sysctl("net/ipv4/tcp_syn_retries", "many")); });
}

TEST(TunDevice, CarriesWhatSocketsSendAndVanishes) {
  const auto network = NetworkNamespace::make();
  network.run([] {
    // Else the kernel's own router solicitation comes first.
    write_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    TunDevice device("tun9");
    Netlink netlink;
    netlink.set_mtu("tun9", 1400);
    netlink.set_up("tun9");
    const auto own = IpAddress::parse("192.0.2.1").value();
    netlink.add_address("tun9", own, 32);
    netlink.add_default_route("tun9", own);
    const FileDescriptor socket(checked(::socket(AF_INET, SOCK_DGRAM, 0), "socket"));
    const auto peer = to_kernel({IpAddress::parse("198.51.100.7").value(), 53});
    ASSERT_EQ(::sendto(socket.get(), "abc", 3, 0, peer.get(), peer.length), 3);

    std::array<std::uint8_t, 2000> buffer;
    const auto length = device.read(buffer);
    ASSERT_EQ(length, 31u);
    EXPECT_EQ(buffer[0], 0x45);
    EXPECT_EQ(std::memcmp(&buffer[28], "abc", 3), 0);
    EXPECT_FALSE(device.read(buffer));
    EXPECT_FALSE(device.write(as_bytes("!")));
  });
  network.run([] { EXPECT_THAT(device_names(), testing::ElementsAre("lo")); });
}

TEST(TunDevice, IPv6AddressIsUsableAtOnce) {
  NetworkNamespace::make().run([] {
    TunDevice device("tun9");
    Netlink netlink;
    netlink.set_up("tun9");
    const SocketAddress own{IpAddress::parse("2001:db8::1").value(), 5353};
    netlink.add_address("tun9", own.ip, 128);
    const FileDescriptor socket(checked(::socket(AF_INET6, SOCK_DGRAM, 0), "socket"));
    const auto kernel = to_kernel(own);
    EXPECT_EQ(::bind(socket.get(), kernel.get(), kernel.length), 0) << std::strerror(errno);
  });
}

TEST(Environment, IsKnownWhereTheSystemTellsIt) {
  const auto environment = read_environment();
  EXPECT_THAT(environment.kernel, testing::StartsWith("Linux "));
  EXPECT_GT(environment.cores, 0u);
  EXPECT_GT(environment.memory_bytes, 1u << 20);
  EXPECT_FALSE(environment.architecture.empty());
}

/// Exit status of `body` in a forked child: 0 if it returned true.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (const std::exception& error) {
      static_cast<void>(!::write(STDERR_FILENO, error.what(), std::strlen(error.what())));
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(UserNamespace, OrdinaryUserBecomesAbleToMakeNamespacesAndAddresses) {
  ASSERT_TRUE(is_privileged()) << "these tests make namespaces and devices: run them as root";
  if (in_child([] { return ::unshare(CLONE_NEWUSER) == 0; }) != 0)
    GTEST_SKIP() << "the kernel refuses user namespaces here even to root, as it does below chroot(2)";
  EXPECT_EQ(in_child([] {
              checked(::setgid(65534), "setgid");
              checked(::setuid(65534), "setuid");
              // Changing the user took the process's files below /proc away from it.
              ::prctl(PR_SET_DUMPABLE, 1);
              if (is_privileged()) return false;
              enter_user_namespace_if_unprivileged();
              NetworkNamespace::make().run([] {
                Netlink netlink;
                netlink.set_up("lo");
                netlink.add_address("lo", IpAddress::parse("192.0.2.1").value(), 32);
              });
              return is_privileged();
            }),
            0);
}

TEST(UserNamespace, RootStaysWhereItIs) {
  EXPECT_EQ(in_child([] {
              const auto before = namespace_of_thread();
              enter_user_namespace_if_unprivileged();
              return namespace_of_thread() == before;
            }),
            0);
}

}  // namespace
}  // namespace doxlab::net
