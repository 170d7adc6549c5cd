#include "dnscrypt/resolver_keys.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "dns/name.hpp"

namespace doxlab::dnscrypt {
namespace {

using namespace std::chrono_literals;

constexpr UnixSeconds kLastDate = std::numeric_limits<std::uint32_t>::max();

UnixSeconds seconds_of(std::chrono::seconds duration) {
  return static_cast<UnixSeconds>(duration.count());
}

std::uint32_t to_date(UnixSeconds at) {
  return static_cast<std::uint32_t>(std::min(at, kLastDate));
}

using Keys = std::vector<std::shared_ptr<const ResolverKey>>;

bool is_used(const ClientMagic& magic, const Keys& keys) {
  return std::ranges::any_of(keys, [&](const auto& key) { return key->certificate.client_magic == magic; });
}

/// Two valid certificates never share a client magic (§5.5).
ClientMagic unused_magic(const Keys& newer, const Keys& earlier) {
  while (true) {
    const auto magic = random_octets<kMagicOctets>();
    if (is_allowed_client_magic(magic) && !is_used(magic, newer) && !is_used(magic, earlier)) return magic;
  }
}

}  // namespace

std::shared_ptr<const ResolverKey> KeySet::find(const ClientMagic& magic, UnixSeconds now) const {
  const auto found = std::ranges::find_if(accepted, [&](const auto& key) {
    return key->certificate.client_magic == magic && now <= key->certificate.end;
  });
  return found == accepted.end() ? nullptr : *found;
}

ResolverKeys::ResolverKeys(std::string_view provider_name, ProviderKey provider, ResolverKeyOptions options,
                           UnixSeconds now)
    : provider_name_(provider_name), provider_(std::move(provider)), options_(std::move(options)) {
  const auto wire = dns::name_to_wire(provider_name);
  if (!wire) throw std::invalid_argument("provider name: " + wire.error().message);
  provider_name_wire_ = *wire;
  if (options_.es_versions.empty()) throw std::invalid_argument("a resolver needs at least one construction");
  if (options_.rotation_interval < 1s || options_.rotation_interval > 24h ||
      options_.lifetime <= options_.rotation_interval || options_.backdating < 0s) {
    throw std::invalid_argument(
        "DNSCrypt keys rotate at least each 24 hours and live longer than that interval");
  }
  rotate(now);
}

std::shared_ptr<const KeySet> ResolverKeys::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void ResolverKeys::rotate(UnixSeconds now) {
  const std::lock_guard lock(mutex_);
  rotate_locked(now);
}

UnixSeconds ResolverKeys::maintain(UnixSeconds now) {
  const std::lock_guard lock(mutex_);
  if (now >= due_) rotate_locked(now);
  return due_;
}

void ResolverKeys::rotate_locked(UnixSeconds now) {
  auto next = std::make_shared<KeySet>();
  next->generation = current_ ? current_->generation + 1 : 1;
  Keys earlier;
  // Serials grow with the date, so that a resolver that starts anew is above what it offered before. The
  // preferred construction has the highest: some clients look at nothing else.
  const auto count = static_cast<std::uint32_t>(options_.es_versions.size());
  serial_ = std::max(to_date(now), serial_ <= kLastDate - count ? serial_ + count : serial_);
  std::uint32_t lower = 0;
  if (current_) {
    for (const auto& key : current_->accepted) {
      if (now <= key->certificate.end) earlier.push_back(key);
    }
  }
  for (const EsVersion version : options_.es_versions) {
    auto key = std::make_shared<ResolverKey>();
    key->pair = KeyPair::generate();
    auto& certificate = key->certificate;
    certificate.es_version = version;
    certificate.resolver_key = key->pair.public_key;
    certificate.serial = serial_ - lower++;
    const auto backdating = seconds_of(options_.backdating);
    certificate.start = to_date(now > backdating ? now - backdating : 0);
    certificate.end = to_date(now + seconds_of(options_.lifetime));
    certificate.client_magic = unused_magic(next->accepted, earlier);
    sign_certificate(certificate, provider_);
    next->offered.push_back(compose_certificate(certificate));
    next->accepted.push_back(std::move(key));
  }
  next->accepted.insert(next->accepted.end(), earlier.begin(), earlier.end());
  current_ = std::move(next);
  due_ = now + seconds_of(options_.rotation_interval);
}

}  // namespace doxlab::dnscrypt
