// pcapng (draft-ietf-opsawg-pcapng): sections of blocks; each section has a byte order and interfaces of its
// own.
#include <algorithm>
#include <format>

#include "dissect/pcap_source.hpp"

namespace doxlab::dissect {
namespace {

enum BlockType : std::uint32_t {
  kInterfaceDescription = 1,
  kSimplePacket = 3,
  kEnhancedPacket = 6,
  kDecryptionSecrets = 10,
  kSectionHeader = 0x0a0d0d0a,
};

enum OptionCode : std::uint16_t {
  kEndOfOptions = 0,
  kComment = 1,
  kPacketFlags = 2,
  kTimestampResolution = 9,
  kTimestampOffset = 14,
};

constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d, kByteOrderMagicLittle = 0x4d3c2b1a;
/// "TLSK".
constexpr std::uint32_t kTlsKeyLog = 0x544c534b;
constexpr std::size_t kMaxInterfaces = 10'000;

struct Interface {
  LinkType link = LinkType::Raw;
  std::uint32_t snap_bytes = 0;  // 0: packets are not cut
  std::uint64_t units_per_second = 1'000'000;
  std::int64_t offset_seconds = 0;

  std::uint64_t to_ns(std::uint64_t time) const {
    constexpr std::uint64_t kNano = 1'000'000'000, kMaxSeconds = 9'000'000'000;
    const auto seconds = std::min(time / units_per_second, kMaxSeconds);
    const auto whole =
        static_cast<std::int64_t>(seconds) +
        std::clamp<std::int64_t>(offset_seconds, -std::int64_t{kMaxSeconds}, std::int64_t{kMaxSeconds});
    // The fraction without overflow; digits below a nanosecond are dropped.
    auto fraction = time % units_per_second, units = units_per_second;
    while (units > (std::uint64_t{1} << 33)) {
      fraction /= units % 10 == 0 ? 10 : 2;
      units /= units % 10 == 0 ? 10 : 2;
    }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(whole, 0)) * kNano + fraction * kNano / units;
  }
};

/// A power of ten, or of two if the top bit is set. What does not fit in 64 bits is not believed.
std::uint64_t units_from(std::uint8_t resolution) {
  const unsigned exponent = resolution & 0x7f;
  if ((resolution & 0x80) != 0) return exponent < 64 ? std::uint64_t{1} << exponent : 1'000'000;
  if (exponent > 19) return 1'000'000;
  std::uint64_t units = 1;
  for (unsigned i = 0; i < exponent; ++i) units *= 10;
  return units;
}

class PcapngSource final : public PcapReader::Source {
 public:
  explicit PcapngSource(std::istream& in) : Source(in) { position_ = 4; }

  /// Reads a section header of which the type has been read.
  Result<void> read_section_header() {
    if (!fill(8)) return damaged("the file ends inside of a section header");
    const auto magic = ByteReader(BytesView(buffer_).subspan(4)).u32();
    if (magic != kByteOrderMagic && magic != kByteOrderMagicLittle) return damaged("no byte order magic");
    is_little_ = magic == kByteOrderMagicLittle;
    const auto length = FileReader(buffer_, is_little_).u32();
    if (length < 28 || length % 4 != 0) return damaged("a section header of a wrong length");
    skip(length - 12);
    interfaces_.clear();
    return {};
  }

  Result<std::optional<CapturedFrame>> next() override {
    while (true) {
      if (!fill(4)) return std::nullopt;
      const auto type = FileReader(buffer_, is_little_).u32();
      if (type == kSectionHeader) {
        if (auto header = read_section_header(); !header) {
          if (counts.ends_early) return std::nullopt;
          return std::unexpected(header.error());
        }
        continue;
      }
      auto body = read_block(type);
      if (!body) return std::unexpected(body.error());
      if (counts.ends_early) return std::nullopt;
      if (!*body) continue;
      auto frame = take_block(type, **body);
      if (!frame || *frame) return frame;
    }
  }

 private:
  /// The body of a block of a kind that is read; empty: passed over, or the file ends in it.
  Result<std::optional<BytesView>> read_block(std::uint32_t type) {
    if (!fill(4)) {
      counts.ends_early = true;
      return std::nullopt;
    }
    const auto length = FileReader(buffer_, is_little_).u32();
    if (length < 12 || length % 4 != 0) return damaged("a block of a wrong length");
    const bool is_read = type == kInterfaceDescription || type == kSimplePacket || type == kEnhancedPacket ||
                         type == kDecryptionSecrets;
    if (!is_read) {
      ++counts.skipped_blocks;
      skip(length - 8);
      return std::nullopt;
    }
    if (length > kMaxBlockBytes) return damaged("a block of more than 16 MiB");
    if (!fill(length - 8)) {
      counts.ends_early = true;
      return std::nullopt;
    }
    if (FileReader(BytesView(buffer_).last(4), is_little_).u32() != length)
      return damaged("the two lengths of a block differ");
    return BytesView(buffer_).first(length - 12);
  }

