#include "resolver/query.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::size_t kClientCookieOctets = 8, kMinCookieOctets = 16, kMaxCookieOctets = 40;

bool is_cookie_length(std::size_t octets) {
  return octets == kClientCookieOctets || (octets >= kMinCookieOctets && octets <= kMaxCookieOctets);
}

/// Takes over one OPT record. False: malformed.
bool read_opt(const dns::RecordView& record, Query& query) {
  const bool second = query.edns;
  query.edns = true;
  if (second || record.section != dns::Section::Additional || !record.owner_is_root) return false;
  query.udp_payload_size = record.klass;
  query.dnssec_ok = (record.ttl & 0x8000) != 0;
  if (((record.ttl >> 16) & 0xff) != 0) {
    query.verdict = dns::kBadVers;
    return true;  // what the options of another version look like is not known
  }
  auto rest = record.rdata;
  while (const auto option = dns::next_option(rest)) {
    query.wants_padding |= option->code == dns::kOptionPadding;
    query.has_keepalive |= option->code == dns::kOptionKeepalive;
    if (option->code == dns::kOptionCookie && !is_cookie_length(option->data.size())) return false;
  }
  return rest.empty();
}

}  // namespace

Query read_query(BytesView message) {
  Query query;
  query.header = *dns::read_header(message);
  if (query.header.questions == 1) {
    if (const auto question = dns::read_question(message)) query.question = *question;
  }
  bool sound = !query.question.name.empty();
  dns::RecordScanner scanner(message);
  while (const auto record = scanner.next()) {
    if (record->type == dns::kTypeOpt) sound &= read_opt(*record, query);
  }
  if (!sound || !scanner.problem().empty()) query.verdict = dns::kFormErr;
  return query;
}

}  // namespace doxlab::resolver
