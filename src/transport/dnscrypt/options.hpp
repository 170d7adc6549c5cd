#pragma once
/// What DNSCrypt clients and servers may vary. Sections are those of draft-denis-dprive-dnscrypt-11.

#include <memory>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "dnscrypt/certificate.hpp"
#include "dnscrypt/resolver_keys.hpp"

namespace doxlab::transport {

/// Unix time for sessions, which own no clock: what it was at one Timestamp.
struct UnixClock {
  dnscrypt::UnixSeconds seconds = 0;
  Timestamp at;

  /// Whole seconds; before `at` as well.
  dnscrypt::UnixSeconds at_time(Timestamp now) const;
};

struct DnscryptClientOptions {
  std::string provider_name;  ///< for example "2.dnscrypt-cert.example.com"
  dnscrypt::PublicKey provider_key{};
  UnixClock clock;
  /// In wire form, from an earlier session's TicketReceived; it must verify and be valid, else it is as if
  /// empty.
  Bytes known_certificate;
  /// Constructions that are accepted, the preferred one first.
  std::vector<dnscrypt::EsVersion> es_versions = {dnscrypt::EsVersion::X25519XChaCha20Poly1305,
                                                  dnscrypt::EsVersion::X25519XSalsa20Poly1305};
  /// UDP: least octets of a padded query, a multiple of 64. After a truncated answer the session adds 64, as
  /// long as the packet stays within 1232 octets.
  std::size_t min_query_octets = 256;
  Duration retransmission{};  ///< UDP: send again after this, and each time it has passed; 0: never
  /// When it has passed, the certificates are asked for again, beside the queries (§5.5).
  Duration certificate_refresh = 1h;
  /// EDNS padding of the certificate query to a multiple of this, for servers that send no more than they
  /// got; 0: no EDNS, the least that can be sent.
  std::size_t certificate_query_octets = 0;
};

struct DnscryptServerOptions {
  std::shared_ptr<dnscrypt::ResolverKeys> keys;  ///< shared by the UDP and TCP sides
  UnixClock clock;
  std::size_t max_udp_octets = 1232;  ///< own cap on datagrams, beside the query's size
  std::size_t max_tcp_octets = dnscrypt::kMaxTcpResponsePacketOctets;
  bool varied_padding = false;  ///< answers: up to three further blocks of 64, from key and nonce
  /// UDP: certificate answers are never longer than their query either; else they may take 512 octets.
  bool bounded_certificate_answers = false;
  std::size_t shared_keys = 4096;        ///< UDP: keys of recent clients kept to save the X25519
  std::size_t queries_waiting = 16'384;  ///< UDP: without an answer; then the oldest is forgotten
  std::uint32_t certificate_ttl = 3600;  ///< seconds
  Duration first_message_timeout = 5s;   ///< TCP: from accept to the first whole message
  Duration idle_timeout = 10s;           ///< TCP: from each message to the next, or to the answer
};

}  // namespace doxlab::transport
