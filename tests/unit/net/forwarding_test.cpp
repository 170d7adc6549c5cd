#include "net/forwarding.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "net/netlink.hpp"
#include "net/network_namespace.hpp"
#include "net/sysctl.hpp"

namespace doxlab::net {
namespace {

constexpr const char* kSetting = "net/ipv4/conf/lo/forwarding";

std::string setting() { return read_sysctl(kSetting).value(); }

TEST(Forwarding, StaysForTheLastOfSeveralUsers) {
  NetworkNamespace::make().run([] {
    ASSERT_TRUE(write_sysctl(kSetting, "0"));
    std::optional<Forwarding> first, second, third;
    first.emplace("lo");
    EXPECT_EQ(setting(), "1");
    second.emplace("lo");
    first.reset();
    EXPECT_EQ(setting(), "1") << "the second needs it";
    third.emplace("lo");
    second.reset();
    EXPECT_EQ(setting(), "1") << "the third, which found it on, needs it";
    third.reset();
    EXPECT_EQ(setting(), "0") << "as it was";
  });
}

TEST(Forwarding, OfTheMachineItselfIsLeftAlone) {
  NetworkNamespace::make().run([] {
    ASSERT_TRUE(write_sysctl(kSetting, "1"));
    { const Forwarding one("lo"), other("lo"); }
    EXPECT_EQ(setting(), "1");
  });
}

TEST(Forwarding, OfAnotherNamespaceCountsNot) {
  const auto here = NetworkNamespace::make(), there = NetworkNamespace::make();
  std::optional<Forwarding> mine;
  here.run([&] {
    ASSERT_TRUE(write_sysctl(kSetting, "0"));
    mine.emplace("lo");
  });
  there.run([] {
    ASSERT_TRUE(write_sysctl(kSetting, "0"));
    { const Forwarding one("lo"); }
    EXPECT_EQ(setting(), "0");
  });
  here.run([&] {
    EXPECT_EQ(setting(), "1");
    mine.reset();
    EXPECT_EQ(setting(), "0");
  });
}

}  // namespace
}  // namespace doxlab::net
