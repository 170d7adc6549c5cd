#include "capture/pcapng.hpp"

#include <algorithm>
#include <format>
#include <vector>

namespace doxlab::capture {
namespace {

enum BlockType : std::uint32_t {
  SectionHeader = 0x0a0d0d0a,
  InterfaceDescription = 1,
  EnhancedPacket = 6,
  DecryptionSecrets = 10
};

enum Option : std::uint16_t {
  End = 0,
  Comment = 1,
  InterfaceName = 2,
  PacketFlags = 2,
  InterfaceDescriptionText = 3,
  Application = 4,
  TimestampResolution = 9
};

/// Tells readers that numbers come in network byte order.
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
/// Packets begin with an IPv4 or IPv6 header.
constexpr std::uint16_t kLinkTypeRaw = 101;
/// "TLSK": lines of a TLS key log.
constexpr std::uint32_t kTlsKeyLog = 0x544c534b;
/// Timestamps count units of 10 to the minus nine.
constexpr std::uint8_t kNanoseconds = 9;

void append_padded(ByteWriter& body, BytesView bytes) {
  body.append(bytes);
  while (body.size() % 4 != 0) body.u8(0);
}

void append_option(ByteWriter& body, Option code, BytesView value) {
  value = value.first(std::min<std::size_t>(value.size(), 0xffff));
  body.u16(code);
  body.u16(static_cast<std::uint16_t>(value.size()));
  append_padded(body, value);
}

void append_text(ByteWriter& body, Option code, std::string_view text) {
  if (!text.empty()) append_option(body, code, as_bytes(text));
}

void append_end(ByteWriter& body) {
  body.u32(End);
}

}  // namespace

PcapngWriter::PcapngWriter(std::ostream& out, std::string_view application, std::string_view comment)
    : out_(out) {
  ByteWriter body;
  body.u32(kByteOrderMagic);
  body.u16(1);  // version 1.0
  body.u16(0);
  body.u64(~std::uint64_t{0});  // the section's length is not told
  append_text(body, Application, application);
  append_text(body, Comment, comment);
  append_end(body);
  write_block(SectionHeader, body.bytes());
}

std::uint32_t PcapngWriter::add_interface(std::string_view name, std::string_view description) {
  ByteWriter body;
  body.u16(kLinkTypeRaw);
  body.u16(0);
  body.u32(0);  // packets are never cut
  append_text(body, InterfaceName, name);
  append_text(body, InterfaceDescriptionText, description);
  append_option(body, TimestampResolution, {&kNanoseconds, 1});
  append_end(body);
  write_block(InterfaceDescription, body.bytes());
  return interfaces_++;
}

void PcapngWriter::add_secrets(std::string_view key_log) {
  ByteWriter body;
  body.u32(kTlsKeyLog);
  body.u32(static_cast<std::uint32_t>(key_log.size()));
  append_padded(body, as_bytes(key_log));
  write_block(DecryptionSecrets, body.bytes());
}

void PcapngWriter::add_packet(std::uint32_t interface, std::uint64_t when, BytesView packet, Flow flow,
                              std::string_view comment) {
  ByteWriter body;
  body.u32(interface);
  body.u64(when);
  body.u32(static_cast<std::uint32_t>(packet.size()));
  body.u32(static_cast<std::uint32_t>(packet.size()));
  append_padded(body, packet);
  append_text(body, Comment, comment);
  if (flow != Flow::Unknown) {
    ByteWriter flags;
    flags.u32(static_cast<std::uint32_t>(flow));
    append_option(body, PacketFlags, flags.bytes());
  }
  append_end(body);
  write_block(EnhancedPacket, body.bytes());
}

void PcapngWriter::write_block(std::uint32_t type, BytesView body) {
  const auto length = static_cast<std::uint32_t>(body.size() + 12);
  ByteWriter block;
  block.u32(type);
  block.u32(length);
  block.append(body);
  block.u32(length);
  const auto text = as_text(block.bytes());
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
}

namespace {

/// What a person should know about a packet, or nothing if it went the ordinary way.
std::string comment_on(const RecordedPacket& packet, std::string_view lookup) {
  std::string event;
  if (packet.fate != link::Fate::Delivered) {
    event = std::format("{}: {}", kNeverArrived, link::to_string(packet.fate));
  } else if (packet.duplicate) {
    event = "a second copy, made by the link";
  } else if (packet.corrupted) {
    event = std::format("{} by the link (the octets here are those sent)", kArrivedCorrupted);
  } else if (!packet.delivered) {
    event = "still on the way when the record ended";
  } else {
    return {};
  }
  const auto name = lookup.empty() ? std::format("sample {}", packet.place.sample) : std::string(lookup);
  return std::format("{} [{}, {} packet {}]", event, name, link::to_string(packet.place.direction),
                     packet.place.index);
}

}  // namespace

CaptureWriter::CaptureWriter(std::ostream& out, const CaptureOptions& options)
    : vantage_(options.vantage),
      wall_clock_offset_(options.wall_clock_offset),
      lost_after_(options.lost_after),
      writer_(out, "doxlab " DOXLAB_VERSION, options.comment) {
  if (!options.key_log.empty()) writer_.add_secrets(options.key_log);
  const bool is_client = vantage_ == Vantage::Client;
  interface_ =
      writer_.add_interface(is_client ? "client" : "server",
                            is_client ? "the client's end of the link" : "the server's end of the link");
}

bool CaptureWriter::is_later(const Seen& a, const Seen& b) {
  return a.when != b.when ? a.when > b.when : a.order > b.order;
}

void CaptureWriter::add(RecordedPacket packet, std::string note, std::string_view lookup) {
  const auto outbound = vantage_ == Vantage::Client ? link::Direction::ToServer : link::Direction::ToClient;
  const bool is_outbound = packet.place.direction == outbound;
  if (is_outbound && packet.duplicate) return;  // the link made it: this end sent only one
  const auto when = is_outbound ? packet.sent : packet.delivered.value_or(packet.sent + lost_after_);
  const auto fate = comment_on(packet, lookup);
  if (!note.empty() && !fate.empty()) note += "; ";
  waiting_.push_back({when, added_++, is_outbound ? PcapngWriter::Flow::Outbound : PcapngWriter::Flow::Inbound,
                      note + fate, std::move(packet)});
  std::ranges::push_heap(waiting_, is_later);
}

void CaptureWriter::write_before(Timestamp end) {
  while (!waiting_.empty() && waiting_.front().when < end) {
    std::ranges::pop_heap(waiting_, is_later);
    const auto& [when, order, flow, comment, packet] = waiting_.back();
    writer_.add_packet(interface_, to_ns(when + wall_clock_offset_), packet.bytes, flow, comment);
    ++written_;
    waiting_.pop_back();
  }
}

void write_capture(std::ostream& out, std::span<const RecordedPacket> packets,
                   const CaptureOptions& options) {
  CaptureWriter writer(out, options);
  for (const auto& packet : packets) writer.add(packet);
  writer.write_before(Timestamp::max());
}

}  // namespace doxlab::capture
