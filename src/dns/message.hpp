#pragma once
/// DNS messages: a typed, thin layer over libknot. Composes queries, reads answers, prints records.

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
/// "NOERROR", "SERVFAIL", ..., "RCODE23".
std::string rcode_to_string(std::uint16_t rcode);

struct QueryOptions {
  std::uint16_t id = 0;
  bool recursion_desired = true;
  bool edns = true;
  std::uint16_t udp_payload_size = 1232;   ///< RFC 6891 §6.2.3; flag day 2020
  bool dnssec_ok = false;
  std::size_t pad_to_multiple = 0;         ///< EDNS padding to a multiple of this (RFC 8467: 128); 0: none
};

/// A query in wire form. `name` in presentation form.
Result<Bytes> compose_query(std::string_view name, std::uint16_t type, const QueryOptions& options = {});

struct Question {
  std::string name;
  std::uint16_t type = 0, klass = 1;
};

struct Record {
  std::string name;
  std::uint16_t type = 0, klass = 1;
  std::uint32_t ttl = 0;
  std::string rdata;                       ///< presentation form
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
  std::size_t padding_bytes = 0;
};

/// Parses a whole message. Errors: what is malformed and at which offset. Work is bounded: compression
/// pointers go backwards only, trailing bytes are an error.
Result<Message> parse_message(BytesView wire);

/// True if `response` answers `query`: QR, ID and question (type, class, name in any case) match
/// (RFC 5452 §9). Cheap; for every datagram received.
bool is_answer_to(BytesView query, BytesView response);

/// The first two octets. The caller guarantees 12.
std::uint16_t message_id(BytesView message);
void set_message_id(Bytes& message, std::uint16_t id);
/// The TC bit of a message of at least 12 octets.
bool is_truncated(BytesView message);

/// dig-like text of a message: header line, question, sections.
std::string to_text(const Message& message);

}  // namespace doxlab::dns
