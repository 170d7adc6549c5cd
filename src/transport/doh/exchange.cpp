#include "transport/doh/exchange.hpp"

#include <algorithm>
#include <format>

#include "dns/message.hpp"
#include "dns/scan.hpp"

namespace doxlab::transport {
namespace {

/// RFC 9110 §4.2.2: the default port is left out; RFC 3986 §3.2.2: an IPv6 address stands in brackets.
std::string authority_of(const ClientOptions& options, Transport transport) {
  const bool is_v6 = options.server_name.find(':') != std::string::npos;
  std::string authority = is_v6 ? std::format("[{}]", options.server_name) : options.server_name;
  if (options.port != 0 && options.port != default_port(transport))
    authority += std::format(":{}", options.port);
  return authority;
}

}  // namespace

Result<DohQuery> make_doh_query(QueryHandle handle, BytesView query) {
  if (query.size() < dns::kHeaderOctets || query.size() > http::kMaxMessageBytes) {
    return fail(std::format("a query of {} octets cannot be sent", query.size()));
  }
  DohQuery made{handle, dns::message_id(query), to_bytes(query)};
  dns::set_message_id(made.wire, 0);
  return made;
}

http::Request make_doh_request(const DohQuery& query, const ClientOptions& options, Transport transport) {
  return http::make_doh_request(query.wire, options.method == HttpMethod::Get,
                                authority_of(options, transport), options.doh_path);
}

Result<Bytes> read_doh_answer(const DohQuery& query, const http::Response& response) {
  auto answer = http::read_doh_response(response);
  if (!answer) return answer;
  if (!dns::is_answer_to(query.wire, *answer)) return fail("the answer is to another question");
  dns::set_message_id(*answer, query.id);
  return answer;
}

bool is_replayable(BytesView query) {
  const auto opcode = query[2] >> 3 & 15;
  return opcode == 0 || opcode == 4;
}

std::expected<Bytes, http::Response> read_doh_query(const http::Request& request, std::string_view path,
                                                    bool early) {
  auto query = http::read_doh_request(request, path);
  if (query && early && !is_replayable(*query)) {
    return std::unexpected(
        http::make_error_response(425, "may be a replay; send it again after the handshake"));
  }
  return query;
}

http::Response make_doh_response(BytesView answer) {
  if (answer.empty()) return http::make_error_response(503, "no answer");
  if (answer.size() < dns::kHeaderOctets || answer.size() > http::kMaxMessageBytes) {
    return http::make_error_response(500, "no DNS message");
  }
  return http::make_doh_response(answer, dns::min_answer_ttl(answer));
}

http::H2Limits http_limits(const ServerLimits& limits) {
  return {.max_concurrent_streams =
              static_cast<std::uint32_t>(std::min<std::size_t>(limits.queries_in_flight, 100)),
          .max_queued_output_bytes = limits.queued_output_bytes};
}

}  // namespace doxlab::transport
