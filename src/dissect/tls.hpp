#pragma once
/// TLS records over TCP (RFC 8446 §5): told apart, decrypted where the key log has the secrets, and their
/// content read as handshake messages, alerts and application data. Other versions than TLS 1.3 are told
/// apart but not decrypted.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dissect/handshake.hpp"
#include "dissect/stream_buffer.hpp"

namespace doxlab::dissect {

inline constexpr std::uint32_t kRecordHeaderBytes = 5;

enum class TlsContentType : std::uint8_t {
  None = 0,
  ChangeCipherSpec = 20,
  Alert = 21,
  Handshake = 22,
  ApplicationData = 23,
};

/// One record. Its octets are, in this order: header, content, and if it is protected content type, padding
/// and tag.
struct TlsRecord {
  std::uint32_t connection = kNone;  ///< index of the TcpConnection
  link::Direction direction = link::Direction::ToServer;
  TlsContentType outer_type = TlsContentType::None;  ///< as in its header
  std::uint16_t version = 0;                         ///< as in its header
  std::uint64_t stream_offset = 0;                   ///< of its header in the TCP stream
  std::uint32_t length = 0;                          ///< with header
  bool is_complete = false;                          ///< all of it was captured
  bool is_protected = false;
  bool is_decrypted = false;
  Epoch epoch = Epoch::Initial;  ///< Initial: plaintext; meaningless if it could not be decrypted
  std::uint64_t sequence = 0;    ///< under the keys of its epoch, if decrypted
  /// What it contains. None: not decrypted, or nothing but padding.
  TlsContentType content_type = TlsContentType::None;
  std::uint32_t content_length = 0;
  std::uint32_t padding = 0;
  /// Where its content begins in the handshake stream or in the application's stream of its direction.
  std::uint64_t content_offset = 0;
};

struct TlsConnection {
  Hellos hellos;
  std::optional<TlsRandom> client_random;
  bool has_secrets = false;
  std::uint32_t first_record = 0, records = 0;  ///< in the list that dissect_tls() appended to
  /// Handshake content of each direction, in records under any keys.
  std::array<Bytes, 2> handshake;
  std::array<Layout, 2> handshake_layout;
  /// Application data of each direction. Accepted 0-RTT data is the beginning of the client's.
  std::array<Bytes, 2> application;
  std::array<Layout, 2> application_layout;  ///< to be filled in by who knows the application
  std::uint64_t early_bytes = 0;             ///< octets of 0-RTT data
  bool early_data_accepted = false;
  /// 0-RTT data that the server refused. The client sends it again as ordinary data.
  Bytes rejected_early;
  Layout rejected_early_layout;
};

/// True if a stream begins like one of TLS records.
bool looks_like_tls(BytesView stream);

/// Reads both directions of a stream (see side()). Records and handshake messages are appended, all of the
/// client first. Records behind a gap in the stream are read if the gap lies inside of a record.
TlsConnection dissect_tls(const std::array<StreamBuffer, 2>& streams, const KeyLog& keys,
                          std::uint32_t connection, std::vector<TlsRecord>& records,
                          std::vector<HandshakeMessage>& messages);

/// Names the octets of a direction's TCP stream. `records` is the list of dissect_tls(), whole.
Layout tls_layout(const TlsConnection& tls, link::Direction direction, const std::vector<TlsRecord>& records);

}  // namespace doxlab::dissect
