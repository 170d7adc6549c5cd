// Names for the octets of a TCP stream that carries TLS records.
#include "dissect/tls.hpp"

namespace doxlab::dissect {
namespace {

const Layout* layout_of_content(const TlsConnection& tls, const TlsRecord& record) {
  const auto at = side(record.direction);
  if (record.content_type == TlsContentType::Handshake) return &tls.handshake_layout[at];
  if (record.content_type != TlsContentType::ApplicationData) return nullptr;
  return record.epoch == Epoch::Early && !tls.early_data_accepted ? &tls.rejected_early_layout
                                                                  : &tls.application_layout[at];
}

TileKind kind_of_content(TlsContentType type) {
  switch (type) {
    case TlsContentType::ChangeCipherSpec:
      return TileKind::TlsChangeCipherSpec;
    case TlsContentType::Alert:
      return TileKind::TlsAlert;
    case TlsContentType::Handshake:
      return TileKind::TlsHandshake;
    default:
      return TileKind::TlsApplicationData;
  }
}

class RecordNamer {
 public:
  RecordNamer(Layout& layout, const TlsConnection& tls, const TlsRecord& record, std::uint32_t index)
      : layout_(layout), tls_(tls), record_(record), index_(index), at_(record.stream_offset) {}

  void name() {
    put(TileKind::TlsRecordHeader, kRecordHeaderBytes);
    const auto end = record_.stream_offset + record_.length;
    const bool is_plain = !record_.is_protected && record_.is_complete;
    if (!is_plain && !record_.is_decrypted) return put(TileKind::TlsCiphertext, end - at_);
    put_content();
    if (is_plain) return;
    if (record_.content_type != TlsContentType::None) put(TileKind::TlsContentType, 1);
    put(TileKind::TlsPadding, record_.padding);
    put(TileKind::TlsTag, end - at_);
  }

 private:
  void put(TileKind kind, std::uint64_t length) {
    layout_.add(at_, at_ + length, {.kind = kind, .unit = index_});
    at_ += length;
  }

  void put_content() {
    const Label fallback{.kind = kind_of_content(record_.content_type), .unit = index_};
    const ByteRange range{record_.content_offset, record_.content_offset + record_.content_length};
    const auto* inner = layout_of_content(tls_, record_);
    if (inner == nullptr) return put(fallback.kind, record_.content_length);
    inner->slice(range, fallback, [&](std::uint64_t begin, std::uint64_t end, Label label) {
      label.unit = index_;
      layout_.add(at_ + (begin - range.begin), at_ + (end - range.begin), label);
    });
    at_ += record_.content_length;
  }

  Layout& layout_;
  const TlsConnection& tls_;
  const TlsRecord& record_;
  std::uint32_t index_;
  std::uint64_t at_;
};

}  // namespace

Layout tls_layout(const TlsConnection& tls, link::Direction direction,
                  const std::vector<TlsRecord>& records) {
  Layout layout;
  for (auto i = tls.first_record; i < tls.first_record + tls.records; ++i)
    if (records[i].direction == direction) RecordNamer(layout, tls, records[i], i).name();
  return layout;
}

}  // namespace doxlab::dissect
