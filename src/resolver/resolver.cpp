#include "resolver/resolver.hpp"

#include <algorithm>

#include "dns/name.hpp"
#include "dns/scan.hpp"
#include "resolver/answer_writer.hpp"
#include "resolver/query.hpp"
#include "resolver/zone_data.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::size_t kMinUdpBytes = 512;            // RFC 1035 §4.2.1; RFC 6891 §6.2.3
constexpr std::size_t kResponsePadding = 468;        // RFC 8467 §4.1
constexpr int kMaxAliases = 16;
constexpr std::uint16_t kExtendedErrorTooEarly = 26; // RFC 9250 §4.5
constexpr std::uint16_t kTypeDs = 43;

using dns::Section;

std::size_t size_limit(const Query& query, const QueryContext& context) {
  if (!context.udp) return dns::kMaxMessageOctets;
  if (!query.edns) return kMinUdpBytes;
  return std::max(kMinUdpBytes, std::min<std::size_t>(query.udp_payload_size, context.max_udp_bytes));
}

/// RFC 2308 §3: a denial carries the SOA, with the time that the denial itself may be kept.
bool deny(const Node& apex, AnswerWriter& out) {
  const auto& soa = *apex.find(dns::kTypeSoa);
  const auto& rdata = soa.rdata.front();
  ByteReader minimum(BytesView(rdata).last(4));
  return out.append(Section::Authority, apex.owner, soa, std::min(soa.ttl, minimum.u32()));
}

/// NS records of a delegation and the addresses below it that make them reachable (RFC 9471).
bool refer(const Zone::State& zone, const Node& cut, AnswerWriter& out) {
  const auto& servers = *cut.find(dns::kTypeNs);
  if (!out.append(Section::Authority, cut.owner, servers, servers.ttl)) return false;
  for (const auto& server : servers.rdata) {
    const auto match = zone.find(server);
    if (match.cut != &cut || !match.exact) continue;
    for (const auto type : {dns::kTypeA, dns::kTypeAaaa}) {
      const auto* set = match.node->find(type);
      if (set && !out.append(Section::Additional, server, *set, set->ttl)) return false;
    }
  }
  return true;
}

/// RFC 8482 §4.1: one set stands for ANY; the smallest, so that ANY amplifies nothing.
const RrSet* pick(const Node& node, std::uint16_t type) {
  if (type != dns::kTypeAny) return node.find(type);
  const auto smallest = std::ranges::min_element(node.sets, {}, &RrSet::octets);
  return smallest == node.sets.end() ? nullptr : &*smallest;
}

/// Fills in the answer from the zone (RFC 1034 §4.3.2). False: it did not fit.
bool look_up(const Zone::State& zone, const Query& query, AnswerWriter& out) {
  const auto type = query.question.type;
  BytesView name = query.question.name;
  for (int aliases = 0; aliases <= kMaxAliases; ++aliases) {
    const auto match = zone.find(name);
    if (!match.apex) {
      if (aliases == 0) out.set_rcode(dns::kRefused);
      return true;  // an alias that leads elsewhere is followed by whoever asked
    }
    const bool referral = match.cut && !(type == kTypeDs && match.exact && match.node == match.cut);
    if (referral) return refer(zone, *match.cut, out);
    if (aliases == 0) out.set_flag(dns::kFlagAuthoritative);
    if (!match.node) {
      out.set_rcode(dns::kNxDomain);
      return deny(*match.apex, out);
    }
    if (const auto* set = pick(*match.node, type)) return out.append(Section::Answer, name, *set, set->ttl);
    const auto* alias = match.node->find(dns::kTypeCname);
    if (!alias) return deny(*match.apex, out);
    if (!out.append(Section::Answer, name, *alias, alias->ttl)) return false;
    name = alias->rdata.front();
  }
  out.restart();
  out.set_rcode(dns::kServFail);  // a loop, or a chain that only looks like one
  return true;
}

/// Opcodes other than QUERY: a bare header (RFC 8906 §3.1.4), and REFUSED with a reason where it came too
/// early and names a question.
Bytes decline(BytesView message, const QueryContext& context) {
  Query query = read_query(message);
  if (!context.early_data || query.verdict != dns::kNoError) {
    query.edns = false;
    query.question = {};
  }
  AnswerWriter out(query, size_limit(query, context));
  out.set_rcode(context.early_data ? dns::kRefused : dns::kNotImp);
  if (context.early_data) out.set_extended_error(kExtendedErrorTooEarly);
  return out.finish(0);
}

}  // namespace

Bytes Resolver::answer(BytesView message, const QueryContext& context) const {
  const auto header = dns::read_header(message);
  if (!header || header->has(dns::kFlagResponse)) return {};
  if (header->opcode() != 0) return decline(message, context);
  const auto query = read_query(message);
  if (context.doq && query.has_keepalive) return {};

  const auto padding = context.encrypted && query.wants_padding ? kResponsePadding : 0;
  AnswerWriter out(query, size_limit(query, context));
  const auto& question = query.question;
  bool fits = true;
  if (query.verdict != dns::kNoError) {
    out.set_rcode(query.verdict);
  } else if (question.klass != dns::kClassIn || question.type == dns::kTypeAxfr || question.type == dns::kTypeIxfr) {
    out.set_rcode(dns::kRefused);
  } else {
    fits = look_up(zone_->state(), query, out);
  }
  if (!fits) {
    out.restart();
    if (context.udp) {
      out.set_flag(dns::kFlagTruncated);  // RFC 2181 §9; empty sections say: come back over TCP
    } else {
      out.set_rcode(dns::kServFail);  // no transport carries more than 65,535 octets
    }
  }
  return out.finish(padding);
}

}  // namespace doxlab::resolver
