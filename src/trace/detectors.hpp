#pragma once
/// What is wrong, or costs more than it must, in one lookup: each finding a plain sentence with the packets that show
/// it. A detector is silent where the packets do not prove its case.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/causes.hpp"

namespace doxlab::trace {

enum class Finding : std::uint8_t {
  RetryRoundTrip,           ///< a Retry cost a round trip
  AmplificationStall,       ///< the server stood at three times what it had received
  CertificateBeyondWindow,  ///< the flight with the certificate did not fit in the sender's first window
  ClientHelloHalfLost,      ///< a ClientHello of several datagrams lost some of them
  LostCryptoNotResent,      ///< lost CRYPTO data was never sent again although its sender went on sending
  SpuriousRetransmission,   ///< what had been delivered was sent again, and its acknowledgement had been too
  InitialNotPadded,         ///< RFC 9000 §14.1
  AbovePathMtu,             ///< packets that the path is too small for
  EarlyDataNotUsed,         ///< resumed, and the query waited for the handshake
  EarlyDataRejected,
  NoSessionTicket,          ///< the server gave nothing to resume with
  ClosedBeforeAnswer,       ///< the server ended the connection before it answered
  ServerThinkTime,          ///< the server had acknowledged what it had, and sent what was waited for much later
};
inline constexpr std::size_t kFindingCount = 13;
std::string_view to_string(Finding finding);  // "retry_round_trip", ...: the names in JSON

struct Detected {
  Finding finding = Finding::RetryRoundTrip;
  std::string sentence;
  std::vector<std::uint32_t> packets;  ///< indexes
};

/// What is known of a lookup besides its packets.
struct Observation {
  std::optional<Timestamp> answered;
  bool sees_both_ends = true;  ///< `delivered` says what arrived, so what was lost is known
  /// Packets that the link dropped as larger than its MTU, by index.
  std::vector<std::uint32_t> too_big{};
};

/// `causes` may be null: no answer. Arguments as for find_causes().
std::vector<Detected> detect(const dissect::Dissection& dissection, std::span<const dissect::ObservedPacket> packets,
                             const Causes* causes, const Observation& observation);

}  // namespace doxlab::trace
