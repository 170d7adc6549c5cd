// The detector of lost CRYPTO data that is never sent again: its true case, and what is near it and must stay silent.
// The dissection is made by hand, so that a server with the fault needs no keys.

#include "trace/lost_crypto.hpp"

#include <gmock/gmock.h>

namespace doxlab::trace {
namespace {

using dissect::Dissection;
using dissect::Epoch;
using dissect::ObservedPacket;
using dissect::QuicPacketType;
using link::Direction;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Timestamp kBegin{};

class Conversation {
 public:
  /// One datagram of the server with one packet. `crypto`: the octets of its CRYPTO frame; empty: a PING.
  Conversation& sends(Duration when, QuicPacketType type, dissect::ByteRange crypto, bool arrives) {
    const auto index = static_cast<std::uint32_t>(dissection_.packets.size());
    dissect::QuicFrame frame{.type = crypto.length() == 0 ? dissect::kFramePing : dissect::kFrameCrypto,
                             .unit = index,
                             .data_length = static_cast<std::uint32_t>(crypto.length()),
                             .stream_offset = crypto.begin};
    dissection_.quic_frames.push_back(frame);
    dissection_.quic_packets.push_back({.packet = index,
                                        .connection = 0,
                                        .direction = Direction::ToClient,
                                        .type = type,
                                        .is_decrypted = true,
                                        .packet_number = index,
                                        .first_frame = index,
                                        .frames = 1});
    dissection_.packets.push_back({.protocol = capture::Protocol::Udp,
                                   .direction = Direction::ToClient,
                                   .ip_bytes = 1228,
                                   .captured_bytes = 1228,
                                   .first_quic_packet = index,
                                   .quic_packets = 1});
    observed_.push_back({.ip_bytes = 1228,
                         .sent = kBegin + when,
                         .delivered = arrives ? std::optional(kBegin + when + 20ms) : std::nullopt,
                         .direction = Direction::ToClient});
    return *this;
  }

  std::vector<Detected> detect() const { return find_lost_crypto(dissection_, observed_, what_they_carried(dissection_)); }

 private:
  Dissection dissection_;
  std::vector<ObservedPacket> observed_;
};

constexpr auto kInitial = QuicPacketType::Initial, kHandshake = QuicPacketType::Handshake;

TEST(LostCrypto, IsFoundWhereProbesCarryOtherData) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, false);
  server.sends(20ms, kHandshake, {0, 1000}, true);
  server.sends(1020ms, kHandshake, {0, 1000}, true);
  server.sends(3020ms, kHandshake, {0, 1000}, true);
  const auto found = server.detect();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].finding, Finding::LostCryptoNotResent);
  EXPECT_THAT(found[0].packets, ElementsAre(0, 2, 3)) << "what was lost, and what was sent instead";
  EXPECT_THAT(found[0].sentence, HasSubstr("The server lost 90 octets of Initial CRYPTO data"));
  EXPECT_THAT(found[0].sentence, HasSubstr("another packet number space"));
}

TEST(LostCrypto, IsFoundWhereProbesAreEmpty) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, false).sends(1020ms, kInitial, {}, true).sends(3020ms, kInitial, {}, false);
  ASSERT_THAT(server.detect(), SizeIs(1));
  EXPECT_THAT(server.detect()[0].sentence, HasSubstr("without it"));
}

TEST(LostCrypto, IsSilentIfTheDataArrived) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, true).sends(1020ms, kInitial, {}, true).sends(3020ms, kInitial, {}, true);
  EXPECT_THAT(server.detect(), IsEmpty());
}

TEST(LostCrypto, IsSilentIfItWasSentAgain) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, false).sends(1020ms, kInitial, {0, 90}, true);
  server.sends(3020ms, kInitial, {}, true).sends(3021ms, kInitial, {}, true);
  EXPECT_THAT(server.detect(), IsEmpty());
}

TEST(LostCrypto, IsSilentIfTheRepetitionWasLostToo) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, false).sends(1020ms, kInitial, {0, 90}, false);
  server.sends(3020ms, kInitial, {}, true).sends(3021ms, kInitial, {}, true);
  EXPECT_THAT(server.detect(), IsEmpty());
}

TEST(LostCrypto, IsSilentIfItCameCutInOtherPieces) {
  Conversation server;
  server.sends(20ms, kHandshake, {0, 1000}, false);
  server.sends(1020ms, kHandshake, {0, 600}, true).sends(1020ms, kHandshake, {600, 1000}, true);
  server.sends(3020ms, kHandshake, {}, true).sends(3021ms, kHandshake, {}, true);
  EXPECT_THAT(server.detect(), IsEmpty());
}

TEST(LostCrypto, IsSilentBeforeTheLossMustShow) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, false).sends(900ms, kHandshake, {0, 500}, true);
  server.sends(950ms, kHandshake, {500, 900}, true);
  EXPECT_THAT(server.detect(), IsEmpty());
}

TEST(LostCrypto, IsSilentIfNothingFollowed) {
  Conversation server;
  server.sends(20ms, kInitial, {0, 90}, false).sends(1020ms, kInitial, {}, true);
  EXPECT_THAT(server.detect(), IsEmpty()) << "one packet may have been on its way";
}

}  // namespace
}  // namespace doxlab::trace
