#pragma once
/// The plain DNS messages that carry certificates: TXT records at the provider name, each holding one
/// certificate (draft-denis-dprive-dnscrypt-11 §5.5).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::dnscrypt {

/// The query for the certificates of `provider_name`: TXT, class IN, RD set. EDNS padding brings it to a
/// multiple of `pad_to_multiple` octets; 0: no EDNS. Errors: a name that is none (see dns::normalize_name).
Result<Bytes> compose_certificate_query(std::string_view provider_name, std::uint16_t id,
                                        std::size_t pad_to_multiple = 0);

/// True if `message` is a query for the certificates of the provider: one question TXT IN, the name in any
/// case. `provider_name` in wire form.
bool is_certificate_query(BytesView message, BytesView provider_name);

struct CertificateAnswerOptions {
  std::uint32_t ttl = 3600;      ///< seconds; clients ask again each hour or so
  std::size_t max_octets = 512;  ///< certificates that do not fit are left out and TC is set
};
/// The answer to a query for which is_certificate_query() holds. Certificates go in the given order. An EDNS
/// query gets an OPT record back, and BADVERS without certificates if its version is not 0 (RFC 6891 §6.1.3).
Bytes compose_certificate_answer(BytesView query, std::span<const Bytes> certificates,
                                 const CertificateAnswerOptions& options);

/// The content of each TXT record at the provider name, its character-strings joined (RFC 1035 §3.3.14).
/// Other records are skipped. Errors: the message is malformed, or its RCODE is not NOERROR.
Result<std::vector<Bytes>> certificates_of(BytesView answer, BytesView provider_name);

}  // namespace doxlab::dnscrypt
