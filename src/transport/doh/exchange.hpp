#pragma once
/// What DoH says over any version of HTTP: queries become requests, responses become answers, and both must
/// fit each other. Shared by doh and doh3.

#include "http/h2.hpp"
#include "transport/factory.hpp"

namespace doxlab::transport {

/// A query of a client session that waits for its answer.
struct DohQuery {
  QueryHandle handle;
  std::uint16_t id = 0;  ///< as submitted
  Bytes wire;            ///< with ID 0
};

/// Errors: shorter than a DNS header or longer than 65,535 octets.
Result<DohQuery> make_doh_query(QueryHandle handle, BytesView query);

http::Request make_doh_request(const DohQuery& query, const ClientOptions& options, Transport transport);

/// The answer with the submitted ID. Errors: as http::read_doh_response, or an answer to something else.
Result<Bytes> read_doh_answer(const DohQuery& query, const http::Response& response);

/// True for what may be asked twice without harm, QUERY and NOTIFY, and so may travel as 0-RTT, which can be
/// replayed (RFC 8470, as RFC 9250 §4.5 draws the line). The caller guarantees a DNS header.
bool is_replayable(BytesView query);

/// The DNS query of a request, or the error response it deserves: as http::read_doh_request, and 425 for
/// 0-RTT that is not replayable (RFC 8470 §5.2).
std::expected<Bytes, http::Response> read_doh_query(const http::Request& request, std::string_view path,
                                                    bool early);

/// The HTTP response for what the resolver said: 200 whatever the RCODE (RFC 8484 §4.2.1), fresh for as long
/// as its records; 503 for an empty message (no answer), 500 for one that no DNS message can be.
http::Response make_doh_response(BytesView answer);

/// The limits of one HTTP connection.
http::H2Limits http_limits(const ServerLimits& limits);

}  // namespace doxlab::transport
