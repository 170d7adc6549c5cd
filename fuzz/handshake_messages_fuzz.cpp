// A stream of TLS handshake messages, as it stands in records or in CRYPTO frames; then the same octets as the
// TCP stream of a client or a server.
#include "dissect/tls.hpp"
#include "dissection_check.hpp"

using namespace doxlab;
using namespace doxlab::dissect;
using fuzz::require;

namespace {

void read_messages(BytesView stream) {
  Layout layout;
  std::vector<HandshakeMessage> messages;
  Hellos hellos;
  read_handshake_stream(stream, {}, Epoch::Handshake, layout, messages, hellos);
  fuzz::check_layout(layout, stream.size(), messages.size());
  (void)hellos.alpn();
  for (const auto& message : messages) {
    require(message.length >= 4 && !message.parts.empty() && !to_string(message.type).empty());
    std::uint32_t at = 0;
    for (const auto& part : message.parts) {
      require(part.offset == at && (part.length > 0 || message.length == at));
      at += part.length;
    }
    require(at == message.length);
    if (message.is_complete) require(message.stream_offset + message.length <= stream.size());
    (void)message.extension_bytes(kKeyShare);
  }
}

void read_records(BytesView client, BytesView server) {
  MemoryBudget budget{.left = 1 << 20};
  std::array<StreamBuffer, 2> streams{StreamBuffer(budget), StreamBuffer(budget)};
  streams[0].add(0, client, 0);
  streams[1].add(0, server, 1);
  std::vector<TlsRecord> records;
  std::vector<HandshakeMessage> messages;
  const auto tls = dissect_tls(streams, KeyLog{}, 0, records, messages);
  for (const auto direction : kDirections) {
    fuzz::check_layout(tls_layout(tls, direction, records), streams[side(direction)].end(), messages.size());
    fuzz::check_layout(tls.handshake_layout[side(direction)], tls.handshake[side(direction)].size(),
                       messages.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView input(data, size);
  read_messages(input);
  read_records(input, {});
  read_records({}, input);
  read_records(input.first(size / 2), input.subspan(size / 2));
  return 0;
}
