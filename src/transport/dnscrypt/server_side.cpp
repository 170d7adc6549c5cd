#include "transport/dnscrypt/server_side.hpp"

#include <algorithm>

#include "dns/scan.hpp"
#include "dnscrypt/certificate_message.hpp"
#include "dnscrypt/padding.hpp"
#include "transport/do53/udp_server.hpp"

namespace doxlab::transport {
namespace {

/// Queries that cannot be parsed are ignored (§5.4.6); what to say to odd ones is the resolver's business.
bool is_dns_query(BytesView message) {
  const auto header = dns::read_header(message);
  if (!header || header->has(dns::kFlagResponse)) return false;
  dns::RecordScanner records(message);
  while (records.next()) {
  }
  return records.problem().empty();
}

/// The most that can be left out: header and question, and an empty OPT record if there is room.
std::optional<Bytes> fit(BytesView answer, std::size_t limit) {
  if (answer.size() <= limit) return to_bytes(answer);
  Bytes cut = truncated(answer);
  if (cut.size() <= limit) return cut.empty() ? std::nullopt : std::optional(std::move(cut));
  const auto question = dns::read_question(cut);
  if (!question || question->end > limit) return std::nullopt;
  constexpr std::size_t kOptOctets = 11;
  const bool keeps_opt = question->end + kOptOctets <= limit;
  cut.resize(question->end + (keeps_opt ? kOptOctets : 0));
  if (keeps_opt) std::fill(cut.end() - 2, cut.end(), 0);  // no options
  cut[11] = keeps_opt ? 1 : 0;                            // ARCOUNT
  return cut;
}

}  // namespace

std::shared_ptr<const dnscrypt::SharedKey> SharedKeyCache::get(const dnscrypt::ResolverKey& resolver,
                                                               const dnscrypt::PublicKey& client) {
  const Id id{resolver.certificate.client_magic, client};
  if (const auto found = entries_.find(id); found != entries_.end()) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    return found->second.key;
  }
  auto derived = dnscrypt::SharedKey::derive(resolver.certificate.es_version, client, resolver.pair);
  if (!derived) return nullptr;
  auto key = std::make_shared<const dnscrypt::SharedKey>(std::move(*derived));
  if (capacity_ == 0) return key;
  if (entries_.size() >= capacity_) {
    entries_.erase(uses_.back());
    uses_.pop_back();
  }
  uses_.push_front(id);
  entries_[id] = {key, uses_.begin()};
  return key;
}

void SharedKeyCache::clear() {
  entries_.clear();
  uses_.clear();
}

DnscryptServerSide::DnscryptServerSide(const DnscryptServerOptions& options, std::size_t cached_keys)
    : options_(options), cache_(cached_keys) {}

Timestamp DnscryptServerSide::maintain(Timestamp now) {
  const auto unix_now = options_.clock.at_time(now);
  const auto due = options_.keys->maintain(unix_now);
  (void)keys();
  return now + std::chrono::seconds(due > unix_now ? due - unix_now : 1);
}

std::shared_ptr<const dnscrypt::KeySet> DnscryptServerSide::keys() {
  auto keys = options_.keys->current();
  // What came of keys that are gone must go too. The other side may have rotated them, or the operator.
  if (keys->generation != generation_) cache_.clear();
  generation_ = keys->generation;
  return keys;
}

std::optional<OpenedQuery> DnscryptServerSide::open(BytesView packet, Timestamp now) {
  const auto parsed = dnscrypt::parse_query_packet(packet);
  if (!parsed) return std::nullopt;
  const auto resolver = keys()->find(parsed->magic, options_.clock.at_time(now));
  if (!resolver) return std::nullopt;
  auto key = cache_.get(*resolver, parsed->client_key);
  if (!key) return std::nullopt;
  auto message = dnscrypt::open_query(*parsed, *key);
  if (!message || !is_dns_query(*message)) return std::nullopt;
  return OpenedQuery{std::move(*message), parsed->nonce, std::move(key)};
}

std::optional<Bytes> DnscryptServerSide::seal(const OpenedQuery& query, BytesView answer,
                                              std::size_t max_octets, std::size_t max_message_octets) const {
  constexpr std::size_t kLeast = dnscrypt::kResponseOverheadOctets + 1;  // the mark of the padding
  if (max_octets <= kLeast) return std::nullopt;
  const auto message = fit(answer, std::min(max_octets - kLeast, max_message_octets));
  if (!message) return std::nullopt;
  const std::uint8_t choice = options_.varied_padding ? query.key->padding_choice(query.nonce) : 0;
  const auto size =
      dnscrypt::response_size(message->size(), max_octets - dnscrypt::kResponseOverheadOctets, choice);
  return dnscrypt::seal_response(*query.key, query.nonce, dnscrypt::make_resolver_nonce(),
                                 dnscrypt::pad(*message, size));
}

std::optional<Bytes> DnscryptServerSide::answer_certificate_query(BytesView message, std::size_t max_octets,
                                                                  Timestamp now) {
  if (!dnscrypt::is_certificate_query(message, options_.keys->provider_name_wire())) return std::nullopt;
  maintain(now);
  return dnscrypt::compose_certificate_answer(message, keys()->offered,
                                              {.ttl = options_.certificate_ttl, .max_octets = max_octets});
}

}  // namespace doxlab::transport
