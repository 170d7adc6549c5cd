// Master-file text. A zone that is accepted answers a query for its apex.
#include <cstdlib>

#include "dns/message.hpp"
#include "resolver/resolver.hpp"

using namespace doxlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto zone = resolver::Zone::parse(as_text(BytesView(data, size)), "example.");
  if (!zone) {
    if (zone.error().message.empty()) std::abort();
    return 0;
  }
  const resolver::Resolver resolver(*zone);
  for (const auto* name : {"example.", "a.example.", "x.w.example."}) {
    for (const std::uint16_t type : std::initializer_list<std::uint16_t>{1, 2, 6, 15, 16, 255}) {
      const auto query = dns::compose_query(name, type).value();
      if (!dns::parse_message(resolver.answer(query, {}))) std::abort();
    }
  }
  return 0;
}
