#pragma once
/// Builds DNS messages by hand, also malformed ones, for tests of dns and resolver.

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"

namespace doxlab::testing {

struct Counts {
  std::uint16_t questions = 0, answers = 0, authorities = 0, additionals = 0;
};

class WireBuilder {
 public:
  WireBuilder(std::uint16_t id, std::uint16_t flags, Counts counts) {
    out_.u16(id);
    out_.u16(flags);
    u16(counts.questions).u16(counts.answers).u16(counts.authorities).u16(counts.additionals);
  }
  WireBuilder& u16(std::size_t value) { return out_.u16(static_cast<std::uint16_t>(value)), *this; }
  WireBuilder& raw(BytesView bytes) { return out_.append(bytes), *this; }
  WireBuilder& raw(std::initializer_list<std::uint8_t> bytes) { return raw(BytesView(bytes.begin(), bytes.size())); }
  WireBuilder& name(std::string_view text) { return raw(dns::name_to_wire(text).value()); }
  WireBuilder& pointer(std::size_t target) { return u16(0xc000 | target); }
  WireBuilder& question(std::string_view text, std::uint16_t type, std::uint16_t klass = 1) {
    return name(text).u16(type).u16(klass);
  }
  /// Type, class IN, TTL, rdata length and rdata; the owner goes before it.
  WireBuilder& record(std::uint16_t type, std::uint32_t ttl, BytesView rdata) {
    return u16(type).u16(1).u16(ttl >> 16).u16(ttl & 0xffff).u16(rdata.size()).raw(rdata);
  }
  WireBuilder& record(std::uint16_t type, std::uint32_t ttl, std::initializer_list<std::uint8_t> rdata) {
    return record(type, ttl, BytesView(rdata.begin(), rdata.size()));
  }
  /// An OPT record of the root. `ttl` carries extended RCODE, version and flags.
  WireBuilder& opt(std::uint16_t udp_size, std::uint32_t ttl = 0, BytesView options = {}) {
    raw({0});
    return u16(dns::kTypeOpt).u16(udp_size).u16(ttl >> 16).u16(ttl & 0xffff).u16(options.size()).raw(options);
  }
  std::size_t size() const { return out_.size(); }
  const Bytes& bytes() const { return out_.bytes(); }

 private:
  ByteWriter out_;
};

inline Bytes option(std::uint16_t code, BytesView data) {
  ByteWriter out;
  out.u16(code);
  out.u16(static_cast<std::uint16_t>(data.size()));
  out.append(data);
  return out.take();
}

inline Bytes join(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// DOXLAB_SEED, or a fresh one; tests print it.
inline std::uint64_t test_seed() {
  if (const char* given = std::getenv("DOXLAB_SEED")) return std::strtoull(given, nullptr, 10);
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

/// Changes a message in one of the ways that break parsers: flipped bits, cuts, copies, inserts, wild
/// counts, stray pointers.
inline void mutate(Bytes& message, std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const auto octet = [&] { return static_cast<std::uint8_t>(random()); };
  if (message.empty()) message.push_back(octet());
  const auto at = below(message.size());
  switch (below(7)) {
    case 0: message[at] = static_cast<std::uint8_t>(message[at] ^ (1u << below(8))); break;
    case 1: message[at] = octet(); break;
    case 2: message.resize(at); break;
    case 3: message.insert(message.begin() + static_cast<std::ptrdiff_t>(at), octet()); break;
    case 4: {
      const auto length = std::min<std::size_t>(below(64), message.size() - at);
      const Bytes piece(message.begin() + static_cast<std::ptrdiff_t>(at),
                        message.begin() + static_cast<std::ptrdiff_t>(at + length));
      message.insert(message.begin() + static_cast<std::ptrdiff_t>(below(message.size())), piece.begin(), piece.end());
      break;
    }
    case 5:
      if (message.size() >= dns::kHeaderOctets) message[4 + below(8)] = octet();
      break;
    default:
      if (at + 1 < message.size()) {
        message[at] = static_cast<std::uint8_t>(0xc0 | below(4));
        message[at + 1] = octet();
      }
  }
}

}  // namespace doxlab::testing
