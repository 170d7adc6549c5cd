#include "trace/detectors.hpp"

#include <algorithm>
#include <array>
#include <format>
#include <ranges>

#include "trace/lost_crypto.hpp"
#include "trace/repeats.hpp"
#include "trace/retransmission.hpp"

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::HandshakeType;
using dissect::ObservedPacket;
using dissect::QuicPacketType;
using link::Direction;

constexpr std::uint32_t kLeastInitialBytes = 1200;

constexpr std::array<std::string_view, kFindingCount> kFindings{
    "retry_round_trip",        "amplification_stall",     "certificate_beyond_window", "client_hello_half_lost",
    "lost_crypto_not_resent",  "spurious_retransmission", "initial_not_padded",        "above_path_mtu",
    "early_data_not_used",     "early_data_rejected",     "no_session_ticket",         "closed_before_answer",
    "server_think_time"};

std::string counted(std::size_t n, std::string_view what) { return std::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

class Detectors {
 public:
  Detectors(const Dissection& dissection, std::span<const ObservedPacket> packets, const Causes* causes,
            const Observation& observation)
      : dissection_(dissection), packets_(packets), causes_(causes), observation_(observation),
        carried_(what_they_carried(dissection)) {}

  std::vector<Detected> run() {
    if (causes_ != nullptr) from_causes();
    half_lost_client_hello();
    if (observation_.sees_both_ends) {
      for (auto& found : find_lost_crypto(dissection_, packets_, carried_)) out_.push_back(std::move(found));
      spurious_retransmission();
    }
    unpadded_initial();
    if (!observation_.too_big.empty())
      add(Finding::AbovePathMtu, std::format("The path dropped {} larger than its MTU.",
                                             counted(observation_.too_big.size(), "packet")), observation_.too_big);
    early_data();
    session_ticket();
    closed_before_answer();
    return std::move(out_);
  }

 private:
  void add(Finding finding, std::string sentence, std::vector<std::uint32_t> packets) {
    out_.push_back({finding, std::move(sentence), std::move(packets)});
  }

  void from_causes() {
    for (const auto& trip : causes_->round_trips) {
      if (trip.need == Need::Retry)
        add(Finding::RetryRoundTrip,
            "The server validated the client's address with a Retry, which cost a round trip (RFC 9000 section 8.1.2).",
            {trip.to_server, trip.to_client});
    }
    certificate_beyond_window();
    server_think_time();
    if (const auto& stall = causes_->stall)
      add(Finding::AmplificationStall,
          std::format("The server had {} bytes to send but only {} allowed, three times the {} that it had received, until "
                      "the client's address was validated: {} bytes short, a round trip (RFC 9000 section 8.1).",
                      stall->flight, stall->budget, stall->received, stall->shortfall),
          {stall->stopped_at, stall->released_by});
  }

  void certificate_beyond_window() {
    std::vector<std::uint32_t> evidence;
    std::size_t trips = 0;
    for (const auto& trip : causes_->round_trips) {
      if (trip.need != Need::CongestionWindow || !carried_[trip.to_client].new_handshake) continue;
      evidence.insert(evidence.end(), {trip.to_server, trip.to_client});
      ++trips;
    }
    if (trips == 0) return;
    // Linux starts with one segment once it sent a SYN-ACK twice more.
    const auto before = std::views::iota(std::size_t{0}, std::size_t{evidence.front()});
    const bool lost_syn_ack = std::ranges::any_of(before, [&](std::size_t i) {
      return carried_[i].syn && carried_[i].repeated && packets_[i].direction == Direction::ToClient;
    });
    const auto first_window = std::ranges::count_if(before, [&](std::size_t i) {
      return carried_[i].new_handshake && packets_[i].direction == Direction::ToClient;
    });
    add(Finding::CertificateBeyondWindow,
        std::format("The server's flight with the certificate was larger than its first congestion window{}: {} until it was "
                    "through.",
                    lost_syn_ack && first_window == 1 ? ", which is one segment after lost SYN-ACKs (RFC 5681 section 3.1)" : "",
                    counted(trips, "round trip")),
        std::move(evidence));
  }

  void server_think_time() {
    for (const auto& span : causes_->spans)
      if (span.kind == SpanKind::ThinkTime && !span.is_at_client())
        add(Finding::ServerThinkTime,
            std::format("The server had acknowledged what it was sent when its next flight still took {:.1f} ms: its program was "
                        "busy, with other connections perhaps, or waited for somebody.",
                        to_ms(packets_[span.packets.back()].sent - packets_[span.packets.front()].sent)),
            span.packets);
  }

  void half_lost_client_hello() {
    std::vector<std::uint32_t> lost, arrived;
    for (std::uint32_t i = 0; i < packets_.size(); ++i) {
      if (!carried_[i].client_hello || !carried_[i].is_quic || carried_[i].repeated) continue;
      (packets_[i].delivered || has_delivered_copy(i) ? arrived : lost).push_back(i);
    }
    if (lost.empty() || arrived.empty()) return;
    add(Finding::ClientHelloHalfLost,
        std::format("Of the {} datagrams of the ClientHello {} arrived; the server could not answer until the rest was sent "
                    "again.",
                    lost.size() + arrived.size(), arrived.size()),
        lost);
  }

  /// A client may send each datagram more than once at the same time, so that one of them arrives.
  bool has_delivered_copy(std::uint32_t packet) const {
    for (auto i = packet + 1; i < packets_.size() && packets_[i].sent - packets_[packet].sent <= kReaction; ++i)
      if (packets_[i].delivered && carried_[i].client_hello && repeats(dissection_, i, packet)) return true;
    return false;
  }

  /// A packet with nothing new whose octets its sender knew to have arrived: a packet of the peer that came after them
  /// had reached it.
  void spurious_retransmission() {
    std::vector<std::uint32_t> spurious;
    for (std::uint32_t i = 0; i < packets_.size(); ++i)
      if (carried_[i].repeated && !carried_[i].new_data && was_known_to_have_arrived(i)) spurious.push_back(i);
    if (!spurious.empty())
      add(Finding::SpuriousRetransmission,
          std::format("{} repeated what had arrived and been acknowledged.", counted(spurious.size(), "packet")), spurious);
  }

  bool was_known_to_have_arrived(std::uint32_t repeat) const {
    const auto& segment_index = dissection_.packets[repeat].segment;
    if (segment_index == dissect::kNone) return false;
    const auto& segment = dissection_.segments[segment_index];
    if (segment.repeated.empty() || segment.connection == dissect::kNone) return false;
    // TCP says so itself: an acknowledgment number beyond the octets, received before they were sent again.
    for (std::uint32_t i = 0; i < repeat; ++i) {
      if (packets_[i].direction == packets_[repeat].direction || !packets_[i].delivered ||
          *packets_[i].delivered > packets_[repeat].sent || dissection_.packets[i].segment == dissect::kNone)
        continue;
      const auto& ack = dissection_.segments[dissection_.packets[i].segment];
      const auto end = segment.sequence + segment.payload_length;
      if (ack.connection == segment.connection && (ack.flags & dissect::kTcpAck) != 0 &&
          static_cast<std::int32_t>(ack.acknowledgment - end) >= 0)
        return true;
    }
    return false;
  }

  void unpadded_initial() {
    for (const auto direction : dissect::kDirections) {
      std::vector<std::uint32_t> short_ones;
      for (std::uint32_t i = 0; i < packets_.size(); ++i)
        if (dissection_.packets[i].direction == direction && carried_[i].udp_payload_bytes < kLeastInitialBytes &&
            dissection_.packets[i].captured_bytes == dissection_.packets[i].ip_bytes && must_be_padded(i, direction))
          short_ones.push_back(i);
      if (!short_ones.empty())
        add(Finding::InitialNotPadded,
            std::format("{} sent {} with Initial packets of less than 1200 bytes (RFC 9000 section 14.1).",
                        direction == Direction::ToServer ? "The client" : "The server", counted(short_ones.size(), "datagram")),
            short_ones);
    }
  }

  /// Every Initial of a client; of a server those that ask for an acknowledgement.
  bool must_be_padded(std::uint32_t packet, Direction direction) const {
    const auto& here = dissection_.packets[packet];
    for (std::uint32_t q = here.first_quic_packet; q < here.first_quic_packet + here.quic_packets; ++q) {
      const auto& quic = dissection_.quic_packets[q];
      if (quic.type != QuicPacketType::Initial) continue;
      if (direction == Direction::ToServer) return true;
      for (std::uint32_t f = quic.first_frame; f < quic.first_frame + quic.frames; ++f)
        if (is_ack_eliciting(dissection_.quic_frames[f].type)) return true;
    }
    return false;
  }

  template <class See>
  void for_each_hellos(See see) const {
    for (std::size_t c = 0; c < dissection_.quic_connections.size(); ++c)
      see(dissection_.quic_connections[c].hellos, dissect::CarrierKind::Quic, c);
    for (std::size_t c = 0; c < dissection_.tcp_connections.size(); ++c)
      if (dissection_.tcp_connections[c].tls) see(dissection_.tcp_connections[c].tls->hellos, dissect::CarrierKind::Tcp, c);
  }

  /// The packets that brought a message of this type on a connection.
  std::vector<std::uint32_t> packets_of(HandshakeType type, dissect::CarrierKind kind, std::size_t connection) const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < dissection_.packets.size(); ++i)
      for (const auto& tile : dissection_.packets[i].tiles) {
        if (tile.kind != dissect::TileKind::TlsHandshake || tile.item >= dissection_.handshake.size()) continue;
        const auto& message = dissection_.handshake[tile.item];
        if (message.type != type || message.carrier.kind != kind || message.carrier.connection != connection) continue;
        out.push_back(i);
        break;
      }
    return out;
  }

  void early_data() {
    for_each_hellos([&](const dissect::Hellos& hellos, dissect::CarrierKind kind, std::size_t connection) {
      if (!hellos.client || !hellos.server || !hellos.server->has_psk) return;
      const auto evidence = packets_of(HandshakeType::ClientHello, kind, connection);
      // After a HelloRetryRequest there is none (RFC 8446 section 4.1.2), so nobody could have used it.
      if (!hellos.offered_early_data && !hellos.has_hello_retry_request)
        add(Finding::EarlyDataNotUsed,
            "The session was resumed without early data: the query waited for the handshake, a round trip (RFC 8446 section "
            "2.3).",
            evidence);
      else if (hellos.offered_early_data && hellos.encrypted_extensions && !hellos.accepts_early_data())
        add(Finding::EarlyDataRejected, "The server rejected the early data, so the query was sent again after the handshake.",
            evidence);
    });
  }

  void session_ticket() {
    for_each_hellos([&](const dissect::Hellos& hellos, dissect::CarrierKind kind, std::size_t connection) {
      // Only if all that the server sent in answer could be read.
      if (!hellos.encrypted_extensions || !observation_.answered || !could_read_all(kind, connection)) return;
      if (!packets_of(HandshakeType::NewSessionTicket, kind, connection).empty()) return;
      add(Finding::NoSessionTicket,
          "The server gave no session ticket, so the next connection pays for the whole handshake again.",
          packets_of(HandshakeType::EncryptedExtensions, kind, connection));
    });
  }

  bool could_read_all(dissect::CarrierKind kind, std::size_t connection) const {
    bool has_application = false;
    if (kind == dissect::CarrierKind::Quic) {
      for (const auto& packet : dissection_.quic_packets) {
        if (packet.connection != connection || packet.direction != Direction::ToClient) continue;
        if (packet.type == QuicPacketType::OneRtt && !packet.is_decrypted) return false;
        has_application |= packet.type == QuicPacketType::OneRtt;
      }
      return has_application;
    }
    for (const auto& record : dissection_.records) {
      if (record.connection != connection || record.direction != Direction::ToClient || !record.is_protected) continue;
      if (!record.is_decrypted) return false;
      has_application |= record.epoch == dissect::Epoch::Application;
    }
    return has_application;
  }

  void closed_before_answer() {
    if (observation_.answered) return;
    for (std::uint32_t i = 0; i < packets_.size(); ++i) {
      if (dissection_.packets[i].direction != Direction::ToClient || !packets_[i].delivered) continue;
      if (carried_[i].answer || carried_[i].truncated_answer) return;
      if (!carried_[i].close && !carried_[i].fin) continue;
      if (client_closed_before(i)) return;
      add(Finding::ClosedBeforeAnswer, "The server ended the connection before it had answered.", {i});
      return;
    }
  }

  /// The client gave up first, and the server did as it was told.
  bool client_closed_before(std::uint32_t packet) const {
    for (std::uint32_t i = 0; i < packet; ++i)
      if (dissection_.packets[i].direction == Direction::ToServer && (carried_[i].close || carried_[i].fin)) return true;
    return false;
  }

  const Dissection& dissection_;
  std::span<const ObservedPacket> packets_;
  const Causes* causes_;
  const Observation& observation_;
  std::vector<Carried> carried_;
  std::vector<Detected> out_;
};

}  // namespace

std::string_view to_string(Finding finding) { return kFindings[static_cast<std::size_t>(finding)]; }

std::vector<Detected> detect(const Dissection& dissection, std::span<const ObservedPacket> packets, const Causes* causes,
                             const Observation& observation) {
  return Detectors(dissection, packets, causes, observation).run();
}

}  // namespace doxlab::trace
