#include "resolver/scanner.hpp"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <format>
#include <memory>

extern "C" {
#include <libzscanner/error.h>
#include <libzscanner/scanner.h>
}

#include "dns/scan.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::uint32_t kDefaultTtl = 3600;

struct Deinit {
  void operator()(zs_scanner_t* scanner) const {
    zs_deinit(scanner);
    delete scanner;
  }
};
using Scanner = std::unique_ptr<zs_scanner_t, Deinit>;

std::unexpected<Error> fail_at(std::uint64_t line, std::string_view what) {
  return fail(std::format("line {}: {}", line, what));
}

/// Takes records until the input is used up; a last line without newline counts.
Result<void> drain(zs_scanner_t& scanner, const std::function<std::string(const ScannedRecord&)>& on_record) {
  while (zs_parse_record(&scanner) == 0) {
    switch (scanner.state) {
      case ZS_STATE_DATA: {
        const ScannedRecord record{.owner = {scanner.r_owner, scanner.r_owner_length},
                                   .type = scanner.r_type,
                                   .klass = scanner.r_class,
                                   .ttl = scanner.r_ttl,
                                   .rdata = {scanner.r_data, scanner.r_data_length},
                                   .line = scanner.line_counter};
        if (const auto reason = on_record(record); !reason.empty()) return fail_at(record.line, reason);
        break;
      }
      case ZS_STATE_ERROR:
        return fail_at(scanner.line_counter, zs_strerror(scanner.error.code));
      case ZS_STATE_INCLUDE:
        return fail_at(scanner.line_counter, "$INCLUDE is not supported");
      default:
        return {};
    }
  }
  return fail_at(scanner.line_counter, zs_strerror(scanner.error.code));
}

}  // namespace

Result<void> scan_master_file(std::string_view text, const std::string& origin,
                              const std::function<std::string(const ScannedRecord&)>& on_record) {
  Scanner scanner(new zs_scanner_t{});
  if (zs_init(scanner.get(), origin.c_str(), dns::kClassIn, kDefaultTtl) != 0) {
    return fail("origin " + origin + ": " + zs_strerror(scanner->error.code));
  }
  if (text.empty()) return {};
  if (zs_set_input_string(scanner.get(), text.data(), text.size()) != 0) {
    return fail(std::string("zone text: ") + zs_strerror(scanner->error.code));
  }
  return drain(*scanner, on_record);
}

}  // namespace doxlab::resolver
