#include "experiment/packet_checks.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <format>

#include "experiment/machine_checks.hpp"
#include "net/file_descriptor.hpp"
#include "net/system_error.hpp"

namespace doxlab::experiment {
namespace {

constexpr std::uint16_t kServerPort = 853, kClientPort = 9853;
constexpr std::size_t kSmallPacket = 128;  // IP bytes
constexpr const char* kFilterAction =
    "look for what reaches into every network namespace: packet filter rules that a namespace is made with, programs of the control "
    "group (systemd: IPAddressDeny=), security modules";

std::string_view name_of(lab::Side side) { return side == lab::Side::Client ? "client" : "server"; }
link::Direction direction_from(lab::Side side) {
  return side == lab::Side::Client ? link::Direction::ToServer : link::Direction::ToClient;
}

bool waits_for(int fd, short event, Duration limit) {
  pollfd poll{fd, event, 0};
  return ::poll(&poll, 1, static_cast<int>(to_ms(limit))) == 1;
}

/// What became of a packet that did not arrive, as a sentence; empty: it arrived.
using Lost = std::string;

class PacketProbe {
 public:
  PacketProbe(lab::Lab& lab, bool ipv6)
      : lab_(lab), ipv6_(ipv6), patience_(2 * lab.impairments().one_way_delay + 1s),
        client_(make_socket(lab::Side::Client, SOCK_DGRAM, kClientPort)),
        server_(make_socket(lab::Side::Server, SOCK_DGRAM, kServerPort)) {}

  /// A datagram that may not be fragmented.
  Lost send(lab::Side from, std::size_t ip_bytes) {
    const auto& sender = from == lab::Side::Client ? client_ : server_;
    const auto& receiver = from == lab::Side::Client ? server_ : client_;
    Bytes payload(ip_bytes - headers(), static_cast<std::uint8_t>(++number_));
    const auto to = to_kernel(from == lab::Side::Client ? address(lab::Side::Server, kServerPort) : address(lab::Side::Client, kClientPort));
    const auto before = lab_.volume(direction_from(from));
    if (::sendto(sender.get(), payload.data(), payload.size(), 0, to.get(), to.length) < 0) return not_sent(from);
    const auto end = monotonic_now() + patience_;
    Bytes got(payload.size() + 1);
    while (waits_for(receiver.get(), POLLIN, std::max<Duration>(end - monotonic_now(), 1ms))) {
      const auto length = ::recv(receiver.get(), got.data(), got.size(), MSG_DONTWAIT);
      // What came late belongs to an earlier one.
      if (length == static_cast<ssize_t>(payload.size()) && std::equal(payload.begin(), payload.end(), got.begin())) return {};
    }
    return where_it_ended(from, before);
  }

  /// A TCP connection to the server.
  Lost connect() {
    auto listener = make_socket(lab::Side::Server, SOCK_STREAM, kServerPort);
    net::checked(::listen(listener.get(), 1), "listen");
    const auto client = make_socket(lab::Side::Client, SOCK_STREAM | SOCK_NONBLOCK, kClientPort);
    const auto to = to_kernel(address(lab::Side::Server, kServerPort));
    const auto before = lab_.volume(link::Direction::ToServer), back = lab_.volume(link::Direction::ToClient);
    if (::connect(client.get(), to.get(), to.length) < 0 && errno != EINPROGRESS) return not_sent(lab::Side::Client);
    int error = 0;
    socklen_t length = sizeof error;
    if (waits_for(client.get(), POLLOUT, patience_)) {
      ::getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &error, &length);
      return error == 0 ? Lost() : std::format("the server's namespace refuses it ({})", std::strerror(error));
    }
    if (lab_.volume(link::Direction::ToClient).packets == back.packets) return where_it_ended(lab::Side::Client, before);
    return where_it_ended(lab::Side::Server, back);
  }

 private:
  std::size_t headers() const { return ipv6_ ? 48 : 28; }
  SocketAddress address(lab::Side side, std::uint16_t port) const {
    return {side == lab::Side::Server ? lab::Lab::server_address(ipv6_) : lab::Lab::client_address(ipv6_), port};
  }

