#pragma once
/// Answers DNS queries from a zone. It knows no transport beyond what changes an answer: the size limit of
/// UDP and the padding of encrypted channels.

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::resolver {

/// How the query came.
struct QueryContext {
  bool udp = false;               ///< Do53/UDP: the answer is truncated (TC) to the client's and this limit
  std::size_t max_udp_bytes = 1232;
  bool encrypted = false;         ///< pads the answer to a multiple of 468 if the query had EDNS padding (RFC 8467)
  bool doq = false;               ///< edns-tcp-keepalive is an error there; the caller resets the stream
  bool early_data = false;        ///< only QUERY is answered from 0-RTT; other opcodes get REFUSED
};

/// A zone read from master-file text (RFC 1035 §5). Immutable once made; threads may share it.
class Zone {
 public:
  /// `origin` is used until $ORIGIN. Errors: the first syntax error with its line.
  static Result<std::shared_ptr<const Zone>> parse(std::string_view master_file, std::string_view origin = ".");
  /// The zone that is built in: example.com and names with large, small and missing answers.
  static std::shared_ptr<const Zone> built_in();
  ~Zone();

 private:
  friend class Resolver;
  struct State;
  explicit Zone(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Resolver {
 public:
  explicit Resolver(std::shared_ptr<const Zone> zone) : zone_(std::move(zone)) {}

  /// The answer to a query, at most 65,535 bytes. Empty: no answer is due (shorter than a header, or
  /// itself an answer). FORMERR, NOTIMP, BADVERS and REFUSED as RFC 1035, 6891 and 8906 ask.
  Bytes answer(BytesView query, const QueryContext& context) const;

 private:
  std::shared_ptr<const Zone> zone_;
};

}  // namespace doxlab::resolver
