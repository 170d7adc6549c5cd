#include "dissect/quic.hpp"

#include <algorithm>
#include <deque>

#include "dissect/limits.hpp"
#include "dissect/quic_followed.hpp"

namespace doxlab::dissect {
namespace {

using link::Direction;

/// A client pads its first Initial to this (RFC 9000 §14.1), whatever its version.
constexpr std::size_t kMinInitialBytes = 1200;
constexpr std::size_t kMaxConnections = 1000;

BytesView part_of(BytesView bytes, Span span) {
  return bytes.subspan(span.offset, span.length);
}

Span moved(Span span, std::uint32_t by) {
  return span.length == 0 ? Span{} : Span{span.offset + by, span.length};
}

/// True if the packet opens with the keys of its own connection ID: then a client makes a new connection.
bool begins_connection(BytesView packet, const QuicHeader& header) {
  QuicProtection protection;
  protection.add_origin(part_of(packet, header.destination_id));
  return protection.open(packet, header, header.version, Direction::ToServer).has_value();
}

bool carries_stream(const QuicFrame& frame) {
  return !frame.is_malformed && (frame.is_stream() || frame.type == kFrameCrypto);
}

/// The end that asked first, if ports do not tell.
Direction guess_direction(const QuicDatagram& datagram) {
  if (datagram.direction) return *datagram.direction;
  constexpr std::uint16_t kFirstUserPort = 1024;
  const bool from_service =
      datagram.source.port < kFirstUserPort && datagram.destination.port >= kFirstUserPort;
  return from_service ? Direction::ToClient : Direction::ToServer;
}

}  // namespace

struct QuicDissector::State {
  State(const KeyLog& key_log, MemoryBudget& memory_budget, std::vector<HandshakeMessage>& handshake)
      : keys(key_log), budget(memory_budget), messages(handshake) {}

  /// A packet before finish(): what is needed to open it later, or what came out of it.
  struct Kept {
    BytesView octets;
    QuicHeader header;
    Bytes payload;
    std::optional<Timestamp> delivered;
  };

  const KeyLog& keys;
  MemoryBudget& budget;
  std::vector<HandshakeMessage>& messages;
  std::deque<FollowedQuic> followed;  // beside QuicDissector::connections
  std::vector<Kept> kept;             // beside QuicDissector::packets

