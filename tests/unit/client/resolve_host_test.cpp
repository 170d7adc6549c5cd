#include "client/resolve_host.hpp"

#include <gtest/gtest.h>

namespace doxlab::client {
namespace {

TEST(ResolveHost, AddressesStandForThemselves) {
  EXPECT_EQ(resolve_host("192.0.2.7", "", "")->to_string(), "192.0.2.7");
  EXPECT_EQ(resolve_host("2001:db8::7", "", "")->to_string(), "2001:db8::7");
}

TEST(ResolveHost, HostsFileWithCommentsAndAliases) {
  const std::string hosts = "# comment\n127.0.0.1 localhost\nnonsense here\n192.0.2.9\tname alias # dns.example\n";
  EXPECT_EQ(resolve_host("alias", hosts, "")->to_string(), "192.0.2.9");
  EXPECT_FALSE(resolve_host("dns.example", hosts, ""));
}

TEST(ResolveHost, SaysWhyNot) {
  const auto missing = resolve_host("dns.example", "", "search lab\n");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("no name server"), std::string::npos) << missing.error().message;
  // Nothing listens on this loopback address: ICMP says so at once.
  const auto refused = resolve_host("dns.example", "", "nameserver 127.0.0.253\n");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("127.0.0.253"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace doxlab::client
