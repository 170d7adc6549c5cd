#pragma once
/// What is remembered of a QUIC connection while its datagrams go by: whose the connection IDs are. Internal.

#include <array>
#include <optional>
#include <vector>

#include "dissect/quic.hpp"
#include "dissect/quic_protection.hpp"

namespace doxlab::dissect {

class FollowedQuic {
 public:
  explicit FollowedQuic(MemoryBudget& budget) : client_initial_(budget) {}

  QuicProtection protection;
  SocketAddress client, server;

  /// Learns an ID that `owner`'s packets are addressed with: that of the end which receives in this
  /// direction.
  void add_id(link::Direction towards, BytesView id);
  void add_reset_token(link::Direction from, BytesView token);

  /// True if the connection uses these addresses; `direction` is then set.
  bool has_path(const SocketAddress& source, const SocketAddress& destination,
                link::Direction& direction) const;
  /// True if packets in this direction are addressed with this ID.
  bool has_id(link::Direction towards, BytesView id) const;
  /// Octets of the connection ID in a short header; those of the newest ID if none fits.
  std::size_t short_id_bytes(link::Direction towards, BytesView datagram) const;
  /// True if the datagram ends in a token with which the sender of this direction may reset the connection.
  bool is_stateless_reset(link::Direction direction, BytesView datagram) const;

  /// Takes the frames of the client's Initial packets until the random of its ClientHello is known.
  std::optional<TlsRandom> find_client_random(const QuicFrame& frame, BytesView data);

 private:
  std::array<std::vector<Bytes>, 2> ids_, reset_tokens_;  // by direction
  StreamBuffer client_initial_;
};

/// Reads the handshake messages of a connection whose CRYPTO streams are filled.
void read_crypto_streams(QuicConnection& connection, std::uint32_t index,
                         std::vector<HandshakeMessage>& messages);
/// The stateless_reset_token of transport parameters (RFC 9000 §18.2); empty: there is none.
BytesView find_reset_token(BytesView transport_parameters);

}  // namespace doxlab::dissect
