// A whole capture: read, sorted into flows, each flow dissected with the secrets so far. Memory is bounded by
// the octets that the flow counts.
#include <sanitizer/allocator_interface.h>

#include <sstream>

#include "dissect/flow_collector.hpp"
#include "dissection_check.hpp"

using namespace doxlab;
using fuzz::require;

namespace {

constexpr dissect::FlowLimits kLimits{.flow_bytes = 1 << 20, .total_bytes = 4 << 20};
/// A frame of one octet is a structure of its own. Streams have holes where octets are missing, within their
/// budget, and vectors grow by doubling.
constexpr std::size_t kMostGrowth = 400, kStreams = 2 * dissect::MemoryBudget{}.left;

void check_flow(const dissect::Flow& flow, const dissect::KeyLog& keys) {
  require(!flow.packets.empty() && flow.bytes <= kLimits.flow_bytes + (std::size_t{17} << 20));
  const auto before = __sanitizer_get_current_allocated_bytes();
  const auto dissection = dissect::dissect(flow.observe(), keys);
  const auto after = __sanitizer_get_current_allocated_bytes();
  require(after < before || after - before <= kStreams + kMostGrowth * flow.bytes);
  require(dissection.packets.size() == flow.packets.size());
  fuzz::check_dissection(dissection);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  auto reader = dissect::PcapReader::open(in);
  if (!reader) return 0;
  std::uint64_t added = 0, handed_over = 0;
  dissect::FlowCollector collector(
      [&](dissect::Flow&& flow) {
        check_flow(flow, reader->keys());
        handed_over += flow.packets.size();
      },
      kLimits);
  while (const auto packet = reader->next()) {
    if (!*packet) break;
    collector.add(**packet);
    ++added;
  }
  collector.finish();
  require(added == handed_over);
  return 0;
}
