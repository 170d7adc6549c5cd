#pragma once
/// The queries of one client session that wait for an answer, for the transports that tell answers apart by
/// message ID: Do53 over UDP and TCP, and DoT.

#include <cstdint>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "transport/session.hpp"

namespace doxlab::transport {

class OpenQueries {
 public:
  struct Query {
    QueryHandle handle;
    std::uint16_t submitted_id = 0;
    Bytes wire;  ///< as sent: with its own ID
  };

  /// A handle for the next query, also for one that fails at once.
  QueryHandle new_handle() { return {++last_handle_}; }

  /// Takes a query in and gives it a fresh random ID (RFC 5452 §9.2) that no other open query has
  /// (RFC 7766 §7). Errors: shorter than a header, longer than 65,535 octets, no ID free.
  Result<std::uint16_t> add(QueryHandle handle, BytesView query);

  /// The open query with this ID; null if there is none. Valid until the next add or match.
  const Query* find(std::uint16_t id) const;

  /// If `message` answers an open query, ends that query and gives the answer with the submitted ID. Else
  /// counts it as dropped.
  std::optional<ResponseReceived> match(BytesView message);

  /// Ends all; in the order in which they were submitted.
  std::vector<QueryHandle> take_all();

  bool empty() const { return open_.empty(); }
  /// Messages that answered nothing: late, forged, malformed.
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::map<std::uint16_t, Query> open_;  // by ID on the wire
  std::uint64_t last_handle_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace doxlab::transport
