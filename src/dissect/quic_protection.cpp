#include "dissect/quic_protection.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

constexpr std::size_t kMaxOrigins = 8;

std::optional<OpenedQuicPacket> try_keys(QuicKeys& keys, BytesView packet, const QuicHeader& header,
                                         std::uint64_t& expected) {
  const auto plain = unprotect_header(keys, packet, header, expected);
  if (!plain) return std::nullopt;
  auto payload = open_packet(keys, packet, header, *plain);
  if (!payload) return std::nullopt;
  expected = std::max(expected, plain->packet_number + 1);
  return OpenedQuicPacket{*plain, std::move(*payload)};
}

}  // namespace

void QuicProtection::add_origin(BytesView client_destination_id) {
  if (origins_.size() < kMaxOrigins && !std::ranges::any_of(origins_, [&](const Bytes& id) {
        return std::ranges::equal(id, client_destination_id);
      }))
    origins_.push_back(to_bytes(client_destination_id));
}

QuicProtection::InitialKeys& QuicProtection::initial_keys(std::uint32_t version, std::size_t origin) {
  for (auto& known : initial_)
    if (known.version == version && known.origin == origin) return known;
  const auto secrets = initial_secrets(version, origins_[origin]);
  return initial_.emplace_back(InitialKeys{
      version,
      origin,
      {QuicKeys(version, Cipher::Aes128Gcm, secrets[0]), QuicKeys(version, Cipher::Aes128Gcm, secrets[1])}});
}

std::optional<OpenedQuicPacket> QuicProtection::open_initial(BytesView packet, const QuicHeader& header,
                                                             link::Direction direction) {
  // The newest first: after a Retry the older ones are not used any more.
  for (auto origin = origins_.size(); origin-- > 0;) {
    auto& keys = initial_keys(header.version, origin).keys[side(direction)];
    if (auto opened = try_keys(keys, packet, header, expected_[0][side(direction)])) return opened;
  }
  return std::nullopt;
}

std::optional<OpenedQuicPacket> QuicProtection::open_level(Level& level, const Bytes& secret,
                                                           std::uint32_t version, BytesView packet,
                                                           const QuicHeader& header,
                                                           std::uint64_t& expected) {
  if (!level.is_settled && (level.candidates.empty() || level.candidates.front().version != version)) {
    level.candidates.clear();
    for (const auto cipher : ciphers_of_secret(secret.size()))
      level.candidates.emplace_back(version, cipher, secret);
  }
  for (std::size_t i = 0; i < level.candidates.size(); ++i) {
    auto opened = try_keys(level.candidates[i], packet, header, expected);
    if (!opened) continue;
    if (!level.is_settled) {
      auto right = std::move(level.candidates[i]);
      level.candidates.clear();
      level.candidates.push_back(std::move(right));
      level.is_settled = true;
    }
    return opened;
  }
  return std::nullopt;
}

// RFC 9001 §6: the bit tells that keys changed, and which of two key phases a packet belongs to.
std::optional<OpenedQuicPacket> QuicProtection::open_other_phase(Level& level, Phases& phases,
                                                                 BytesView packet, const QuicHeader& header,
                                                                 std::uint64_t& expected) {
  auto& current = level.candidates.front();
  const auto plain = unprotect_header(current, packet, header, expected);
  if (!plain || plain->key_phase() == phases.current) return std::nullopt;
  if (!phases.next) phases.next = current.updated();
  if (auto opened = try_keys(*phases.next, packet, header, expected)) {
    phases.previous = std::move(current);
    current = std::move(*phases.next);
    phases.next.reset();
    phases.current = !phases.current;
    return opened;
  }
  return phases.previous ? try_keys(*phases.previous, packet, header, expected) : std::nullopt;
}

std::optional<OpenedQuicPacket> QuicProtection::open(BytesView packet, const QuicHeader& header,
                                                     std::uint32_t version, link::Direction direction) {
  const bool to_server = direction == link::Direction::ToServer;
  if (header.type == QuicPacketType::Initial) return open_initial(packet, header, direction);
  if (secrets_ == nullptr) return std::nullopt;
  switch (header.type) {
    case QuicPacketType::Handshake:
      return open_level(handshake_[side(direction)],
                        to_server ? secrets_->client_handshake : secrets_->server_handshake, version, packet,
                        header, expected_[1][side(direction)]);
    case QuicPacketType::ZeroRtt:
      if (!to_server) return std::nullopt;
      return open_level(early_, secrets_->client_early, version, packet, header, expected_[2][0]);
    case QuicPacketType::OneRtt: {
      auto& level = application_[side(direction)];
      auto& expected = expected_[2][side(direction)];
      if (auto opened =
              open_level(level, to_server ? secrets_->client_application : secrets_->server_application,
                         version, packet, header, expected))
        return opened;
      if (!level.is_settled) return std::nullopt;
      return open_other_phase(level, phases_[side(direction)], packet, header, expected);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace doxlab::dissect
