#include "net/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "net/arrival_time.hpp"
#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

/// The largest that the kernel puts together (GSO_MAX_SIZE), and a link header.
constexpr std::size_t kLargest = (std::size_t{1} << 19) + 128;
/// Thousands of packets, for a reader that waits for a processor.
constexpr int kReceiveBuffer = 16 << 20;

/// What precedes a packet (virtio 1.2, section 5.1.6; linux/virtio_net.h is not C++), in the machine's byte order.
struct OffloadHeader {
  std::uint8_t flags, gso_type;
  std::uint16_t header_bytes, gso_size, checksum_start, checksum_offset;
};
static_assert(sizeof(OffloadHeader) == 10);
constexpr std::uint8_t kNoOffload = 0, kWithEcn = 0x80;

sock_filter statement(unsigned code, std::uint32_t k) { return {static_cast<__u16>(code), 0, 0, k}; }

/// Only packets of the address's family that have it as source or destination. Offsets are from the network header.
std::vector<sock_filter> filter_for(const IpAddress& address) {
  const bool v6 = address.is_v6();
  const auto octets = address.octets();
  const auto words = static_cast<unsigned>(octets.size() / 4);
  const auto network = static_cast<std::uint32_t>(SKF_NET_OFF);
  std::vector<sock_filter> out{statement(BPF_LD | BPF_H | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PROTOCOL))};
  const auto reject = [&](unsigned after) { return static_cast<__u8>(after); };
  // Behind the first two instructions: two comparisons of `words` pairs, an acceptance after each, and the refusal.
  const unsigned refusal = 2 + 2 * (2 * words + 1);
  out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, reject(refusal - 2), static_cast<__u32>(v6 ? ETH_P_IPV6 : ETH_P_IP)});
  for (const auto field : {v6 ? 8u : 12u, v6 ? 24u : 16u}) {
    const auto next = static_cast<unsigned>(out.size()) + 2 * words + 1;  // the other comparison, or the refusal
    for (unsigned i = 0; i < words; ++i) {
      std::uint32_t word = 0;
      for (unsigned k = 0; k < 4; ++k) word = word << 8 | octets[4 * i + k];
      out.push_back(statement(BPF_LD | BPF_W | BPF_ABS, network + field + 4 * i));
      out.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<__u8>(next - out.size() - 1), word});
    }
    out.push_back(statement(BPF_RET | BPF_K, 0xffffffff));
  }
  out.push_back(statement(BPF_RET | BPF_K, 0));
  return out;
}

void set(int socket, int level, int name, int value, const char* attempt) {
  checked(::setsockopt(socket, level, name, &value, sizeof value), attempt);
}

/// Where the IP header begins in what was received, and whether it came with that.
std::optional<std::size_t> network_offset(const msghdr& message) {
  auto* const header = const_cast<msghdr*>(&message);
  for (auto* control = CMSG_FIRSTHDR(header); control != nullptr; control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata auxiliary{};
    std::memcpy(&auxiliary, CMSG_DATA(control), sizeof auxiliary);
    return auxiliary.tp_net;
  }
  return std::nullopt;
}

}  // namespace

PacketSocket::PacketSocket(const std::string& device, const IpAddress& address)
    // Without a protocol it gets nothing until it is bound, when the filter is in place.
    : socket_(checked(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "open a packet socket")), buffer_(kLargest) {
  const int fd = socket_.get();
  auto filter = filter_for(address);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  checked(::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), "filter a packet socket");
  set(fd, SOL_PACKET, PACKET_VNET_HDR, 1, "ask a packet socket for offloads");
  set(fd, SOL_PACKET, PACKET_AUXDATA, 1, "ask a packet socket for header offsets");
  set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1, "ask a packet socket for times");
  const int size = kReceiveBuffer;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
    static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size));  // as far as it may
  sockaddr_ll where{};
  where.sll_family = AF_PACKET;
  where.sll_protocol = htons(ETH_P_ALL);
  where.sll_ifindex = static_cast<int>(::if_nametoindex(device.c_str()));
  if (where.sll_ifindex == 0) throw_errno("find device " + device);
  checked(::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where), "bind a packet socket");
}

std::optional<SeenPacket> PacketSocket::receive() {
  while (true) {
    OffloadHeader offload{};
    std::array<iovec, 2> parts{{{&offload, sizeof offload}, {buffer_.data(), buffer_.size()}}};
    alignas(cmsghdr) std::array<std::byte, 256> control;
    sockaddr_ll from{};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto got = ::recvmsg(socket_.get(), &message, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      // An offload that no virtio header can tell of; the packet is gone.
      if (errno != EINVAL) return std::nullopt;
      ++missed_;
      continue;
    }
    const auto offset = network_offset(message);
    const auto length = static_cast<std::size_t>(got) - std::min<std::size_t>(static_cast<std::size_t>(got), sizeof offload);
    if (!offset || *offset >= length || (message.msg_flags & MSG_TRUNC) != 0) {
      ++missed_;
      continue;
    }
    const bool is_one = (offload.gso_type & ~kWithEcn) == kNoOffload;
    return SeenPacket{.when = TimeOfDay().stamp_of(message).value_or(monotonic_now()),
                      .outgoing = from.sll_pkttype == PACKET_OUTGOING,
                      .segment_bytes = is_one ? std::uint16_t{0} : offload.gso_size,
                      .bytes = BytesView(buffer_).first(length).subspan(*offset)};
  }
}

std::uint64_t PacketSocket::missed() {
  tpacket_stats now{};  // since the last time that they were asked for
  socklen_t length = sizeof now;
  if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &now, &length) == 0) missed_ += now.tp_drops;
  return missed_;
}

}  // namespace doxlab::net
