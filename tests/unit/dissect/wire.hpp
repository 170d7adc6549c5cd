#pragma once
/// IP packets for the tests of this room: datagrams and segments with true lengths, and a TCP conversation
/// that is told what to send, to lose and to send again.

#include <algorithm>
#include <array>
#include <vector>

#include "capture/packet.hpp"
#include "support/datagram_pair.hpp"

namespace doxlab::dissect::test {

using capture::RecordedPacket;
using link::Direction;
using namespace std::chrono_literals;

inline SocketAddress client_of(std::uint16_t) {
  return doxlab::test::client_address();
}
inline SocketAddress server_of(std::uint16_t port) {
  return {doxlab::test::server_address().ip, port};
}

/// IPv4 without options around a transport header and payload.
inline Bytes ipv4(std::uint8_t protocol, const SocketAddress& source, const SocketAddress& destination,
                  BytesView segment) {
  ByteWriter out;
  out.u16(0x4500);
  out.u16(static_cast<std::uint16_t>(20 + segment.size()));
  out.u32(0);
  out.u8(64);
  out.u8(protocol);
  out.u16(0);
  out.append(source.ip.octets());
  out.append(destination.ip.octets());
  out.append(segment);
  return out.take();
}

inline Bytes udp(const SocketAddress& source, const SocketAddress& destination, BytesView payload) {
  ByteWriter out;
  out.u16(source.port);
  out.u16(destination.port);
  out.u16(static_cast<std::uint16_t>(8 + payload.size()));
  out.u16(0);
  out.append(payload);
  return ipv4(17, source, destination, out.bytes());
}

struct Segment {
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint8_t flags = 0x10;
  Bytes options{};
};

inline Bytes tcp(const SocketAddress& source, const SocketAddress& destination, const Segment& segment,
                 BytesView payload) {
  ByteWriter out;
  out.u16(source.port);
  out.u16(destination.port);
  out.u32(segment.sequence);
  out.u32(segment.acknowledgment);
  out.u8(static_cast<std::uint8_t>((5 + segment.options.size() / 4) << 4));
  out.u8(segment.flags);
  out.u16(65535);
  out.u32(0);
  out.append(segment.options);
  out.append(payload);
  return ipv4(6, source, destination, out.bytes());
}

inline RecordedPacket recorded(Direction direction, Timestamp sent, Bytes bytes, bool lost = false) {
  RecordedPacket packet;
  packet.lookup = 1;
  packet.place.direction = direction;
  packet.sent = sent;
  if (lost)
    packet.fate = link::Fate::Lost;
  else
    packet.delivered = sent + 20ms;
  packet.bytes = std::move(bytes);
  return packet;
}

/// The datagrams of a virtual link as IP packets.
inline std::vector<RecordedPacket> packets_of(const doxlab::test::VirtualLink& link, std::uint16_t port) {
  std::vector<RecordedPacket> out;
  for (const auto& sent : link.log()) {
    const bool to_server = sent.direction == Direction::ToServer;
    const auto client = client_of(port), server = server_of(port);
    out.push_back(recorded(sent.direction, sent.at,
                           udp(to_server ? client : server, to_server ? server : client, sent.payload),
                           sent.dropped));
  }
  return out;
}

/// A TCP connection as a list of packets.
class TcpTape {
 public:
  explicit TcpTape(std::uint16_t port, std::uint32_t client_start = 0xffff'f000,
                   std::uint32_t server_start = 77)
      : port_(port), next_{client_start, server_start} {}

  std::vector<RecordedPacket> packets;
  Timestamp clock{1h};

  void open() {
    put(Direction::ToServer, next_[0]++, 0x02, {2, 4, 5, 0xb4}, {});
    put(Direction::ToClient, next_[1]++, 0x12, {2, 4, 5, 0xb4}, {});
    put(Direction::ToServer, next_[0], 0x10, {}, {});
  }
  /// New octets, in segments of at most `mss`.
  void send(Direction direction, BytesView bytes, bool lost = false, std::size_t mss = 1448) {
    auto& next = next_[static_cast<std::size_t>(direction)];
    for (std::size_t at = 0; at < bytes.size(); at += mss) {
      const auto piece = bytes.subspan(at, std::min(mss, bytes.size() - at));
      put(direction, next, 0x18, {}, piece, lost);
      next += static_cast<std::uint32_t>(piece.size());
    }
  }
  /// The packet with this index once more.
  void repeat(std::size_t index) {
    auto again = packets[index];
    clock += 1ms;
    again.sent = clock;
    again.delivered = clock + 20ms;
    again.fate = link::Fate::Delivered;
    packets.push_back(std::move(again));
  }
  void close(Direction direction) {
    put(direction, next_[static_cast<std::size_t>(direction)]++, 0x11, {}, {});
  }

 private:
  void put(Direction direction, std::uint32_t sequence, std::uint8_t flags, Bytes options, BytesView payload,
           bool lost = false) {
    const bool to_server = direction == Direction::ToServer;
    const auto client = client_of(port_), server = server_of(port_);
    clock += 1ms;
    packets.push_back(recorded(direction, clock,
                               tcp(to_server ? client : server, to_server ? server : client,
                                   {sequence, next_[to_server ? 1 : 0], flags, std::move(options)}, payload),
                               lost));
  }

  std::uint16_t port_;
  std::array<std::uint32_t, 2> next_;
};

}  // namespace doxlab::dissect::test
