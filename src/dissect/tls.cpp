#include "dissect/tls.hpp"

#include <algorithm>

#include "dissect/limits.hpp"
#include "dissect/tls_keys.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;

/// RFC 5246 §6.2.3; TLS 1.3 allows 256 over 2^14.
constexpr std::size_t kMaxRecordBytes = (1 << 14) + 2048;

/// Reads the records of one direction.
class RecordReader {
 public:
  RecordReader(TlsConnection& out, Direction direction, std::uint32_t connection, const TlsSecrets* secrets,
               std::vector<TlsRecord>& records, std::vector<HandshakeMessage>& messages)
      : out_(out),
        direction_(direction),
        connection_(connection),
        keys_(direction, secrets),
        records_(records),
        messages_(messages) {}

  void read(const StreamBuffer& stream) {
    for (std::uint64_t at = 0; at < stream.end() && records_.size() < kMostItems;) {
      const auto header = stream.view({at, at + kRecordHeaderBytes});
      if (header.empty()) break;
      ByteReader in(header);
      TlsRecord record;
      record.connection = connection_;
      record.direction = direction_;
      record.outer_type = static_cast<TlsContentType>(in.u8());
      record.version = in.u16();
      const std::uint32_t length = in.u16();
      if (record.outer_type < TlsContentType::ChangeCipherSpec ||
          record.outer_type > TlsContentType::ApplicationData || record.version >> 8 != 3 ||
          length > kMaxRecordBytes)
        break;
      record.stream_offset = at;
      record.length = kRecordHeaderBytes + length;
      const auto octets = stream.view({at, at + record.length});
      record.is_complete = !octets.empty();
      if (record.is_complete)
        take(record, octets);
      else
        miss(record);
      records_.push_back(record);
      at += record.length;
    }
    give_up_message();
  }

 private:
  void miss(TlsRecord& record) {
    record.is_protected = record.outer_type == TlsContentType::ApplicationData;
    if (record.is_protected) keys_.miss();
    give_up_message();
  }

  void take(TlsRecord& record, BytesView octets) {
    const auto body = octets.subspan(kRecordHeaderBytes);
    switch (record.outer_type) {
      case TlsContentType::ApplicationData:
        return take_protected(record, octets);
      case TlsContentType::ChangeCipherSpec:
        has_changed_ = true;
        return take_content(record, body);
      case TlsContentType::Alert:
        record.is_protected = body.size() != 2;
        break;
      default:
        record.is_protected = !is_plain_handshake(body);
        break;
    }
    if (!record.is_protected) take_content(record, body);
  }

  /// Behind change_cipher_spec TLS 1.2 protects handshake records, and TLS 1.3 sends a second ClientHello or
  /// the ServerHello that answers it.
  bool is_plain_handshake(BytesView body) const {
    if (keys_.epoch() >= Epoch::Handshake) return false;
    if (!has_changed_ || message_at_ < out_.handshake[side(direction_)].size()) return true;
    const auto hello =
        direction_ == Direction::ToServer ? HandshakeType::ClientHello : HandshakeType::ServerHello;
    return !body.empty() && body[0] == static_cast<std::uint8_t>(hello);
  }

  void take_protected(TlsRecord& record, BytesView octets) {
    record.is_protected = true;
    auto opened = keys_.open(octets);
    if (!opened) return give_up_message();
    record.is_decrypted = true;
    record.epoch = opened->epoch;
    record.sequence = opened->sequence;
    auto inner = BytesView(opened->plaintext);
    // RFC 8446 §5.4: zeros behind the content type.
    const auto last =
        std::find_if(inner.rbegin(), inner.rend(), [](std::uint8_t octet) { return octet != 0; });
    record.padding = static_cast<std::uint32_t>(last - inner.rbegin());
    inner = inner.first(inner.size() - record.padding);
    if (inner.empty()) return;
    record.content_type = static_cast<TlsContentType>(inner.back());
    take_content(record, inner.first(inner.size() - 1));
  }

  void take_content(TlsRecord& record, BytesView content) {
    if (!record.is_protected) record.content_type = record.outer_type;
    record.content_length = static_cast<std::uint32_t>(content.size());
    if (record.content_type == TlsContentType::Handshake) {
      auto& stream = out_.handshake[side(direction_)];
      record.content_offset = stream.size();
      stream.insert(stream.end(), content.begin(), content.end());
      take_messages(record.epoch);
    } else if (record.content_type == TlsContentType::ApplicationData) {
      auto& stream = record.epoch == Epoch::Early ? out_.rejected_early : out_.application[side(direction_)];
      record.content_offset = stream.size();
      stream.insert(stream.end(), content.begin(), content.end());
    }
  }

