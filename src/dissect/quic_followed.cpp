#include "dissect/quic_followed.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

// Far more than an active_connection_id_limit that anybody grants.
constexpr std::size_t kMaxIds = 256;
/// RFC 9000 §10.3.
constexpr std::size_t kMinResetBytes = 21;

bool is_among(const std::vector<Bytes>& known, BytesView id) {
  return std::ranges::any_of(known, [&](const Bytes& other) { return std::ranges::equal(other, id); });
}

}  // namespace

void FollowedQuic::add_id(link::Direction towards, BytesView id) {
  auto& ids = ids_[side(towards)];
  if (ids.size() < kMaxIds && !is_among(ids, id)) ids.push_back(to_bytes(id));
}

void FollowedQuic::add_reset_token(link::Direction from, BytesView token) {
  auto& tokens = reset_tokens_[side(from)];
  if (tokens.size() < kMaxIds && token.size() == kResetTokenBytes) tokens.push_back(to_bytes(token));
}

bool FollowedQuic::has_path(const SocketAddress& source, const SocketAddress& destination,
                            link::Direction& direction) const {
  const bool to_server = source == client && destination == server;
  if (!to_server && (source != server || destination != client)) return false;
  direction = to_server ? link::Direction::ToServer : link::Direction::ToClient;
  return true;
}

bool FollowedQuic::has_id(link::Direction towards, BytesView id) const {
  if (is_among(ids_[side(towards)], id)) return true;
  return towards == link::Direction::ToServer && is_among(protection.origins(), id);
}

std::size_t FollowedQuic::short_id_bytes(link::Direction towards, BytesView datagram) const {
  const auto& ids = ids_[side(towards)];
  const auto rest = datagram.subspan(std::min<std::size_t>(1, datagram.size()));
  for (const auto& id : ids)
    if (!id.empty() && rest.size() >= id.size() && std::ranges::equal(rest.first(id.size()), id))
      return id.size();
  return ids.empty() ? 0 : ids.back().size();
}

bool FollowedQuic::is_stateless_reset(link::Direction direction, BytesView datagram) const {
  return datagram.size() >= kMinResetBytes &&
         is_among(reset_tokens_[side(direction)], datagram.last(kResetTokenBytes));
}

std::optional<TlsRandom> FollowedQuic::find_client_random(const QuicFrame& frame, BytesView data) {
  constexpr std::size_t kRandomAt = 6;  // message header, legacy_version
  TlsRandom random;
  // Only its beginning is kept here.
  if (frame.stream_offset >= kRandomAt + random.size()) return std::nullopt;
  const auto room = kRandomAt + random.size() - frame.stream_offset;
  client_initial_.add(frame.stream_offset, data.first(std::min<std::size_t>(data.size(), room)), 0);
  const auto begin = client_initial_.prefix();
  if (begin.size() < kRandomAt + random.size() ||
      begin[0] != static_cast<std::uint8_t>(HandshakeType::ClientHello))
    return std::nullopt;
  std::ranges::copy(begin.subspan(kRandomAt, random.size()), random.begin());
  return random;
}

}  // namespace doxlab::dissect
