#include "experiment/foreign_flows.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <format>
#include <map>

#include "base/bytes.hpp"
#include "dissect/flow.hpp"

namespace doxlab::experiment {
namespace {

using capture::RecordedPacket;
using dissect::Dissection;
using dissect::TileKind;
using link::Direction;

/// One connection, or the datagrams between two sockets.
struct Conversation {
  capture::Protocol protocol = capture::Protocol::Other;
  SocketAddress client, server;
  std::optional<Transport> transport;
  Timestamp first_sent = Timestamp::max();  ///< by the client, of the packets proper, not of those before
  Timestamp last_data{};                    ///< the client's last packet that is more than an acknowledgement
  bool asks_question = false, asks_other = false;  ///< DNS queries that could be read
  std::optional<Timestamp> question_sent;   ///< the first packet with the question
  Timestamp other_answered = Timestamp::max();  ///< the first arrival of an answer to another question

  bool is_between(const capture::PacketHeaders& headers, Direction direction) const {
    const bool asks = direction == Direction::ToServer;
    return protocol == headers.protocol && client == (asks ? headers.source : headers.destination) &&
           server == (asks ? headers.destination : headers.source);
  }
};

bool has_data(const RecordedPacket& packet) {
  const auto headers = capture::parse_headers(packet.bytes);
  return headers && (!headers->payload.empty() || (headers->tcp_flags & dissect::kTcpSyn) != 0);
}

/// The index of a packet's conversation, and of a new one if it begins one; of a packet that has none, the next after all.
std::size_t conversation_of(const RecordedPacket& packet, std::vector<Conversation>& all) {
  const auto headers = capture::parse_headers(packet.bytes);
  if (!headers) return all.size();
  const auto direction = packet.place.direction;
  const auto found = std::ranges::find_if(all, [&](const Conversation& c) { return c.is_between(*headers, direction); });
  const auto index = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) {
    const bool asks = direction == Direction::ToServer;
    all.push_back({.protocol = headers->protocol,
                   .client = asks ? headers->source : headers->destination,
                   .server = asks ? headers->destination : headers->source,
                   .transport = {}});
  }
  return index;
}

std::string without_dot(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return name;
}

bool is_octets_of_message(TileKind kind) {
  using enum TileKind;
  return kind == DnsHeader || kind == DnsQuestion || kind == DnsRecord || kind == DnsOpt || kind == DnsPadding;
}

/// An answer to the question, as far as it has arrived.
struct FoundAnswer {
  std::size_t conversation = 0;
  std::optional<std::uint32_t> message;  ///< empty: one of DNSCrypt
  dissect::RangeOwners arrived;          ///< octets of the message
  std::uint64_t stream_end = 0;          ///< TCP: behind its last octet, in the stream
  std::uint32_t tcp_connection = dissect::kNone;
  std::optional<Timestamp> when;         ///< whole
  bool is_truncated = false;
};

/// When all was there that the answer needed: TCP hands octets over in order, and of a TLS record nothing is readable before
/// its end. Empty: some of it never arrived.
std::optional<Timestamp> readable_at(const Dissection& dissection, std::span<const dissect::ObservedPacket> observed,
                                     const FoundAnswer& answer) {
  auto end = answer.stream_end;
  const auto is_holding_end = [&](const dissect::TlsRecord& record) {
    return record.connection == answer.tcp_connection && record.direction == Direction::ToClient && record.stream_offset < end &&
           end <= record.stream_offset + record.length;
  };
  if (const auto record = std::ranges::find_if(dissection.records, is_holding_end); record != dissection.records.end())
    end = record->stream_offset + record->length;
  const auto& delivered_by = dissection.tcp_connections[answer.tcp_connection].delivered_by[dissect::side(Direction::ToClient)];
  if (!delivered_by.covers({0, end})) return std::nullopt;
  std::optional<Timestamp> when;
  for (const auto& owned : delivered_by.all())
    if (owned.range.begin < end) when = std::max(when, observed[owned.owner].delivered);
  return when;
}

class Recognition {
 public:
  Recognition(Sample& sample, const ForeignQuestion& question, const TransportAt& transport_at)
      : sample_(sample), question_(question), transport_at_(transport_at), before_(sample.opening.size()) {
    all_ = std::move(sample.opening);
    all_.insert(all_.end(), std::move_iterator(sample.packets.begin()), std::move_iterator(sample.packets.end()));
    sample.packets.clear();
    sample.opening.clear();
  }

