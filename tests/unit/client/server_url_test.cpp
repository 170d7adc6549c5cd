#include "client/server_url.hpp"

#include <gtest/gtest.h>

namespace doxlab::client {
namespace {

struct Good {
  const char* text;
  Transport transport;
  const char* host;
  std::uint16_t port;
  const char* path;
};

TEST(ServerUrl, ReadsEveryForm) {
  for (const auto& c : {
           Good{"192.0.2.1", Transport::Do53, "192.0.2.1", 53, "/dns-query"},
           Good{"2001:db8::1", Transport::Do53, "2001:db8::1", 53, "/dns-query"},
           Good{"udp://192.0.2.1:5300", Transport::Do53, "192.0.2.1", 5300, "/dns-query"},
           Good{"tcp://[2001:db8::1]:5300", Transport::Do53Tcp, "2001:db8::1", 5300, "/dns-query"},
           Good{"tls://dns.example", Transport::Dot, "dns.example", 853, "/dns-query"},
           Good{"https://dns.example/", Transport::Doh, "dns.example", 443, "/dns-query"},
           Good{"https://dns.example:8443/q", Transport::Doh, "dns.example", 8443, "/q"},
           Good{"h3://[::1]/dns", Transport::Doh3, "::1", 443, "/dns"},
           Good{"quic://dns.example:784", Transport::Doq, "dns.example", 784, "/dns-query"},
       }) {
    const auto url = parse_server_url(c.text);
    ASSERT_TRUE(url) << c.text << ": " << url.error().message;
    EXPECT_EQ(url->transport, c.transport) << c.text;
    EXPECT_EQ(url->host, c.host) << c.text;
    EXPECT_EQ(url->port, c.port) << c.text;
    EXPECT_EQ(url->path, c.path) << c.text;
  }
}

TEST(ServerUrl, RefusesWithAReason) {
  for (const auto& [text, reason] : {std::pair{"ftp://dns.example", "no scheme"},
                                     std::pair{"tls://dns.example/path", "has no path"},
                                     std::pair{"tls://", "names no host"},
                                     std::pair{"tls://:853", "names no host"},
                                     std::pair{"tls://dns.example:0", "no port"},
                                     std::pair{"tls://dns.example:65536", "no port"},
                                     std::pair{"tls://dns.example:85x", "no port"},
                                     std::pair{"tls://[::1", "missing"},
                                     std::pair{"tls://[::1]853", "may follow"}}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find(reason), std::string::npos) << text << ": " << url.error().message;
  }
}

}  // namespace
}  // namespace doxlab::client
