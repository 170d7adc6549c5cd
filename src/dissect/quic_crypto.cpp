// Handshake messages of QUIC connections.
#include "dissect/quic_followed.hpp"

namespace doxlab::dissect {

void read_crypto_streams(QuicConnection& connection, std::uint32_t index,
                         std::vector<HandshakeMessage>& messages) {
  for (auto& [epoch, stream] : connection.crypto)
    for (const auto direction : kDirections)
      read_handshake_stream(stream[side(direction)].data.prefix(), {CarrierKind::Quic, index, direction},
                            epoch, stream[side(direction)].layout, messages, connection.hellos);
}

BytesView find_reset_token(BytesView transport_parameters) {
  constexpr std::uint64_t kStatelessResetToken = 0x02;
  for (ByteReader in(transport_parameters); !in.at_end();) {
    const auto id = in.varint();
    const auto value = in.take(in.varint());
    if (id == kStatelessResetToken && in.ok()) return value;
  }
  return {};
}

}  // namespace doxlab::dissect
