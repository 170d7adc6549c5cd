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

/// Zones read from master-file text (RFC 1035 §5): one for each SOA record. Immutable once made; threads
/// may share it.
class Zone {
 public:
  /// `origin` is used until $ORIGIN. Errors, with the line: the first syntax error, $INCLUDE, a class other
  /// than IN, DNAME, a second SOA or CNAME of a name, CNAME beside other data, a record in no zone.
  static Result<std::shared_ptr<const Zone>> parse(std::string_view master_file, std::string_view origin = ".");
  /// The zone that is built in: example.com with its usual records, www (CNAME), small (one A record), big
  /// and huge (TXT answers of about 4 KB and 20 KB), and *.wild. Addresses are those of RFC 5737 and 3849.
  static std::shared_ptr<const Zone> built_in();
  /// The same as master-file text, for other servers.
  static std::string built_in_text();
  ~Zone();

  struct State;  ///< of the room alone: zone_data.hpp
  const State& state() const { return *state_; }

 private:
  explicit Zone(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Resolver {
 public:
  explicit Resolver(std::shared_ptr<const Zone> zone) : zone_(std::move(zone)) {}

  /// The answer to a query, at most 65,535 bytes. Empty: no answer is due (shorter than a header, itself an
  /// answer, or keepalive over DoQ, RFC 9250 §5.5.2). FORMERR, NOTIMP, BADVERS and REFUSED as RFC 1035, 6891
  /// and 8906 ask; REFUSED for names in no zone, other classes and zone transfers. Not fitting UDP: TC with
  /// empty sections; above 65,535 bytes: SERVFAIL. ANY gives one set (RFC 8482).
  Bytes answer(BytesView query, const QueryContext& context) const;

 private:
  std::shared_ptr<const Zone> zone_;
};

}  // namespace doxlab::resolver
