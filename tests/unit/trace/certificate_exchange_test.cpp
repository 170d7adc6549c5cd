#include "trace/certificate_exchange.hpp"

#include <gtest/gtest.h>

#include "dns/message.hpp"
#include "dns/name.hpp"

namespace doxlab::trace {
namespace {

using link::Direction;

const Bytes kProvider = dns::name_to_wire("2.dnscrypt-cert.example.com").value();

/// An IPv4 packet with UDP, or with the TCP header that carries the length before the message.
capture::RecordedPacket packet(Direction direction, bool tcp, BytesView message) {
  ByteWriter out;
  const std::size_t payload = tcp ? 20 + 2 + message.size() : 8 + message.size();
  out.u16(0x4500);
  out.u16(static_cast<std::uint16_t>(20 + payload));
  out.u32(0);
  out.u8(64);
  out.u8(tcp ? 6 : 17);
  out.u16(0);
  out.u32(0x0a420101);
  out.u32(0x0a420001);
  out.u16(40000);
  out.u16(5443);
  if (tcp) {
    out.u64(0);
    out.u32(0x50180000);
    out.u32(0);
    out.u16(static_cast<std::uint16_t>(message.size()));
  } else {
    out.u16(static_cast<std::uint16_t>(payload));
    out.u16(0);
  }
  out.append(message);
  capture::RecordedPacket made;
  made.place.direction = direction;
  made.bytes = out.take();
  return made;
}

Bytes question(std::string_view name, std::uint16_t type) {
  return dns::compose_query(name, type, {.edns = false}).value();
}

Bytes certificate_question() {
  return question("2.dnscrypt-cert.example.com", 16);
}

TEST(CertificateExchange, CountsQuestionAndAnswerOverUdpAndTcp) {
  auto answer = certificate_question();
  answer[2] |= 0x80;
  answer.resize(answer.size() + 137);
  for (const bool tcp : {false, true}) {
    const std::vector packets = {packet(Direction::ToServer, tcp, certificate_question()),
                                 packet(Direction::ToClient, tcp, answer)};
    const auto exchange = count_certificate_exchange(packets, kProvider);
    EXPECT_EQ(exchange.to_server.packets, 1u);
    EXPECT_EQ(exchange.to_server.ip_bytes, packets[0].bytes.size());
    EXPECT_EQ(exchange.to_client.packets, 1u);
    EXPECT_EQ(exchange.to_client.ip_bytes, packets[1].bytes.size());
  }
}

TEST(CertificateExchange, LostPacketsCountAndDuplicatesDoNot) {
  std::vector<capture::RecordedPacket> packets(3, packet(Direction::ToServer, false, certificate_question()));
  packets[0].fate = link::Fate::Lost;
  packets[2].duplicate = true;
  EXPECT_EQ(count_certificate_exchange(packets, kProvider).to_server.packets, 2u);
}

TEST(CertificateExchange, OtherPacketsAreNoPartOfIt) {
  const Bytes encrypted(324, 0xa5);
  std::vector packets = {packet(Direction::ToServer, false, question("example.com", 16)),
                         packet(Direction::ToServer, false, question("2.dnscrypt-cert.example.com", 1)),
                         packet(Direction::ToServer, false, question("x.2.dnscrypt-cert.example.com", 16)),
                         packet(Direction::ToServer, false, encrypted),
                         packet(Direction::ToServer, true, {}),
                         packet(Direction::ToServer, false, {})};
  packets.emplace_back().bytes = Bytes(10, 0x45);  // no packet at all
  const auto exchange = count_certificate_exchange(packets, kProvider);
  EXPECT_EQ(exchange.to_server.packets, 0u);
  EXPECT_EQ(exchange.to_client.packets, 0u);
}

}  // namespace
}  // namespace doxlab::trace