  std::optional<std::uint32_t> find(const QuicDatagram& datagram, Direction& direction) const;
  std::uint32_t connect(QuicDissector& out, const QuicDatagram& datagram, const QuicHeader& header,
                        Direction direction);
  void learn(QuicDissector& out, const QuicPacket& packet, const Kept& raw);
  bool open(QuicDissector& out, std::size_t index);
  void learn_from_frame(QuicDissector& out, const QuicPacket& packet, const QuicFrame& frame,
                        BytesView octets);
  void fill_streams(QuicDissector& out);
  QuicStreamSide* find_stream(QuicDissector& out, const QuicPacket& packet, const QuicFrame& frame);
  void take_data(QuicDissector& out, const QuicPacket& packet, QuicFrame& frame, BytesView data);
  void note_deliveries(QuicDissector& out);
};

QuicDissector::QuicDissector(const KeyLog& keys, MemoryBudget& budget,
                             std::vector<HandshakeMessage>& messages)
    : state_(std::make_unique<State>(keys, budget, messages)) {}
QuicDissector::~QuicDissector() = default;

// By addresses and ID, then by addresses alone, newest first; then by ID alone, for a client that has moved.
std::optional<std::uint32_t> QuicDissector::State::find(const QuicDatagram& datagram,
                                                        Direction& direction) const {
  std::optional<std::uint32_t> on_path;
  auto on_path_direction = direction;
  const auto header =
      has_long_header(datagram.payload) ? read_quic_header(datagram.payload, 0) : std::nullopt;
  const auto id = header ? part_of(datagram.payload, header->destination_id) : BytesView();
  for (auto i = followed.size(); i-- > 0;) {
    const auto& connection = followed[i];
    Direction here;
    if (!connection.has_path(datagram.source, datagram.destination, here)) continue;
    if (datagram.direction) here = *datagram.direction;
    const auto bytes = connection.short_id_bytes(here, datagram.payload);
    const auto short_id = datagram.payload.size() > bytes ? datagram.payload.subspan(1, bytes) : BytesView();
    const bool matches = connection.has_id(here, header ? id : short_id);
    if (matches || !on_path) {
      on_path = static_cast<std::uint32_t>(i);
      on_path_direction = here;
    }
    if (matches) break;
  }
  if (on_path) {
    direction = on_path_direction;
    return on_path;
  }
  for (auto i = followed.size(); i-- > 0;) {
    for (const auto towards : kDirections) {
      const auto bytes = followed[i].short_id_bytes(towards, datagram.payload);
      const auto used = header                            ? id
                        : datagram.payload.size() > bytes ? datagram.payload.subspan(1, bytes)
                                                          : BytesView();
      if (used.empty() || !followed[i].has_id(towards, used)) continue;
      direction = datagram.direction.value_or(towards);
      return static_cast<std::uint32_t>(i);
    }
  }
  return std::nullopt;
}

std::uint32_t QuicDissector::State::connect(QuicDissector& out, const QuicDatagram& datagram,
                                            const QuicHeader& header, Direction direction) {
  const bool to_server = direction == Direction::ToServer;
  auto& memory = followed.emplace_back(budget);
  memory.client = to_server ? datagram.source : datagram.destination;
  memory.server = to_server ? datagram.destination : datagram.source;
  auto& connection = out.connections.emplace_back();
  connection.client = memory.client;
  connection.server = memory.server;
  connection.original_version = connection.version = header.version;
  if (to_server) {
    connection.original_destination_id = to_bytes(part_of(datagram.payload, header.destination_id));
    memory.protection.add_origin(connection.original_destination_id);
  }
  return static_cast<std::uint32_t>(out.connections.size() - 1);
}

bool QuicDissector::add(const QuicDatagram& datagram) {
  auto& state = *state_;
  if (datagram.payload.empty()) return false;
  auto direction = guess_direction(datagram);
  auto connection = state.find(datagram, direction);
  auto header = read_quic_header(datagram.payload, 0);
  if (has_long_header(datagram.payload)) {
    if (!header) return false;
    const bool is_initial = header->type == QuicPacketType::Initial;
    const bool is_known = connection && state.followed[*connection].has_id(
                                            direction, part_of(datagram.payload, header->destination_id));
    const bool begins = is_initial && !is_known && begins_connection(datagram.payload, *header);
    if (begins && !datagram.direction) direction = Direction::ToServer;
    const bool may_begin = header->type == QuicPacketType::UnknownVersion
                               ? datagram.payload.size() >= kMinInitialBytes
                               : header->type != QuicPacketType::VersionNegotiation;
    if ((begins || (!connection && may_begin)) && connections.size() < kMaxConnections)
      connection = state.connect(*this, datagram, *header, direction);
  }
  if (!connection) return false;

  const auto& followed = state.followed[*connection];
  const auto before = packets.size();
  for (std::uint32_t at = 0; at < datagram.payload.size();) {
    const auto rest = datagram.payload.subspan(at);
    header = read_quic_header(rest, followed.short_id_bytes(direction, rest));
    // Behind a whole packet: padding outside of packets, or what no receiver could read.
    if (!header || (at > 0 && !has_long_header(rest) && (rest[0] & 0x40) == 0)) break;
    QuicPacket packet;
    packet.packet = datagram.packet;
    packet.connection = *connection;
    packet.direction = direction;
    packet.type = header->type;
    packet.version = has_long_header(rest) ? header->version : connections[*connection].version;
    packet.offset = datagram.offset + at;
    packet.length = header->length;
    packet.destination_id = moved(header->destination_id, packet.offset);
    packet.source_id = moved(header->source_id, packet.offset);
    packet.token = moved(header->token, packet.offset);
    packet.header_length = header->packet_number_offset;
    packets.push_back(packet);
    state.kept.push_back({rest.first(header->length), *header, {}, datagram.delivered});
    state.learn(*this, packets.back(), state.kept.back());
    state.open(*this, packets.size() - 1);
    at += header->length;
  }
  return packets.size() > before;
}

void QuicDissector::State::learn(QuicDissector& out, const QuicPacket& packet, const Kept& raw) {
  auto& memory = followed[packet.connection];
  auto& connection = out.connections[packet.connection];
  if (!has_long_header(raw.octets) || packet.type == QuicPacketType::VersionNegotiation) return;
  const auto source_id = part_of(raw.octets, raw.header.source_id);
  if (packet.type == QuicPacketType::Retry) {
    for (const auto& origin : memory.protection.origins())
      out.packets.back().is_retry_authentic |= is_retry_authentic(raw.octets, packet.version, origin);
    connection.has_retry = true;
    memory.protection.add_origin(source_id);
  }
  memory.add_id(link::opposite(packet.direction), source_id);
}

bool QuicDissector::State::open(QuicDissector& out, std::size_t index) {
  auto& packet = out.packets[index];
  auto& memory = followed[packet.connection];
  auto& connection = out.connections[packet.connection];
  auto& raw = kept[index];
  if (out.frames.size() >= kMostItems) return false;
  const auto version = has_long_header(raw.octets) ? packet.version : connection.version;
  auto opened = memory.protection.open(raw.octets, raw.header, version, packet.direction);
  if (!opened) return false;
  packet.is_decrypted = true;
  packet.version = version;
  packet.packet_number = opened->header.packet_number;
  packet.packet_number_bytes = opened->header.packet_number_bytes;
  packet.key_phase = packet.type == QuicPacketType::OneRtt && opened->header.key_phase();
  packet.header_length = raw.header.packet_number_offset + packet.packet_number_bytes;
  raw.payload = std::move(opened->payload);
  // The server chooses: its packets, and all Handshake packets, have the negotiated version.
  if (packet.type == QuicPacketType::Handshake ||
      (packet.type == QuicPacketType::Initial && packet.direction == Direction::ToClient))
    connection.version = packet.version;
  auto frames = read_quic_frames(raw.payload, packet.offset + packet.header_length);
  packet.first_frame = static_cast<std::uint32_t>(out.frames.size());
  packet.frames = static_cast<std::uint32_t>(frames.size());
  for (auto& frame : frames) {
    frame.unit = static_cast<std::uint32_t>(index);
    const auto begin = frame.offset - packet.offset - packet.header_length;
    learn_from_frame(out, packet, frame, BytesView(raw.payload).subspan(begin, frame.length));
    out.frames.push_back(std::move(frame));
  }
  return true;
}

void QuicDissector::State::learn_from_frame(QuicDissector& out, const QuicPacket& packet,
                                            const QuicFrame& frame, BytesView octets) {
  auto& memory = followed[packet.connection];
  auto& connection = out.connections[packet.connection];
  if (frame.is_malformed) return;
  if (frame.type == kFrameNewConnectionId) {
    const auto given = read_new_connection_id(octets);
    memory.add_id(link::opposite(packet.direction), given.id);
    memory.add_reset_token(packet.direction, given.stateless_reset_token);
  }
  if (frame.type != kFrameCrypto || packet.type != QuicPacketType::Initial || connection.client_random ||
      packet.direction != Direction::ToServer)
    return;
  connection.client_random = memory.find_client_random(frame, octets.last(frame.data_length));
  if (!connection.client_random) return;
  if (const auto* secrets = keys.find(*connection.client_random)) {
    memory.protection.set_secrets(*secrets);
    connection.has_secrets = true;
  }
}

void QuicDissector::finish() {
  auto& state = *state_;
  for (std::size_t i = 0; i < packets.size(); ++i)
    if (!packets[i].is_decrypted) state.open(*this, i);
  state.fill_streams(*this);
  state.note_deliveries(*this);
  for (std::uint32_t c = 0; c < connections.size(); ++c) {
    auto& connection = connections[c];
    read_crypto_streams(connection, c, state.messages);
    if (const auto& answer = connection.hellos.encrypted_extensions)
      state.followed[c].add_reset_token(Direction::ToClient, find_reset_token(answer->transport_parameters));
  }
  for (std::size_t i = 0; i < packets.size(); ++i) {
    auto& packet = packets[i];
    if (packet.is_decrypted || packet.type != QuicPacketType::OneRtt) continue;
    if (state.followed[packet.connection].is_stateless_reset(packet.direction, state.kept[i].octets))
      packet.type = QuicPacketType::StatelessReset;
  }
  state.kept.clear();
}

void QuicDissector::State::fill_streams(QuicDissector& out) {
  for (std::size_t i = 0; i < out.packets.size(); ++i) {
    const auto& packet = out.packets[i];
    for (std::uint32_t f = packet.first_frame; f < packet.first_frame + packet.frames; ++f) {
      auto& frame = out.frames[f];
      if (!carries_stream(frame)) continue;
      const auto begin = frame.offset + frame.header_length() - packet.offset - packet.header_length;
      take_data(out, packet, frame, BytesView(kept[i].payload).subspan(begin, frame.data_length));
    }
  }
}

/// Null: there are more streams than are followed.
QuicStreamSide* QuicDissector::State::find_stream(QuicDissector& out, const QuicPacket& packet,
                                                  const QuicFrame& frame) {
  auto& connection = out.connections[packet.connection];
  const auto at = side(packet.direction);
  const auto in = [&](auto& streams, auto id) -> QuicStreamSide* {
    const auto found = streams.find(id);
    if (found != streams.end()) return &found->second[at];
    if (streams.size() >= QuicConnection::kMaxStreams) return nullptr;
    return &streams.try_emplace(id, QuicStream{QuicStreamSide(budget), QuicStreamSide(budget)})
                .first->second[at];
  };
  return frame.type == kFrameCrypto ? in(connection.crypto, epoch_of(packet.type))
                                    : in(connection.streams, frame.stream_id);
}

void QuicDissector::State::take_data(QuicDissector& out, const QuicPacket& packet, QuicFrame& frame,
                                     BytesView data) {
  auto* stream = find_stream(out, packet, frame);
  if (stream == nullptr) return;
  stream->has_fin |= frame.fin;
  const ByteRange range{frame.stream_offset, frame.stream_end()};
  frame.repeated = rest_of(range, stream->data.add(range.begin, data, packet.packet));
}

void QuicDissector::State::note_deliveries(QuicDissector& out) {
  std::vector<std::size_t> arrived;
  for (std::size_t i = 0; i < out.packets.size(); ++i)
    if (kept[i].delivered) arrived.push_back(i);
  std::ranges::stable_sort(arrived, {}, [&](std::size_t i) { return *kept[i].delivered; });
  for (const auto i : arrived) {
    const auto& packet = out.packets[i];
    for (std::uint32_t f = packet.first_frame; f < packet.first_frame + packet.frames; ++f) {
      const auto& frame = out.frames[f];
      auto* stream = carries_stream(frame) ? find_stream(out, packet, frame) : nullptr;
      if (stream != nullptr)
        stream->delivered_by.claim({frame.stream_offset, frame.stream_end()}, packet.packet);
    }
  }
}

}  // namespace doxlab::dissect
