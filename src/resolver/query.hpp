#pragma once
/// A query as the resolver sees it: checked, and reduced to what changes the answer. Internal to resolver.

#include "base/bytes.hpp"
#include "dns/scan.hpp"

namespace doxlab::resolver {

/// Borrows from the message.
struct Query {
  dns::Header header;
  dns::QuestionView question;        ///< `name` is empty where there is no sound single question
  bool edns = false;                 ///< an OPT record was seen, perhaps a malformed one
  std::uint16_t udp_payload_size = 0;
  bool dnssec_ok = false;
  bool wants_padding = false;        ///< RFC 7830 §4: the padding option is there
  bool has_keepalive = false;        ///< RFC 7828
  dns::Rcode verdict = dns::kNoError;  ///< FORMERR or BADVERS: answer that and nothing else
};

/// Reads a query of opcode QUERY. The caller guarantees a header. Rules: one question (RFC 9619); records
/// sound and complete; at most one OPT, in the additional section, of the root (RFC 6891 §6.1.1); EDNS
/// version 0; options within their lengths; cookies of 8 or 16 to 40 octets (RFC 7873 §4). Unknown options
/// and flags are ignored. Linear in the message's size.
Query read_query(BytesView message);

}  // namespace doxlab::resolver
