#include "dnscrypt/certificate.hpp"

#include <algorithm>
#include <format>
#include <optional>

namespace doxlab::dnscrypt {
namespace {

constexpr std::array<std::uint8_t, 4> kCertificateMagic = {'D', 'N', 'S', 'C'};

template <std::size_t N>
void read_into(ByteReader& reader, std::array<std::uint8_t, N>& out) {
  std::ranges::copy(reader.take(N), out.begin());
}

/// What the signature covers.
Bytes signed_part(const Certificate& certificate) {
  ByteWriter out;
  out.append(certificate.resolver_key);
  out.append(certificate.client_magic);
  out.u32(certificate.serial);
  out.u32(certificate.start);
  out.u32(certificate.end);
  out.append(certificate.extensions);
  return out.take();
}

}  // namespace

Result<Certificate> parse_certificate(BytesView wire) {
  if (wire.size() < kCertificateOctets)
    return fail(std::format("a certificate of {} octets is too short", wire.size()));
  ByteReader reader(wire);
  if (!std::ranges::equal(reader.take(kCertificateMagic.size()), kCertificateMagic)) {
    return fail("not a DNSCrypt certificate");
  }
  Certificate out;
  const std::uint16_t version = reader.u16();
  if (version != static_cast<std::uint16_t>(EsVersion::X25519XSalsa20Poly1305) &&
      version != static_cast<std::uint16_t>(EsVersion::X25519XChaCha20Poly1305)) {
    return fail(std::format("the certificate is for encryption system {}, which is not supported", version));
  }
  out.es_version = static_cast<EsVersion>(version);
  out.minor_version = reader.u16();
  read_into(reader, out.signature);
  read_into(reader, out.resolver_key);
  read_into(reader, out.client_magic);
  out.serial = reader.u32();
  out.start = reader.u32();
  out.end = reader.u32();
  out.extensions = to_bytes(reader.rest());
  return out;
}

Bytes compose_certificate(const Certificate& certificate) {
  ByteWriter out;
  out.append(kCertificateMagic);
  out.u16(static_cast<std::uint16_t>(certificate.es_version));
  out.u16(certificate.minor_version);
  out.append(certificate.signature);
  out.append(signed_part(certificate));
  return out.take();
}

void sign_certificate(Certificate& certificate, const ProviderKey& provider) {
  certificate.signature = provider.sign(signed_part(certificate));
}

Result<void> check_certificate(const Certificate& certificate, const PublicKey& provider, UnixSeconds now) {
  if (!is_signature_of(provider, signed_part(certificate), certificate.signature)) {
    return fail("the certificate is not signed by the provider's key");
  }
  if (certificate.start >= certificate.end) return fail("the certificate ends before it starts");
  if (now < certificate.start) {
    return fail(std::format("the certificate becomes valid in {} s", certificate.start - now));
  }
  if (now > certificate.end)
    return fail(std::format("the certificate expired {} s ago", now - certificate.end));
  if (!is_allowed_client_magic(certificate.client_magic)) {
    return fail("the certificate has a client magic that other protocols use");
  }
  return {};
}

Result<Certificate> choose_certificate(std::span<const Bytes> certificates, const PublicKey& provider,
                                       UnixSeconds now, std::span<const EsVersion> accepted) {
  std::string passed_over = "the server offers no certificate", refused;
  std::optional<Certificate> best;
  auto best_rank = accepted.end();
  for (const Bytes& wire : certificates) {
    auto certificate = parse_certificate(wire);
    if (!certificate) {
      passed_over = certificate.error().message;
      continue;
    }
    const auto rank = std::ranges::find(accepted, certificate->es_version);
    if (rank == accepted.end()) {
      passed_over =
          std::format("the certificate is for {}, which is not accepted", to_string(certificate->es_version));
      continue;
    }
    // What could not win needs no signature check, so a long list costs little.
    if (best && (rank > best_rank || (rank == best_rank && certificate->serial <= best->serial))) continue;
    if (auto usable = check_certificate(*certificate, provider, now); !usable) {
      refused = usable.error().message;
      continue;
    }
    best = std::move(*certificate);
    best_rank = rank;
  }
  if (!best) return fail(refused.empty() ? std::move(passed_over) : std::move(refused));
  return std::move(*best);
}

}  // namespace doxlab::dnscrypt
