#include "dissect/dns_message.hpp"

#include "dissect/limits.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"

namespace doxlab::dissect {
namespace {

constexpr std::size_t kOptHeaderBytes = 11;  // root, type, class, TTL, length
constexpr std::size_t kOptionHeaderBytes = 4;

class MessageNamer {
 public:
  MessageNamer(BytesView octets, Layout& layout, std::uint64_t begin, std::uint32_t index)
      : octets_(octets), layout_(layout), begin_(begin), index_(index) {}

  DnsMessage read() {
    out_.length = static_cast<std::uint32_t>(octets_.size());
    const auto header = dns::read_header(octets_);
    if (!header) {
      put(TileKind::DnsMalformed, octets_.size());
      return std::move(out_);
    }
    out_.id = header->id;
    out_.is_response = header->has(dns::kFlagResponse);
    out_.is_truncated = header->has(dns::kFlagTruncated);
    out_.rcode = header->rcode();
    if (const auto question = dns::read_question(octets_)) {
      out_.qname = dns::name_to_text(question->name);
      out_.qtype = question->type;
    }
    put(TileKind::DnsHeader, dns::kHeaderOctets);
    read_sections();
    out_.is_well_formed = at_ == octets_.size();
    put(TileKind::DnsMalformed, octets_.size());
    return std::move(out_);
  }

 private:
  void read_sections() {
    dns::RecordScanner records(octets_);
    if (!records.problem().empty()) return;
    put(TileKind::DnsQuestion, records.offset());
    while (const auto record = records.next()) {
      if (record->type == dns::kTypeOpt)
        put_opt(*record);
      else
        put(TileKind::DnsRecord, record->end());
    }
  }

  void put_opt(const dns::RecordView& record) {
    put(TileKind::DnsOpt, record.offset + kOptHeaderBytes);
    auto options = record.rdata;
    while (const auto option = dns::next_option(options)) {
      const auto end = at_ + kOptionHeaderBytes + option->data.size();
      if (option->code == dns::kOptionPadding) out_.padding_bytes += static_cast<std::uint32_t>(end - at_);
      put(option->code == dns::kOptionPadding ? TileKind::DnsPadding : TileKind::DnsOpt, end);
    }
    put(TileKind::DnsOpt, record.end());
  }

  /// Names the octets up to `end`, an offset within the message.
  void put(TileKind kind, std::size_t end) {
    if (end <= at_) return;
    layout_.add(begin_ + at_, begin_ + end,
                {.kind = kind, .item = index_, .item_offset = static_cast<std::uint32_t>(at_)});
    at_ = end;
  }

  BytesView octets_;
  Layout& layout_;
  std::uint64_t begin_;
  std::uint32_t index_;
  std::size_t at_ = 0;
  DnsMessage out_;
};

}  // namespace

DnsMessage read_dns_message(BytesView octets, Layout& layout, std::uint64_t begin, std::uint32_t index) {
  return MessageNamer(octets, layout, begin, index).read();
}

bool is_dns_message(BytesView octets) {
  const auto header = dns::read_header(octets);
  if (!header || header->questions > 1) return false;
  dns::RecordScanner records(octets);
  while (records.next()) {
  }
  return records.problem().empty() && records.offset() == octets.size();
}

void read_dns_stream(BytesView stream, const Carrier& carrier, std::uint64_t stream_id, Layout& layout,
                     std::vector<DnsMessage>& messages) {
  constexpr std::size_t kPrefixBytes = 2;
  for (std::size_t at = 0; stream.size() - at >= kPrefixBytes && messages.size() < kMostItems;) {
    const std::size_t length = ByteReader(stream.subspan(at)).u16();
    const auto index = static_cast<std::uint32_t>(messages.size());
    const auto begin = at + kPrefixBytes;
    layout.add(at, begin, {.kind = TileKind::DnsLengthPrefix, .item = index});
    DnsMessage message;
    if (length <= stream.size() - begin) {
      message = read_dns_message(stream.subspan(begin, length), layout, begin, index);
    } else {
      layout.add(begin, begin + length, {.kind = TileKind::DnsMalformed, .item = index});
      message.length = static_cast<std::uint32_t>(length);
    }
    message.carrier = carrier;
    message.stream_id = stream_id;
    message.stream_offset = begin;
    messages.push_back(std::move(message));
    at = begin + std::min(length, stream.size() - begin);
  }
}

}  // namespace doxlab::dissect
