#pragma once
/// What the UDP and TCP servers of DNSCrypt share: to open a query, to seal its answer, to answer for
/// certificates.

#include <list>
#include <map>
#include <memory>
#include <optional>

#include "transport/dnscrypt/dnscrypt.hpp"

namespace doxlab::transport {

/// A DNS query that came encrypted, and what its answer needs.
struct OpenedQuery {
  Bytes message;
  dnscrypt::HalfNonce nonce{};
  std::shared_ptr<const dnscrypt::SharedKey> key;
};

/// Shared keys of recent clients, the least recently used of them forgotten first. Ordered, not hashed:
/// clients choose their public keys.
class SharedKeyCache {
 public:
  explicit SharedKeyCache(std::size_t capacity) : capacity_(capacity) {}

  /// From the cache or by X25519; null: the client's key is of low order.
  std::shared_ptr<const dnscrypt::SharedKey> get(const dnscrypt::ResolverKey& resolver,
                                                 const dnscrypt::PublicKey& client);
  void clear();
  std::size_t size() const { return entries_.size(); }

 private:
  using Id = std::pair<dnscrypt::ClientMagic, dnscrypt::PublicKey>;
  struct Entry {
    std::shared_ptr<const dnscrypt::SharedKey> key;
    std::list<Id>::iterator use;
  };

  std::size_t capacity_;
  std::map<Id, Entry> entries_;
  std::list<Id> uses_;  // most recent first
};

class DnscryptServerSide {
 public:
  DnscryptServerSide(const DnscryptServerOptions& options, std::size_t cached_keys);

  /// nullopt: whatever is wrong with it, nobody is told.
  std::optional<OpenedQuery> open(BytesView packet, Timestamp now);
  /// The answer packet. Truncated with TC set where the message, sealed, would exceed `max_octets` or the
  /// message itself `max_message_octets`. nullopt: not even that fits.
  std::optional<Bytes> seal(const OpenedQuery& query, BytesView answer, std::size_t max_octets,
                            std::size_t max_message_octets) const;
  /// nullopt: no query for this provider's certificates.
  std::optional<Bytes> answer_certificate_query(BytesView message, std::size_t max_octets, Timestamp now);

  /// Rotates the keys if that is due; returns when it is due next.
  Timestamp maintain(Timestamp now);

 private:
  std::shared_ptr<const dnscrypt::KeySet> keys();

  DnscryptServerOptions options_;
  SharedKeyCache cache_;
  std::uint64_t generation_ = 0;  // of the keys that the cache belongs to
};

}  // namespace doxlab::transport
