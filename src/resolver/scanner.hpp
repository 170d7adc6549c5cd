#pragma once
/// Master-file text (RFC 1035 §5) record by record, by libzscanner. Internal to resolver.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::resolver {

/// Borrows from the scanner; valid during the callback.
struct ScannedRecord {
  BytesView owner;  ///< wire form
  std::uint16_t type = 0, klass = 0;
  std::uint32_t ttl = 0;
  BytesView rdata;
  std::uint64_t line = 0;  ///< where the record ends, from 1
};

/// Calls `on_record` for each record; what it returns, unless empty, ends the scan as an error.
/// Records without a TTL get 3600 s until $TTL. $INCLUDE is refused: the text may come from anywhere.
/// Errors: "line 7: ..." for the first thing that is wrong. `origin` in presentation form.
Result<void> scan_master_file(std::string_view text, const std::string& origin,
                              const std::function<std::string(const ScannedRecord&)>& on_record);

}  // namespace doxlab::resolver