  net::FileDescriptor make_socket(lab::Side side, int type, std::uint16_t port) {
    net::FileDescriptor out;
    lab_.run_in(side, [&] {
      const auto local = to_kernel(address(side, port));
      out = net::FileDescriptor(net::checked(::socket(local.get()->sa_family, type | SOCK_CLOEXEC, 0), "make a socket"));
      const int one = 1, never_fragment = ipv6_ ? int{IPV6_PMTUDISC_PROBE} : int{IP_PMTUDISC_PROBE};
      ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      ::setsockopt(out.get(), ipv6_ ? IPPROTO_IPV6 : IPPROTO_IP, ipv6_ ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &never_fragment,
                   sizeof never_fragment);
      net::checked(::bind(out.get(), local.get(), local.length), "bind a socket to the lab's address");
    });
    return out;
  }

  static Lost not_sent(lab::Side from) {
    const std::string error = std::strerror(errno);
    if (errno == EPERM || errno == EACCES)
      return std::format("the {}'s namespace forbids sending it ({}), as a packet filter does", name_of(from), error);
    return std::format("the {}'s kernel does not send it ({})", name_of(from), error);
  }

  Lost where_it_ended(lab::Side from, const lab::LinkVolume& before) const {
    const auto now = lab_.volume(direction_from(from));
    if (now.packets == before.packets)
      return std::format("it never reached the link, so something in the {}'s namespace drops what is sent", name_of(from));
    if (now.dropped > before.dropped) return "the link dropped it as larger than --path-mtu";
    return std::format("the link delivered it, and something in the {}'s namespace drops what comes in",
                       name_of(from == lab::Side::Client ? lab::Side::Server : lab::Side::Client));
  }

  lab::Lab& lab_;
  bool ipv6_;
  Duration patience_;
  net::FileDescriptor client_, server_;
  std::size_t number_ = 0;
};

std::string to_the_other(lab::Side from) { return from == lab::Side::Client ? "client to server" : "server to client"; }

/// The first datagram of this size that does not pass, as a sentence; empty: both ways pass.
std::string first_lost(PacketProbe& probe, std::size_t ip_bytes) {
  for (const auto from : {lab::Side::Client, lab::Side::Server})
    if (const auto lost = probe.send(from, ip_bytes); !lost.empty())
      return std::format("UDP, {} bytes of IP, {}: {}", ip_bytes, to_the_other(from), lost);
  return {};
}

}  // namespace

std::vector<results::PreflightCheck> check_packets(lab::Lab& lab, bool ipv6, std::size_t largest_datagram) {
  const std::string family = ipv6 ? "IPv6" : "IPv4";
  const auto packets = "packets " + family, mtu = "mtu " + family;
  try {
    PacketProbe probe(lab, ipv6);
    auto lost = first_lost(probe, kSmallPacket);
    if (lost.empty())
      if (const auto tcp = probe.connect(); !tcp.empty()) lost = "TCP connection: " + tcp;
    if (!lost.empty())
      return {failed(packets, lost, "lookups would be counted as without an answer", kFilterAction), skipped(mtu, packets)};

    std::vector<results::PreflightCheck> out{passed(packets, "UDP both ways and a TCP connection pass, with the lab's addresses")};
    const auto of_quic = largest_datagram + (ipv6 ? 48 : 28), full = lab.impairments().mtu;
    if (lost = largest_datagram > 0 ? first_lost(probe, of_quic) : Lost(); !lost.empty())
      out.push_back(failed(mtu, lost, "QUIC never fragments its datagrams (RFC 9000 section 14), so no handshake would finish",
                           std::format("an MTU and a --path-mtu of {} or more, or smaller --datagram-bytes", of_quic)));
    else if (lost = first_lost(probe, full); !lost.empty())
      out.push_back(warned(mtu, lost, "full TCP segments vanish, and TCP finds out by timeouts", "leave it if that is what is measured; else --path-mtu 0"));
    else
      out.push_back(passed(mtu, std::format("{} bytes of IP pass both ways", full)));
    return out;
  } catch (const std::system_error& error) {
    return {failed(packets, error.what(), "lookups cannot be made over " + family, ipv6 ? "enable IPv6 in the kernel, or measure without --ipv6" : kFilterAction),
            skipped(mtu, packets)};
  }
}

}  // namespace doxlab::experiment
