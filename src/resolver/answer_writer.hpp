#pragma once
/// Writes a response: header, question, records with compressed names (RFC 1035 §4.1.4), OPT with padding.
/// Internal to resolver.

#include <array>
#include <optional>

#include "base/bytes.hpp"
#include "dns/scan.hpp"
#include "resolver/query.hpp"
#include "resolver/zone_data.hpp"

namespace doxlab::resolver {

class AnswerWriter {
 public:
  /// Begins a response to `query` of at most `limit` octets; room for OPT is set aside.
  AnswerWriter(const Query& query, std::size_t limit);

  /// Appends a whole set under `owner` (wire form). Sections must come in order. False: it did not fit, and
  /// the message is no longer usable but for restart().
  bool append(dns::Section section, BytesView owner, const RrSet& set, std::uint32_t ttl);
  /// Back to the question alone, no flags, NOERROR.
  void restart();

  void set_rcode(dns::Rcode rcode) { rcode_ = rcode; }
  void set_flag(dns::HeaderFlag flag) { flags_ |= flag; }
  /// Adds an extended error to the OPT record, if there is one (RFC 8914). Call before append().
  void set_extended_error(std::uint16_t code);

  /// Ends the message. `pad_to_multiple` 0: no padding option. Padding never exceeds the limit.
  Bytes finish(std::size_t pad_to_multiple);

 private:
  void u16(std::size_t value);
  void u32(std::uint32_t value);
  void copy(BytesView bytes);
  void name(BytesView wire);
  void rdata(std::uint16_t type, BytesView bytes);
  void remember(std::uint32_t hash, std::size_t offset);
  std::optional<std::size_t> known(std::uint32_t hash, BytesView suffix) const;
  bool stands_at(std::size_t offset, BytesView suffix) const;
  std::size_t opt_octets() const;
  void opt(std::size_t pad_to_multiple);

  /// Suffixes of names already written. Open addressing with a few probes: work for a name is linear in its
  /// length however many names the message has; a suffix that finds no slot is merely not compressed.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint16_t offset = 0;  ///< 0: free
  };

  const Query& query_;
  std::size_t limit_;
  Bytes out_;
  std::array<Slot, 128> slots_{};
  std::array<std::uint16_t, 3> counts_{};
  dns::Rcode rcode_ = dns::kNoError;
  std::uint16_t flags_ = 0;
  std::optional<std::uint16_t> extended_error_;
};

}  // namespace doxlab::resolver