  Result<std::optional<CapturedFrame>> take_block(std::uint32_t type, BytesView body) {
    FileReader in(body, is_little_);
    switch (type) {
      case kInterfaceDescription:
        return take_interface(in);
      case kSimplePacket:
        return take_simple_packet(in);
      case kEnhancedPacket:
        return take_packet(in);
      default:
        return take_secrets(in);
    }
  }

  /// Calls `take(code, value)` for each option until their end.
  template <class Take>
  void for_each_option(FileReader& in, Take take) {
    while (in.remaining() >= 4) {
      const auto code = in.u16();
      const auto length = in.u16();
      const auto value = in.take(length);
      if (!in.ok() || code == kEndOfOptions) return;
      take(code, value);
      in.skip((4 - length % 4) % 4);
    }
  }

  Result<std::optional<CapturedFrame>> take_interface(FileReader& in) {
    Interface interface;
    interface.link = static_cast<LinkType>(in.u16());
    in.skip(2);
    interface.snap_bytes = in.u32();
    if (!in.ok()) return damaged("an interface description that is too short");
    for_each_option(in, [&](std::uint16_t code, BytesView value) {
      if (code == kTimestampResolution && value.size() == 1)
        interface.units_per_second = units_from(value[0]);
      if (code == kTimestampOffset && value.size() == 8)
        interface.offset_seconds = static_cast<std::int64_t>(FileReader(value, is_little_).u64());
    });
    if (interfaces_.size() >= kMaxInterfaces) return damaged("more than 10,000 interfaces");
    interfaces_.push_back(interface);
    return std::nullopt;
  }

  Result<std::optional<CapturedFrame>> take_packet(FileReader& in) {
    const auto interface = in.u32();
    const std::uint64_t high = in.u32(), low = in.u32();
    const auto captured = in.u32();
    CapturedFrame frame;
    frame.wire_bytes = in.u32();
    frame.bytes = in.take(captured);
    in.skip((4 - captured % 4) % 4);
    if (!in.ok()) return damaged("a packet that is longer than its block");
    if (interface >= interfaces_.size()) return damaged("a packet of an interface that was not described");
    frame.link = interfaces_[interface].link;
    frame.packet.interface = interface;
    frame.packet.time_ns = interfaces_[interface].to_ns(high << 32 | low);
    for_each_option(in, [&](std::uint16_t code, BytesView value) {
      if (code == kComment && frame.packet.comment.empty()) frame.packet.comment = as_text(value);
      if (code == kPacketFlags && value.size() == 4)
        frame.packet.flow =
            static_cast<CapturedPacket::Flow>(std::min(FileReader(value, is_little_).u32() & 3, 2u));
    });
    return frame;
  }

  Result<std::optional<CapturedFrame>> take_simple_packet(FileReader& in) {
    CapturedFrame frame;
    frame.wire_bytes = in.u32();
    if (!in.ok()) return damaged("a simple packet that is too short");
    if (interfaces_.empty()) return damaged("a packet of an interface that was not described");
    const auto& interface = interfaces_.front();
    auto captured = std::min<std::size_t>(frame.wire_bytes, in.remaining());
    if (interface.snap_bytes != 0) captured = std::min<std::size_t>(captured, interface.snap_bytes);
    frame.bytes = in.take(captured);
    frame.link = interface.link;
    return frame;
  }

  Result<std::optional<CapturedFrame>> take_secrets(FileReader& in) {
    const auto type = in.u32();
    const auto text = in.take(in.u32());
    if (!in.ok()) return damaged("secrets that are longer than their block");
    if (type == kTlsKeyLog) keys.add(as_text(text));
    return std::nullopt;
  }

  bool is_little_ = false;
  std::vector<Interface> interfaces_;
};

}  // namespace

Result<std::unique_ptr<PcapReader::Source>> open_pcapng(std::istream& in) {
  auto source = std::make_unique<PcapngSource>(in);
  if (auto header = source->read_section_header(); !header) return std::unexpected(header.error());
  return source;
}

}  // namespace doxlab::dissect
