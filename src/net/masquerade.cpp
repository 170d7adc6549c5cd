#include "net/masquerade.hpp"

#include <arpa/inet.h>  // before the kernel's headers, which then leave out what it defines
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <array>
#include <functional>

#include "net/system_error.hpp"

namespace doxlab::net {
namespace {

constexpr std::uint32_t kSourceNatPriority = 100;  // NF_IP_PRI_NAT_SRC

/// Messages that the kernel takes all or none (nfnetlink's batch). Each that changes something is acknowledged.
class Batch {
 public:
  explicit Batch(std::uint8_t family) : family_(family), batch_(mnl_nlmsg_batch_start(buffer_.data(), buffer_.size())) {
    put_bound(NFNL_MSG_BATCH_BEGIN);
  }
  ~Batch() { mnl_nlmsg_batch_stop(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void put(std::uint16_t type, std::uint16_t flags, const std::function<void(nlmsghdr*)>& attributes) {
    auto* message = begin(static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type),
                          static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), family_, 0);
    attributes(message);
    mnl_nlmsg_batch_next(batch_);
    ++acknowledgements_;
  }

  void send(mnl_socket* socket, const std::string& attempt) {
    put_bound(NFNL_MSG_BATCH_END);
    if (mnl_socket_sendto(socket, mnl_nlmsg_batch_head(batch_), mnl_nlmsg_batch_size(batch_)) < 0) throw_errno(attempt);
    std::array<char, 8192> reply;
    while (acknowledgements_ > 0) {
      auto length = mnl_socket_recvfrom(socket, reply.data(), reply.size());
      if (length < 0) throw_errno(attempt);
      auto left = static_cast<int>(length);
      for (auto* message = reinterpret_cast<nlmsghdr*>(reply.data()); mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
        if (message->nlmsg_type != NLMSG_ERROR) continue;
        const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(message));
        if (error->error != 0) {
          errno = -error->error;
          throw_errno(attempt);
        }
        --acknowledgements_;
      }
    }
  }

 private:
  nlmsghdr* begin(std::uint16_t type, std::uint16_t flags, std::uint8_t family, std::uint16_t resource) {
    auto* message = mnl_nlmsg_put_header(mnl_nlmsg_batch_current(batch_));
    message->nlmsg_type = type;
    message->nlmsg_flags = flags;
    message->nlmsg_seq = ++sequence_;
    auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
    header->nfgen_family = family;
    header->version = NFNETLINK_V0;
    header->res_id = htons(resource);
    return message;
  }
  void put_bound(std::uint16_t type) {
    begin(type, NLM_F_REQUEST, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    mnl_nlmsg_batch_next(batch_);
  }

  alignas(nlmsghdr) std::array<char, 8192> buffer_{};
  std::uint8_t family_;
  mnl_nlmsg_batch* batch_;
  std::uint32_t sequence_ = 0;
  std::size_t acknowledgements_ = 0;
};

void put_number(nlmsghdr* message, std::uint16_t type, std::uint32_t value) { mnl_attr_put_u32(message, type, htonl(value)); }

/// One step of a rule.
void put_expression(nlmsghdr* message, const char* name, const std::function<void()>& data) {
  auto* element = mnl_attr_nest_start(message, NFTA_LIST_ELEM);
  mnl_attr_put_strz(message, NFTA_EXPR_NAME, name);
  auto* nest = mnl_attr_nest_start(message, NFTA_EXPR_DATA);
  data();
  mnl_attr_nest_end(message, nest);
  mnl_attr_nest_end(message, element);
}

/// Goes on only if the packet's source is the address.
void put_source_is(nlmsghdr* message, const IpAddress& source) {
  const auto octets = source.octets();
  put_expression(message, "payload", [&] {
    put_number(message, NFTA_PAYLOAD_DREG, NFT_REG_1);
    put_number(message, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    put_number(message, NFTA_PAYLOAD_OFFSET, source.is_v6() ? 8 : 12);  // of the source in the IP header
    put_number(message, NFTA_PAYLOAD_LEN, static_cast<std::uint32_t>(octets.size()));
  });
  put_expression(message, "cmp", [&] {
    put_number(message, NFTA_CMP_SREG, NFT_REG_1);
    put_number(message, NFTA_CMP_OP, NFT_CMP_EQ);
    auto* data = mnl_attr_nest_start(message, NFTA_CMP_DATA);
    mnl_attr_put(message, NFTA_DATA_VALUE, octets.size(), octets.data());
    mnl_attr_nest_end(message, data);
  });
}

}  // namespace

void Masquerade::Close::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

Masquerade::Masquerade(const std::string& name, bool ipv6, const std::optional<IpAddress>& source)
    : socket_(mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC)) {
  const std::string attempt = "translate addresses with nf_tables (needs root, Linux 5.12 or later, and the modules nf_tables and nft_masq)";
  if (!socket_) throw_errno(attempt);
  checked(mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID), "bind a netlink socket");
  constexpr const char* kChain = "out";
  Batch batch(ipv6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
  batch.put(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, [&](nlmsghdr* message) {
    mnl_attr_put_strz(message, NFTA_TABLE_NAME, name.c_str());
    put_number(message, NFTA_TABLE_FLAGS, NFT_TABLE_F_OWNER);
  });
  batch.put(NFT_MSG_NEWCHAIN, NLM_F_CREATE, [&](nlmsghdr* message) {
    mnl_attr_put_strz(message, NFTA_CHAIN_TABLE, name.c_str());
    mnl_attr_put_strz(message, NFTA_CHAIN_NAME, kChain);
    auto* hook = mnl_attr_nest_start(message, NFTA_CHAIN_HOOK);
    put_number(message, NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
    put_number(message, NFTA_HOOK_PRIORITY, kSourceNatPriority);
    mnl_attr_nest_end(message, hook);
    mnl_attr_put_strz(message, NFTA_CHAIN_TYPE, "nat");
  });
  batch.put(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, [&](nlmsghdr* message) {
    mnl_attr_put_strz(message, NFTA_RULE_TABLE, name.c_str());
    mnl_attr_put_strz(message, NFTA_RULE_CHAIN, kChain);
    auto* expressions = mnl_attr_nest_start(message, NFTA_RULE_EXPRESSIONS);
    if (source) put_source_is(message, *source);
    put_expression(message, "masq", [] {});
    mnl_attr_nest_end(message, expressions);
  });
  batch.send(socket_.get(), attempt);
}

}  // namespace doxlab::net
