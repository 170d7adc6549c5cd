#pragma once
/// DNS messages: a typed, thin layer over libknot. Composes queries, reads answers, prints records.
/// scan.hpp walks messages without allocating; name.hpp has the forms of names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace doxlab::dns {

/// A domain name in presentation form with a final dot. Errors: too long (255 octets, labels of 63),
/// empty label, bad escape; the message says which and where.
Result<std::string> normalize_name(std::string_view text);

/// "AAAA", "TYPE65400" or a number. Errors: unknown mnemonic.
Result<std::uint16_t> parse_type(std::string_view text);
std::string type_to_string(std::uint16_t type);
/// "NOERROR", "SERVFAIL", ..., "RCODE24" where there is no name.
std::string rcode_to_string(std::uint16_t rcode);

struct QueryOptions {
  std::uint16_t id = 0;
  bool recursion_desired = true;
  bool edns = true;
  std::uint16_t udp_payload_size = 1232;   ///< RFC 6891 §6.2.3; flag day 2020
  bool dnssec_ok = false;
  std::size_t pad_to_multiple = 0;         ///< EDNS padding to a multiple of this (RFC 8467: 128); 0 or no edns: none
};

/// A query in wire form, class IN. `name` in presentation form. Errors: those of normalize_name.
/// Padding is zeros (RFC 7830 §3) and never makes the message longer than 65,535 octets.
Result<Bytes> compose_query(std::string_view name, std::uint16_t type, const QueryOptions& options = {});

struct Question {
  std::string name;                        ///< presentation form, case as sent
  std::uint16_t type = 0, klass = 1;
};

struct Record {
  std::string name;
  std::uint16_t type = 0, klass = 1;
  std::uint32_t ttl = 0;
  std::string rdata;                       ///< presentation form
};

/// An EDNS option other than padding.
struct EdnsOption {
  std::uint16_t code = 0;
  Bytes data;
};

struct Message {
  std::uint16_t id = 0;
  bool is_response = false, authoritative = false, truncated = false, recursion_desired = false,
       recursion_available = false;
  std::uint8_t opcode = 0;
  std::uint16_t rcode = 0;                 ///< with the extended bits of EDNS
  std::optional<Question> question;
  std::vector<Record> answer, authority, additional;  ///< OPT is not among them
  bool edns = false;
  std::uint16_t edns_udp_payload_size = 0;
  std::size_t padding_bytes = 0;           ///< octets of the padding option's data; its header is 4 more
  bool has_padding = false;                ///< a padding option is there, perhaps of length 0
  bool authentic_data = false, checking_disabled = false, dnssec_ok = false;
  std::uint8_t edns_version = 0;
  std::vector<EdnsOption> edns_options;
};

/// Parses a whole message. Errors: what is malformed and at which offset. Work is bounded: compression
/// pointers go backwards only, names expand to 1 MiB in all at most, trailing bytes are an error. So are
/// two questions (RFC 9619), two OPT records, and an OPT record with an owner or outside the additional
/// section (RFC 6891 §6.1.1). Rdata of unknown types prints in the generic form (RFC 3597 §5).
Result<Message> parse_message(BytesView wire);

/// True if `response` answers `query`: QR, opcode, ID and question (type, class, name in any case) match
/// (RFC 5452 §9). A bare header with FORMERR, SERVFAIL, NOTIMP or REFUSED matches by QR, opcode and ID, as
/// servers without EDNS send it. Cheap, no allocation; for every datagram received.
bool is_answer_to(BytesView query, BytesView response);

/// The first two octets. The caller guarantees 12 octets, for both.
std::uint16_t message_id(BytesView message);
void set_message_id(Bytes& message, std::uint16_t id);
/// The TC bit of a message of at least 12 octets.
bool is_truncated(BytesView message);

/// dig-like text of a message: header lines, EDNS, question, sections. Ends with a newline.
std::string to_text(const Message& message);

}  // namespace doxlab::dns
