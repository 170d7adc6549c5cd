// A capture file of either format, read to its end or to its damage.
#include <sstream>

#include "dissect/pcap_reader.hpp"
#include "dissection_check.hpp"

using namespace doxlab;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  auto reader = dissect::PcapReader::open(in);
  if (!reader) {
    require(!reader.error().message.empty());
    return 0;
  }
  std::uint64_t number = 0, packets = 0;
  while (true) {
    const auto packet = reader->next();
    if (!packet) require(!packet.error().message.empty());
    if (!packet || !*packet) break;
    const auto& found = **packet;
    require(found.number > number);
    require(!found.bytes.empty() && found.bytes.size() <= size && found.bytes.size() <= found.ip_bytes);
    number = found.number;
    ++packets;
  }
  const auto& counts = reader->counts();
  // A frame takes 16 octets at least.
  require(counts.frames <= size / 16 && packets + counts.not_ip == counts.frames);
  require(counts.skipped_blocks <= size / 8);
  return 0;
}