  bool run() {
    const auto observed = dissect::observe(all_);
    dissect::KeyLog keys;
    keys.add(sample_.key_log);
    const auto dissection = dissect::dissect(observed, keys);
    sort_into_conversations();
    find_questions(dissection);
    find_answers(dissection, observed);
    const auto* answer = choose_answer();
    choose_lookup(answer);
    split();
    if (answer != nullptr) describe_answer(dissection, *answer);
    describe_handshake(dissection, observed);
    return std::ranges::contains(is_lookup_, true);
  }

 private:
  void sort_into_conversations() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      owner_.push_back(conversation_of(all_[i], conversations_));
      if (owner_[i] == conversations_.size() || i < before_) continue;
      if (all_[i].place.direction == Direction::ToClient) continue;
      auto& here = conversations_[owner_[i]];
      here.first_sent = std::min(here.first_sent, all_[i].sent);
      if (has_data(all_[i])) here.last_data = std::max(here.last_data, all_[i].sent);
    }
    for (auto& one : conversations_) one.transport = transport_at_(one.protocol, one.server);
    is_lookup_.assign(conversations_.size(), false);
  }

  bool has_question(const dissect::DnsMessage& message) const {
    return message.is_well_formed && message.qtype == question_.qtype && without_dot(message.qname) == without_dot(question_.qname);
  }

  void find_questions(const Dissection& dissection) {
    for (auto i = before_; i < all_.size(); ++i)
      for (const auto& tile : dissection.packets[i].tiles) {
        if (!is_octets_of_message(tile.kind) || tile.item >= dissection.dns_messages.size() || owner_[i] == conversations_.size()) continue;
        const auto& message = dissection.dns_messages[tile.item];
        auto& here = conversations_[owner_[i]];
        if (!message.is_response) (has_question(message) ? here.asks_question : here.asks_other) = true;
        if (!message.is_response && has_question(message) && !here.question_sent) here.question_sent = all_[i].sent;
        if (message.is_response && !has_question(message) && all_[i].delivered)
          here.other_answered = std::min(here.other_answered, *all_[i].delivered);
      }
  }

  void find_answers(const Dissection& dissection, std::span<const dissect::ObservedPacket> observed) {
    std::vector<std::uint32_t> in_order;
    for (auto i = static_cast<std::uint32_t>(before_); i < observed.size(); ++i)
      if (observed[i].delivered && all_[i].place.direction == Direction::ToClient && owner_[i] < conversations_.size()) in_order.push_back(i);
    std::ranges::stable_sort(in_order, {}, [&](std::uint32_t i) { return *observed[i].delivered; });
    for (const auto i : in_order) {
      for (const auto& tile : dissection.packets[i].tiles) note(dissection, i, tile, *observed[i].delivered);
      settle(dissection, observed, *observed[i].delivered);
    }
  }

  void note(const Dissection& dissection, std::uint32_t packet, const dissect::Tile& tile, Timestamp when) {
    const auto conversation = owner_[packet];
    if (tile.kind == TileKind::DnscryptCiphertext) {
      const auto transport = conversations_[conversation].transport;
      if (transport && is_dnscrypt(*transport) && find(conversation, std::nullopt) == nullptr)
        answers_.push_back({.conversation = conversation, .message = {}, .arrived = {}, .when = when});
      return;
    }
    if (!is_octets_of_message(tile.kind) || tile.item >= dissection.dns_messages.size()) return;
    const auto& message = dissection.dns_messages[tile.item];
    if (!message.is_response || !has_question(message)) return;
    auto* answer = find(conversation, tile.item);
    if (answer == nullptr)
      answer = &answers_.emplace_back(FoundAnswer{.conversation = conversation, .message = tile.item, .arrived = {}, .when = {},
                                                  .is_truncated = message.is_truncated});
    answer->arrived.claim({tile.item_offset, std::uint64_t{tile.item_offset} + tile.length}, packet);
    if (const auto segment = dissection.packets[packet].segment; segment != dissect::kNone && dissection.segments[segment].stream_offset) {
      const auto& here = dissection.segments[segment];
      answer->tcp_connection = here.connection;
      answer->stream_end = std::max(answer->stream_end, *here.stream_offset + tile.offset + tile.length - here.payload_offset);
    }
  }

  /// Settles the answers of which everything has arrived by now.
  void settle(const Dissection& dissection, std::span<const dissect::ObservedPacket> observed, Timestamp now) {
    for (auto& answer : answers_) {
      if (answer.when || !answer.arrived.covers({0, dissection.dns_messages[*answer.message].length})) continue;
      answer.when = answer.tcp_connection == dissect::kNone ? now : readable_at(dissection, observed, answer);
    }
  }

  FoundAnswer* find(std::size_t conversation, std::optional<std::uint32_t> message) {
    const auto found = std::ranges::find_if(
        answers_, [&](const FoundAnswer& a) { return a.conversation == conversation && a.message == message; });
    return found == answers_.end() ? nullptr : &*found;
  }

  bool fits(const Conversation& conversation) const {
    if (!conversation.transport) return false;
    return !question_.transport || conversation.transport == question_.transport ||
           conversation.transport == tcp_fallback(*question_.transport);
  }

  const FoundAnswer* choose_answer() const {
    const FoundAnswer* best = nullptr;
    for (const auto& answer : answers_) {
      if (!answer.when || !fits(conversations_[answer.conversation])) continue;
      const auto rank = [](const FoundAnswer& a) { return std::pair(a.is_truncated, *a.when); };
      if (best == nullptr || rank(answer) < rank(*best)) best = &answer;
    }
    return best;
  }

  /// An earlier attempt of the same lookup: it began before the answer came, and brought none but a truncated one. It asked the same
  /// question, or failed before it could ask anything; connections that a client opens side by side are no attempts.
  bool is_attempt(std::size_t index, const FoundAnswer& answer) const {
    const auto &one = conversations_[index], &chosen = conversations_[answer.conversation];
    if (!one.transport || one.first_sent >= *answer.when || one.server.ip != chosen.server.ip) return false;
    if (one.transport != chosen.transport && tcp_fallback(*one.transport) != chosen.transport) return false;
    if (!one.asks_question && (one.asks_other || one.last_data >= chosen.first_sent)) return false;
    return std::ranges::none_of(answers_, [&](const FoundAnswer& a) { return a.conversation == index && a.when && !a.is_truncated; });
  }

  void choose_lookup(const FoundAnswer* answer) {
    for (std::size_t i = 0; i < conversations_.size(); ++i) {
      if (answer != nullptr) is_lookup_[i] = i == answer->conversation || is_attempt(i, *answer);
      else is_lookup_[i] = fits(conversations_[i]) && conversations_[i].first_sent != Timestamp::max();
    }
    if (question_.transport) return;
    // That of the first attempt: of a truncated answer that was asked for again, UDP.
    const Conversation* first = nullptr;
    for (std::size_t i = 0; i < conversations_.size(); ++i)
      if (is_lookup_[i] && (first == nullptr || conversations_[i].first_sent < first->first_sent)) first = &conversations_[i];
    if (first != nullptr) sample_.task.transport = *first->transport;
  }

  /// A connection that has brought answers to other questions before was open: the lookup begins with its question.
  static Timestamp start_on(const Conversation& one) {
    const bool was_open = one.question_sent && one.other_answered <= *one.question_sent;
    return was_open ? *one.question_sent : one.first_sent;
  }

  void split() {
    auto& result = sample_.result;
    result.started = Timestamp::max();
    for (std::size_t i = 0; i < conversations_.size(); ++i)
      if (is_lookup_[i]) result.started = std::min(result.started, start_on(conversations_[i]));
    std::optional<bool> first_is_udp;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool mine = owner_[i] < conversations_.size() && is_lookup_[owner_[i]];
      if (!mine) sample_.beside.push_back(all_[i]);
      else if (i < before_ || all_[i].sent < result.started) sample_.opening.push_back(all_[i]);
      else {
        sample_.packets.push_back(all_[i]);
        const bool udp = conversations_[owner_[i]].protocol == capture::Protocol::Udp;
        if (!first_is_udp) first_is_udp = udp;
        result.used_tcp_fallback = *first_is_udp && !udp;
      }
    }
    std::ranges::stable_sort(sample_.beside, {}, &RecordedPacket::sent);
  }

  void describe_answer(const Dissection& dissection, const FoundAnswer& answer) {
    auto& result = sample_.result;
    result.answered = answer.when;
    if (!answer.message) return;
    const auto& message = dissection.dns_messages[*answer.message];
    constexpr std::uint16_t kResponse = 0x8000, kTruncated = 0x0200;
    ByteWriter header;
    header.u16(message.id);
    header.u16(static_cast<std::uint16_t>(kResponse | (message.is_truncated ? kTruncated : 0) | (message.rcode & 0x0f)));
    for (int i = 0; i < 4; ++i) header.u16(0);
    result.response = header.bytes();
  }

  void describe_handshake(const Dissection& dissection, std::span<const dissect::ObservedPacket> observed) {
    auto& result = sample_.result;
    const dissect::Hellos* hellos = nullptr;
    for (auto i = static_cast<std::uint32_t>(before_); i < observed.size(); ++i) {
      if (owner_[i] >= conversations_.size() || !is_lookup_[owner_[i]]) continue;
      const auto& packet = dissection.packets[i];
      if (packet.segment != dissect::kNone) {
        const auto& segment = dissection.segments[packet.segment];
        if (segment.connection != dissect::kNone)
          if (const auto& tls = dissection.tcp_connections[segment.connection].tls) hellos = &tls->hellos;
        const bool syn_ack = (segment.flags & dissect::kTcpSyn) != 0 && segment.direction == Direction::ToClient;
        if (syn_ack && observed[i].delivered) result.connected = observed[i].delivered;
      }
      if (packet.quic_packets > 0)
        if (const auto c = dissection.quic_packets[packet.first_quic_packet].connection; c != dissect::kNone) {
          hellos = &dissection.quic_connections[c].hellos;
          result.quic_retry = dissection.quic_connections[c].has_retry;
        }
      for (const auto& tile : packet.tiles)
        if (tile.kind == TileKind::TlsHandshake && tile.item < dissection.handshake.size() && observed[i].delivered && !tile.repeated)
          if (const auto& message = dissection.handshake[tile.item];
              message.type == dissect::HandshakeType::Finished && message.carrier.direction == Direction::ToClient)
            result.secured = observed[i].delivered;
    }
    if (hellos != nullptr && hellos->server) result.handshake = handshake_of(*hellos);
  }

  static tls::HandshakeInfo handshake_of(const dissect::Hellos& hellos) {
    constexpr std::pair<std::uint16_t, const char*> kGroups[] = {
        {23, "secp256r1"}, {24, "secp384r1"},  {25, "secp521r1"},        {29, "x25519"},
        {30, "x448"},      {4587, "SecP256r1MLKEM768"}, {4588, "X25519MLKEM768"}, {4589, "SecP384r1MLKEM1024"}};
    constexpr std::pair<std::uint16_t, const char*> kCiphers[] = {{0x1301, "TLS_AES_128_GCM_SHA256"},
                                                                  {0x1302, "TLS_AES_256_GCM_SHA384"},
                                                                  {0x1303, "TLS_CHACHA20_POLY1305_SHA256"}};
    const auto named = [](const auto& names, std::uint16_t number) {
      for (const auto& [known, name] : names)
        if (known == number) return std::string(name);
      return std::format("0x{:04x}", number);
    };
    const auto& server = *hellos.server;
    tls::HandshakeInfo out;
    if (!server.key_shares.empty()) out.group = named(kGroups, server.key_shares.front().group);
    if (!server.cipher_suites.empty()) out.cipher = named(kCiphers, server.cipher_suites.front());
    out.version = "TLSv1.3";
    out.alpn = hellos.alpn();
    out.resumed = server.has_psk;
    out.hello_retry_request = hellos.has_hello_retry_request;
    if (hellos.offered_early_data)
      out.early_data = hellos.accepts_early_data() ? tls::EarlyData::Accepted : tls::EarlyData::Rejected;
    return out;
  }

  Sample& sample_;
  const ForeignQuestion& question_;
  const TransportAt& transport_at_;
  std::size_t before_;
  std::vector<RecordedPacket> all_;
  std::vector<std::size_t> owner_;  // by packet
  std::vector<Conversation> conversations_;
  std::vector<bool> is_lookup_;     // by conversation
  std::vector<FoundAnswer> answers_;
};

}  // namespace

bool recognize_lookup(Sample& sample, const ForeignQuestion& question, const TransportAt& transport_at) {
  return Recognition(sample, question, transport_at).run();
}

std::vector<results::OtherFlow> describe_flows(std::span<const RecordedPacket> packets) {
  std::vector<Conversation> conversations;
  std::vector<results::OtherFlow> out;
  for (const auto& packet : packets) {
    const auto index = conversation_of(packet, conversations);
    if (index == conversations.size() || packet.duplicate) continue;
    if (index == out.size()) {
      const auto& one = conversations[index];
      out.push_back({.protocol = one.protocol == capture::Protocol::Tcp ? "tcp" : "udp", .server = one.server.to_string()});
    }
    auto& flow = out[index];
    const bool asks = packet.place.direction == Direction::ToServer;
    (asks ? flow.pkts_c2s : flow.pkts_s2c) += 1;
    (asks ? flow.bytes_c2s : flow.bytes_s2c) += packet.bytes.size();
    flow.pkts_lost += packet.fate != link::Fate::Delivered;
  }
  return out;
}

}  // namespace doxlab::experiment