  void take_messages(Epoch epoch) {
    const auto& stream = out_.handshake[side(direction_)];
    while (messages_.size() < kMostItems) {
      auto message = read_handshake_message(stream, message_at_);
      if (!message || !message->is_complete) return;
      out_.hellos.note(*message, BytesView(stream).subspan(message_at_, message->length));
      keep(*message, epoch);
      keys_.on_message(message->type);
      message_at_ += message->length;
    }
  }

  /// What follows the messages so far will not become whole: records are missing, or the stream ends.
  void give_up_message() {
    const auto& stream = out_.handshake[side(direction_)];
    if (auto message = read_handshake_message(stream, message_at_)) keep(*message, keys_.epoch());
    message_at_ = stream.size();
  }

  void keep(HandshakeMessage& message, Epoch epoch) {
    message.carrier = {CarrierKind::Tcp, connection_, direction_};
    message.epoch = epoch;
    add_to_layout(out_.handshake_layout[side(direction_)], message,
                  static_cast<std::uint32_t>(messages_.size()), out_.handshake[side(direction_)].size());
    messages_.push_back(message);
  }

  TlsConnection& out_;
  Direction direction_;
  std::uint32_t connection_;
  TlsKeys keys_;
  std::vector<TlsRecord>& records_;
  std::vector<HandshakeMessage>& messages_;
  std::uint64_t message_at_ = 0;
  bool has_changed_ = false;
};

/// The random of the ClientHello that a stream begins with.
std::optional<TlsRandom> find_client_random(BytesView stream) {
  constexpr std::size_t kRandomAt = kRecordHeaderBytes + 4 + 2;
  TlsRandom random;
  if (stream.size() < kRandomAt + random.size() ||
      stream[0] != static_cast<std::uint8_t>(TlsContentType::Handshake) ||
      stream[kRecordHeaderBytes] != static_cast<std::uint8_t>(HandshakeType::ClientHello))
    return std::nullopt;
  std::ranges::copy(stream.subspan(kRandomAt, random.size()), random.begin());
  return random;
}

/// Puts accepted 0-RTT data in front of what the client sent afterwards.
void join_early_data(TlsConnection& tls, std::vector<TlsRecord>& records) {
  tls.early_bytes = tls.rejected_early.size();
  tls.early_data_accepted = tls.early_bytes > 0 && tls.hellos.accepts_early_data();
  if (!tls.early_data_accepted) return;
  auto& application = tls.application[0];
  application.insert(application.begin(), tls.rejected_early.begin(), tls.rejected_early.end());
  tls.rejected_early.clear();
  for (auto i = tls.first_record; i < tls.first_record + tls.records; ++i) {
    auto& record = records[i];
    if (record.direction == Direction::ToServer && record.epoch == Epoch::Application &&
        record.content_type == TlsContentType::ApplicationData)
      record.content_offset += tls.early_bytes;
  }
}

}  // namespace

bool looks_like_tls(BytesView stream) {
  return stream.size() >= 3 && stream[0] == static_cast<std::uint8_t>(TlsContentType::Handshake) &&
         stream[1] == 3 && stream[2] <= 4;
}

TlsConnection dissect_tls(const std::array<StreamBuffer, 2>& streams, const KeyLog& keys,
                          std::uint32_t connection, std::vector<TlsRecord>& records,
                          std::vector<HandshakeMessage>& messages) {
  TlsConnection out;
  out.first_record = static_cast<std::uint32_t>(records.size());
  out.client_random = find_client_random(streams[side(Direction::ToServer)].prefix());
  const auto* secrets = out.client_random ? keys.find(*out.client_random) : nullptr;
  out.has_secrets = secrets != nullptr;
  for (const auto direction : kDirections)
    RecordReader(out, direction, connection, secrets, records, messages).read(streams[side(direction)]);
  out.records = static_cast<std::uint32_t>(records.size()) - out.first_record;
  join_early_data(out, records);
  return out;
}

}  // namespace doxlab::dissect
