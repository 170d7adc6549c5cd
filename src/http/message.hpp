#pragma once
/// What HTTP/2 and HTTP/3 share: messages to and from lists of fields, the decoded size of a field
/// section, and how much fruitless work a peer may cause. Internal to this room.

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "http/doh.hpp"

namespace doxlab::http {

/// The fields of a message in wire order, pseudo-headers first.
std::vector<Header> to_fields(const Request& request);
std::vector<Header> to_fields(const Response& response);

/// Puts one received field into its place. Unknown pseudo-headers are dropped; the library below has
/// refused what the RFCs forbid.
void add_field(Request& request, std::string_view name, std::string_view value);
void add_field(Response& response, std::string_view name, std::string_view value);

/// The length that content-length announces; empty without one.
std::optional<std::uint64_t> announced_length(const std::vector<Header>& headers);

/// Fields as nghttp2_nv or nghttp3_nv. The result borrows from `fields`; the libraries copy.
template <class Nv>
std::vector<Nv> to_name_values(const std::vector<Header>& fields) {
  std::vector<Nv> list;
  list.reserve(fields.size());
  for (const Header& field : fields) {
    Nv nv{};
    nv.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(field.name.data()));
    nv.value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(field.value.data()));
    nv.namelen = field.name.size();
    nv.valuelen = field.value.size();
    list.push_back(nv);
  }
  return list;
}

/// The largest field section that a client takes of an answer (RFC 9113 section 6.5.2, RFC 9114 section 4.2.2).
inline constexpr std::size_t kMaxAnswerFieldBytes = 16 * 1024;

/// The decoded size of headers and trailers (RFC 9113 §6.5.2, RFC 9114 §4.2.2): each field counts 32
/// octets beside name and value, so that a small compressed block cannot become much memory.
class FieldSectionSize {
 public:
  explicit FieldSectionSize(std::size_t limit) : limit_(limit) {}
  /// False once the limit is passed: do not store the field.
  bool add(std::string_view name, std::string_view value) {
    used_ += name.size() + value.size() + 32;
    return !exceeded();
  }
  bool exceeded() const { return used_ > limit_; }

 private:
  std::size_t limit_, used_ = 0;
};

/// How much work without a result a peer may cause: streams that die, no matter which end resets them
/// (CVE-2023-44487, CVE-2025-8671), and frames that carry nothing (CVE-2019-9511 to 9518). Counted in
/// events, not in time, so that it needs no clock: each answer that was delivered forgives one reset.
class Patience {
 public:
  explicit Patience(std::size_t max_resets) : max_resets_(max_resets) {}
  void on_reset() { ++resets_; }
  void on_idle_frame() { ++idle_frames_; }
  void on_progress() { idle_frames_ = 0; }
  void on_answered() {
    if (resets_ > 0) --resets_;
    idle_frames_ = 0;
  }
  bool exhausted() const { return resets_ > max_resets_ || idle_frames_ > kMaxIdleFrames; }

 private:
  /// Of PING, SETTINGS, WINDOW_UPDATE, PRIORITY and empty DATA in a row. Browsers and h2load send a few.
  static constexpr std::size_t kMaxIdleFrames = 2000;
  std::size_t max_resets_, resets_ = 0, idle_frames_ = 0;
};

}  // namespace doxlab::http
