#include "dissect/pcap_reader.hpp"

#include <algorithm>
#include <format>

#include "dissect/pcap_source.hpp"

namespace doxlab::dissect {
namespace {

// Magic numbers as they stand in files of network byte order.
constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4, kNanoseconds = 0xa1b23c4d, kPcapngMagic = 0x0a0d0d0a;
constexpr std::uint32_t swapped(std::uint32_t value) {
  return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
}

/// pcap (draft-ietf-opsawg-pcap): a header, then packets.
class PcapSource final : public PcapReader::Source {
 public:
  PcapSource(std::istream& in, std::uint32_t magic)
      : Source(in),
        is_little_(magic == swapped(kMicroseconds) || magic == swapped(kNanoseconds)),
        is_nano_(magic == kNanoseconds || magic == swapped(kNanoseconds)) {
    position_ = sizeof magic;
  }

  Result<void> read_header() {
    if (!fill(20)) return damaged("the file ends inside of its header");
    FileReader header(buffer_, is_little_);
    header.skip(16);
    // The upper bits say whether frames have a check sequence behind them, which IP's length cuts off.
    link_ = static_cast<LinkType>(header.u32() & 0x0fff'ffff);
    if (!is_known(link_))
      return damaged(std::format("link type {} is not known", static_cast<unsigned>(link_)));
    return {};
  }

  Result<std::optional<CapturedFrame>> next() override {
    if (!fill(16)) return std::nullopt;
    FileReader header(buffer_, is_little_);
    CapturedFrame frame;
    frame.link = link_;
    const std::uint64_t seconds = header.u32(), fraction = header.u32();
    frame.packet.time_ns = seconds * 1'000'000'000 + fraction * (is_nano_ ? 1 : 1000);
    const auto captured = header.u32();
    frame.wire_bytes = header.u32();
    if (captured > kMaxBlockBytes) return damaged("a packet of more than 16 MiB");
    if (!fill(captured)) {
      counts.ends_early = true;
      return std::nullopt;
    }
    frame.bytes = buffer_;
    return frame;
  }

 private:
  bool is_little_, is_nano_;
  LinkType link_ = LinkType::Raw;
};

}  // namespace

bool PcapReader::Source::fill(std::size_t length, std::size_t kept) {
  // In steps: a length that the file does not keep takes no memory.
  constexpr std::size_t kStep = 64 << 10;
  std::size_t got = 0;
  buffer_.resize(kept);
  while (got < length) {
    const auto step = std::min(length - got, kStep);
    buffer_.resize(kept + got + step);
    in_.read(reinterpret_cast<char*>(buffer_.data() + kept + got), static_cast<std::streamsize>(step));
    const auto read = static_cast<std::size_t>(in_.gcount());
    got += read;
    if (read < step) break;
  }
  position_ += got;
  if (got == length) return true;
  if (got > 0) counts.ends_early = true;
  return false;
}

void PcapReader::Source::skip(std::uint64_t length) {
  in_.ignore(static_cast<std::streamsize>(length));
  const auto got = static_cast<std::uint64_t>(in_.gcount());
  position_ += got;
  if (got < length) counts.ends_early = true;
}

std::unexpected<Error> PcapReader::Source::damaged(std::string_view what) const {
  return fail(std::format("capture is damaged before octet {}: {}", position_, what));
}

Result<std::unique_ptr<PcapReader::Source>> open_pcap(std::istream& in, BytesView magic) {
  auto source = std::make_unique<PcapSource>(in, ByteReader(magic).u32());
  if (auto header = source->read_header(); !header) return std::unexpected(header.error());
  return source;
}

Result<PcapReader> PcapReader::open(std::istream& in) {
  Bytes magic(4);
  in.read(reinterpret_cast<char*>(magic.data()), 4);
  const auto number = ByteReader(BytesView(magic).first(static_cast<std::size_t>(in.gcount()))).u32();
  const auto is_one_of = [&](std::initializer_list<std::uint32_t> values) {
    return std::ranges::find(values, number) != values.end();
  };
  if (is_one_of({kMicroseconds, kNanoseconds, swapped(kMicroseconds), swapped(kNanoseconds)})) {
    auto source = open_pcap(in, magic);
    if (!source) return std::unexpected(source.error());
    return PcapReader(std::move(*source));
  }
  if (number != kPcapngMagic) return fail("not a capture: neither pcap nor pcapng");
  auto source = open_pcapng(in);
  if (!source) return std::unexpected(source.error());
  return PcapReader(std::move(*source));
}

PcapReader::PcapReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
PcapReader::PcapReader(PcapReader&&) noexcept = default;
PcapReader& PcapReader::operator=(PcapReader&&) noexcept = default;
PcapReader::~PcapReader() = default;

Result<std::optional<CapturedPacket>> PcapReader::next() {
  while (true) {
    auto frame = source_->next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) return std::nullopt;
    auto& found = **frame;
    found.packet.number = ++source_->counts.frames;
    const auto packet = strip_link_header(found.link, found.bytes, found.wire_bytes);
    if (!packet) {
      ++source_->counts.not_ip;
      continue;
    }
    found.packet.bytes = packet->bytes;
    found.packet.ip_bytes = packet->ip_bytes;
    return std::move(found.packet);
  }
}

const KeyLog& PcapReader::keys() const {
  return source_->keys;
}
const CaptureCounts& PcapReader::counts() const {
  return source_->counts;
}

}  // namespace doxlab::dissect
