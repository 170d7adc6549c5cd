#pragma once
/// The short-term keys of a resolver with their certificates, and their rotation
/// (draft-denis-dprive-dnscrypt-11 §8.2, §9): a new generation at least each day, earlier ones accepted until
/// their certificates end, then wiped.
///
/// One object serves the UDP and TCP sides of a resolver, which must offer the same certificates. Threads may
/// share it: a generation is an immutable value that is replaced as a whole.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dnscrypt/certificate.hpp"

namespace doxlab::dnscrypt {

struct ResolverKey {
  KeyPair pair;
  Certificate certificate;
};

/// All keys that are accepted at one time.
struct KeySet {
  std::uint64_t generation = 0;
  std::vector<std::shared_ptr<const ResolverKey>> accepted;  ///< newest first
  std::vector<Bytes> offered;  ///< the newest generation's certificates, in wire form

  /// The key whose certificate has this magic and has not ended at `now`; null if there is none.
  std::shared_ptr<const ResolverKey> find(const ClientMagic& magic, UnixSeconds now) const;
};

struct ResolverKeyOptions {
  /// One certificate for each, offered in this order and with falling serials.
  std::vector<EsVersion> es_versions = {EsVersion::X25519XChaCha20Poly1305,
                                        EsVersion::X25519XSalsa20Poly1305};
  std::chrono::seconds lifetime{86'400};           ///< of a certificate, from its making
  std::chrono::seconds rotation_interval{43'200};  ///< at most 24 hours, and less than the lifetime
  std::chrono::seconds backdating{3600};  ///< certificates start this much earlier, for clocks that run late
};

class ResolverKeys {
 public:
  /// Makes the first generation. Errors: std::invalid_argument (no name, no es-version, or times as above).
  ResolverKeys(std::string_view provider_name, ProviderKey provider, ResolverKeyOptions options,
               UnixSeconds now);

  const PublicKey& provider_key() const { return provider_.public_key(); }
  /// In presentation and in wire form.
  const std::string& provider_name() const { return provider_name_; }
  BytesView provider_name_wire() const { return provider_name_wire_; }

  std::shared_ptr<const KeySet> current() const;
  /// A new generation now, with a higher serial; keys whose certificates have ended are dropped.
  void rotate(UnixSeconds now);
  /// rotate() if it is due. Cheap otherwise; to be called before each use. Returns when it is due next.
  UnixSeconds maintain(UnixSeconds now);

 private:
  void rotate_locked(UnixSeconds now);

  std::string provider_name_;
  Bytes provider_name_wire_;
  ProviderKey provider_;
  ResolverKeyOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const KeySet> current_;
  std::uint32_t serial_ = 0;
  UnixSeconds due_ = 0;
};

}  // namespace doxlab::dnscrypt
