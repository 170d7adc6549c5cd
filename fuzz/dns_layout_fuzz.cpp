// A DNS message cut into header, question, records and padding; then the same octets as a stream of messages.
#include "dissect/dns_message.hpp"
#include "dissection_check.hpp"

using namespace doxlab;
using namespace doxlab::dissect;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView input(data, size);
  Layout layout;
  const auto message = read_dns_message(input, layout, 0, 0);
  require(message.length == size && message.padding_bytes <= size);
  require(message.is_well_formed || !is_dns_message(input));
  fuzz::check_layout(layout, size, 1);

  Layout stream;
  std::vector<DnsMessage> messages;
  read_dns_stream(input, {}, 0, stream, messages);
  fuzz::check_layout(stream, size, messages.size());
  require(messages.size() <= size / 2);
  return 0;
}
