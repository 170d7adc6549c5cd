#pragma once
/// The secrets of TLS sessions from the lines of SSLKEYLOGFILE (draft-ietf-tls-keylogfile), which tls::KeyLog
/// gives and captures carry. Dissections look them up by the random of the ClientHello.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace doxlab::dissect {

using TlsRandom = std::array<std::uint8_t, 32>;

/// Traffic secrets of one TLS 1.3 session (RFC 8446 §7.1), 32 or 48 octets each; empty: not known.
struct TlsSecrets {
  Bytes client_early, client_handshake, server_handshake, client_application, server_application;
};

class KeyLog {
 public:
  /// Takes any number of lines, with either line end. Comments, labels of other secrets and malformed lines
  /// are passed over. Of two lines for the same secret the first counts.
  void add(std::string_view lines);
  /// Null: nothing is known of this session. Valid until the next add().
  const TlsSecrets* find(const TlsRandom& client_random) const;
  std::size_t sessions() const { return sessions_.size(); }

 private:
  void add_line(std::string_view line);

  std::map<TlsRandom, TlsSecrets> sessions_;
};

/// Takes the lines of SSLKEYLOGFILE out of the words of a program that logs them among others, and returns them from their
/// labels on, without the date or whatever else stands before them.
std::string take_key_log(std::string& words);

}  // namespace doxlab::dissect
