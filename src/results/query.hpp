#pragma once
/// The record of one `doxlab query`, as its JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace doxlab::results {

struct RecordText {
  std::string name, type;
  std::uint32_t ttl = 0;
  std::string rdata;
};

/// Times are milliseconds from the start of the lookup.
struct QueryResult {
  std::string qname, qtype, server, transport;
  std::string outcome, reason;
  std::string rcode;
  std::vector<RecordText> answer;
  std::uint64_t message_bytes = 0;              ///< the DNS message of the answer
  std::optional<double> connected_ms, secured_ms, answered_ms;
  std::string tls_version, group, cipher, alpn;
  bool resumed = false, hello_retry_request = false, retry = false, tcp_fallback = false;
  std::string early_data;                       ///< "not offered", "accepted", "rejected"
  std::uint64_t certificate_bytes = 0;          ///< DER bytes of the chain that the server sent
};

/// One JSON object with a final newline.
std::string to_json(const QueryResult& result);

}  // namespace doxlab::results
