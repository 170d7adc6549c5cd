#pragma once
/// Rdata in presentation form, by libknot. Internal to dns.

#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "dns/scan.hpp"

namespace doxlab::dns {

/// The rdata of a record as text, one line; "\# 3 0102ff" (RFC 3597 §5) where the type is unknown or the
/// content does not fit the type's text. `expanded_octets` grows by the names inside.
/// Errors: a name inside is malformed, or the rdata is too short or too long for its type.
Result<std::string> rdata_to_text(BytesView message, const RecordView& record, std::size_t& expanded_octets);

}  // namespace doxlab::dns
