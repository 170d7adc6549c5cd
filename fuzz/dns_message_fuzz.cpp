// A DNS message from a peer: parsed, printed, matched with a query, searched for options and lifetimes.
#include <cstdlib>

#include "dns/message.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"

using namespace doxlab;

namespace {

/// What must hold whatever the input is; a breach is a finding.
void require(bool holds) {
  if (!holds) std::abort();
}

void check_name_text(const std::string& text) {
  const auto again = dns::normalize_name(text);
  require(again && *again == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView input(data, size);
  static const Bytes kQuery = dns::compose_query("www.example.com", 1, {.id = 0x1234}).value();
  dns::is_answer_to(kQuery, input);
  dns::is_answer_to(input, kQuery);
  dns::has_edns_option(input, dns::kOptionPadding);
  const auto ttl = dns::min_answer_ttl(input);
  require(!ttl || *ttl <= 0x7fff'ffff);
  dns::normalize_name(as_text(input));
  dns::parse_type(as_text(input));

  const auto message = dns::parse_message(input);
  if (!message) {
    require(!message.error().message.empty());
    return 0;
  }
  require(!dns::to_text(*message).empty());
  if (message->question) check_name_text(message->question->name);
  for (const auto* section : {&message->answer, &message->authority, &message->additional}) {
    for (const auto& record : *section) check_name_text(record.name);
  }
  if (message->question && !message->is_response) {
    auto answer = to_bytes(input);
    answer[2] |= 0x80;
    require(dns::is_answer_to(input, answer));
  }
  return 0;
}
