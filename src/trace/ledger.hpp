#pragma once
/// Whose the bytes of a lookup are. Every IP byte has exactly one owner, so the sums of a ledger are those of the
/// recorder, to the byte.

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "dissect/flow.hpp"

namespace doxlab::trace {

enum class Owner : std::uint8_t {
  IpHeader,    ///< with options and extension headers
  UdpHeader,
  TcpHeader,   ///< with options
  QuicHeader,  ///< packet headers, connection IDs, packet numbers, headers of CRYPTO and STREAM frames
  QuicToken,   ///< of Retry, of the Initial that brings it back, and of NEW_TOKEN
  QuicTag,     ///< of the AEAD and of Retry
  QuicPadding, ///< PADDING frames and zeros behind the last packet
  QuicAck,
  QuicControl, ///< all other frames without data
  QuicClose,
  TlsRecord,   ///< record header, content type, padding, tag
  TlsAlert,    ///< and change_cipher_spec
  ClientHello, ///< without its key shares
  KeyShare,    ///< the extension of either hello, with its headers
  ServerHello, ///< likewise, also a HelloRetryRequest
  Certificate, ///< chain, compressed or not; of DNSCrypt the answer with the certificate
  Signature,   ///< CertificateVerify
  Handshake,   ///< EncryptedExtensions, Finished and the rest
  Ticket,      ///< NewSessionTicket
  HttpFraming, ///< all of HTTP but DNS messages
  DnsQuery,    ///< with its length prefix
  DnsAnswer,
  DnsPadding,  ///< EDNS padding options of both
  Dnscrypt,    ///< encrypted messages of DNSCrypt, header, padding and tag included
  Other,       ///< what could not be read
};
inline constexpr std::size_t kOwners = static_cast<std::size_t>(Owner::Other) + 1;
/// "ip_header", "client_hello", ...: the names in JSON.
std::string_view to_string(Owner owner);
/// For tables: "IP header", "ClientHello", ...
std::string_view display_name(Owner owner);

/// IP bytes.
struct Amount {
  std::uint64_t to_server = 0, to_client = 0;
  std::uint64_t repeated = 0;  ///< of both: octets of a stream that their sender had sent before
  std::uint64_t total() const { return to_server + to_client; }
};

struct Ledger {
  std::array<Amount, kOwners> amounts{};

  const Amount& operator[](Owner owner) const { return amounts[static_cast<std::size_t>(owner)]; }
  Amount total() const;
};

/// Counts the packets of which `counts` says so by their index. A packet whose direction is not known counts
/// nowhere.
Ledger count_ledger(const dissect::Dissection& dissection, const std::function<bool(std::size_t packet)>& counts);

/// Whose a tile is.
Owner owner_of(const dissect::Dissection& dissection, const dissect::Tile& tile, link::Direction direction);

}  // namespace doxlab::trace
