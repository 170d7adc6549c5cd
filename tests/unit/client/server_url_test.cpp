#include "client/server_url.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "dnscrypt/stamp.hpp"

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

TEST(ServerUrl, ReadsDnscrypt) {
  for (const auto& c : {
           Good{"dnscrypt://192.0.2.1", Transport::Dnscrypt, "192.0.2.1", 443, "/dns-query"},
           Good{"dnscrypt://[2001:db8::1]:5443", Transport::Dnscrypt, "2001:db8::1", 5443, "/dns-query"},
           Good{"dnscrypt-tcp://dns.example", Transport::DnscryptTcp, "dns.example", 443, "/dns-query"},
       }) {
    const auto url = parse_server_url(c.text);
    ASSERT_TRUE(url) << c.text << ": " << url.error().message;
    EXPECT_EQ(url->transport, c.transport) << c.text;
    EXPECT_EQ(url->host, c.host) << c.text;
    EXPECT_EQ(url->port, c.port) << c.text;
    EXPECT_TRUE(url->provider_name.empty()) << c.text;
    EXPECT_FALSE(url->provider_key) << c.text;
  }
}

TEST(ServerUrl, ReadsStamps) {
  for (const auto& [address, host, port] :
       {std::tuple{"192.0.2.1:5443", "192.0.2.1", 5443}, std::tuple{"[2001:db8::1]:443", "2001:db8::1", 443}}) {
    dnscrypt::Stamp stamp;
    stamp.address = {IpAddress::parse(host).value(), static_cast<std::uint16_t>(port)};
    stamp.provider_key.fill(7);
    stamp.provider_name = "2.dnscrypt-cert.example.com";
    const auto url = parse_server_url(dnscrypt::to_string(stamp));
    ASSERT_TRUE(url) << address << ": " << url.error().message;
    EXPECT_EQ(url->transport, Transport::Dnscrypt);
    EXPECT_EQ(url->host, host);
    EXPECT_EQ(url->port, port);
    EXPECT_EQ(url->provider_name, stamp.provider_name);
    EXPECT_EQ(url->provider_key, stamp.provider_key);
  }
  // Of a DoH server, and of nothing.
  for (const auto* text : {"sdns://AgcAAAAAAAAAAAAKZG5zLmdvb2dsZQovZG5zLXF1ZXJ5", "sdns://", "sdns://!"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find("stamp"), std::string::npos) << url.error().message;
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
