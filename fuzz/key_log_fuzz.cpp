// The lines of a key log, added at once and in two parts.
#include "dissect/key_log.hpp"
#include "dissection_check.hpp"

using namespace doxlab;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = as_text(BytesView(data, size));
  dissect::KeyLog keys;
  keys.add(text);
  // A line has a random of 64 digits and a secret of as many.
  require(keys.sessions() <= size / 128);
  dissect::KeyLog again;
  const auto line_end = text.find('\n', size / 2);
  if (line_end != std::string_view::npos) {
    again.add(text.substr(0, line_end + 1));
    again.add(text.substr(line_end + 1));
    require(again.sessions() == keys.sessions());
  }
  dissect::TlsRandom random;
  random.fill(0xaa);
  const auto* found = keys.find(random);
  if (found == nullptr) return 0;
  for (const auto* secret : {&found->client_early, &found->client_handshake, &found->server_handshake,
                             &found->client_application, &found->server_application})
    require(secret->empty() || secret->size() == 32 || secret->size() == 48);
  return 0;
}
