// A query from a peer. The first octet chooses how it came, the rest is the message.
#include <cstdlib>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "resolver/resolver.hpp"

using namespace doxlab;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const resolver::Resolver kResolver(resolver::Zone::built_in());
  const resolver::QueryContext context{.udp = (data[0] & 1) != 0,
                                       .encrypted = (data[0] & 2) != 0,
                                       .doq = (data[0] & 4) != 0,
                                       .early_data = (data[0] & 8) != 0};
  const BytesView query(data + 1, size - 1);
  const auto answer = kResolver.answer(query, context);
  if (answer.empty()) return 0;
  const auto message = dns::parse_message(answer);
  require(message.has_value());
  require(message->is_response && message->id == dns::message_id(query));
  require(answer.size() <= (context.udp ? 1232u : dns::kMaxMessageOctets));
  require(!message->has_padding || (context.encrypted && message->edns));
  if (const auto asked = dns::parse_message(query); asked && asked->question && message->question) {
    require(dns::is_answer_to(query, answer));
    require(asked->edns == message->edns);
  }
  return 0;
}
