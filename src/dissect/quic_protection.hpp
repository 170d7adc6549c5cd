#pragma once
/// The keys of one QUIC connection, found and kept while its packets go by. Internal.

#include <array>
#include <optional>
#include <vector>

#include "dissect/carrier.hpp"
#include "dissect/quic_packet.hpp"

namespace doxlab::dissect {

struct OpenedQuicPacket {
  PlainHeader header;
  Bytes payload;
};

class QuicProtection {
 public:
  /// Initial packets may be protected by the connection ID that the client made up or by that of a Retry.
  void add_origin(BytesView client_destination_id);
  const std::vector<Bytes>& origins() const { return origins_; }
  /// Lifetime: the secrets outlive this object.
  void set_secrets(const TlsSecrets& secrets) { secrets_ = &secrets; }
  bool has_secrets() const { return secrets_ != nullptr; }

  /// Empty: no key opens it. `version` is the connection's for short headers.
  std::optional<OpenedQuicPacket> open(BytesView packet, const QuicHeader& header, std::uint32_t version,
                                       link::Direction direction);

 private:
  /// Keys that might be the right ones until one of them has opened a packet.
  struct Level {
    std::vector<QuicKeys> candidates;
    bool is_settled = false;
  };
  /// Of the 1-RTT keys of one direction: those of the key phases around the current one.
  struct Phases {
    std::optional<QuicKeys> previous, next;
    bool current = false;  ///< the Key Phase bit that goes with the current keys
  };

  std::optional<OpenedQuicPacket> open_initial(BytesView packet, const QuicHeader& header,
                                               link::Direction direction);
  std::optional<OpenedQuicPacket> open_level(Level& level, const Bytes& secret, std::uint32_t version,
                                             BytesView packet, const QuicHeader& header,
                                             std::uint64_t& expected);
  std::optional<OpenedQuicPacket> open_other_phase(Level& level, Phases& phases, BytesView packet,
                                                   const QuicHeader& header, std::uint64_t& expected);

  struct InitialKeys {
    std::uint32_t version = 0;
    std::size_t origin = 0;
    std::array<QuicKeys, 2> keys;
  };
  InitialKeys& initial_keys(std::uint32_t version, std::size_t origin);

  std::vector<Bytes> origins_;
  std::vector<InitialKeys> initial_;
  const TlsSecrets* secrets_ = nullptr;
  Level early_;
  std::array<Level, 2> handshake_, application_;
  std::array<Phases, 2> phases_;
  std::array<std::array<std::uint64_t, 2>, 3> expected_{};  // packet number space, direction
};

}  // namespace doxlab::dissect
