// What a DNSCrypt client reads in plain. The first octet chooses: a certificate, a message that carries
// certificates, or a stamp; the rest is it. A certificate is also signed anew, so that all checks behind the
// signature are met.
#include <array>
#include <cstdlib>

#include "dns/name.hpp"
#include "dnscrypt/certificate.hpp"
#include "dnscrypt/certificate_message.hpp"
#include "dnscrypt/stamp.hpp"

using namespace doxlab;
using namespace doxlab::dnscrypt;

namespace {

constexpr UnixSeconds kNow = 0x68000000;
constexpr std::array kAccepted = {EsVersion::X25519XChaCha20Poly1305, EsVersion::X25519XSalsa20Poly1305};

void require(bool holds) {
  if (!holds) std::abort();
}

void read_certificate(BytesView wire) {
  static const ProviderKey kProvider = ProviderKey::generate();
  auto certificate = parse_certificate(wire);
  if (!certificate) return;
  require(compose_certificate(*certificate) == to_bytes(wire));
  require(!check_certificate(*certificate, kProvider.public_key(), kNow));
  sign_certificate(*certificate, kProvider);
  const bool usable = check_certificate(*certificate, kProvider.public_key(), kNow).has_value();
  const std::array offered = {compose_certificate(*certificate)};
  const auto chosen = choose_certificate(offered, kProvider.public_key(), kNow, kAccepted);
  require(chosen.has_value() == usable);
  if (usable) {
    require(certificate->start <= kNow && kNow <= certificate->end);
    (void)SharedKey::derive(chosen->es_version, chosen->resolver_key, KeyPair::generate());
  }
}

void read_message(BytesView message) {
  static const Bytes kProviderName = dns::name_to_wire("2.dnscrypt-cert.example.com").value();
  if (const auto certificates = certificates_of(message, kProviderName)) {
    for (const auto& certificate : *certificates) read_certificate(certificate);
  }
  if (!is_certificate_query(message, kProviderName)) return;
  const std::array offered = {Bytes(124, 1), Bytes(300, 2)};
  const auto answer = compose_certificate_answer(message, offered, {});
  require(answer.size() <= 512);
  require(certificates_of(answer, kProviderName).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView input(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_certificate(input);
      break;
    case 1:
      read_message(input);
      break;
    default:
      if (const auto stamp = parse_stamp(as_text(input))) require(parse_stamp(to_string(*stamp)) == *stamp);
  }
  return 0;
}
