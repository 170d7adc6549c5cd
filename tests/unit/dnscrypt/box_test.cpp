#include "dnscrypt/box.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "dnscrypt/padding.hpp"

namespace doxlab::dnscrypt {
namespace {

Bytes hex(std::string_view text) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

template <std::size_t N>
std::array<std::uint8_t, N> array_of(BytesView bytes) {
  std::array<std::uint8_t, N> out{};
  EXPECT_EQ(bytes.size(), N);
  std::ranges::copy(bytes.first(std::min(N, bytes.size())), out.begin());
  return out;
}

/// N octets that count up from `first`.
template <std::size_t N>
std::array<std::uint8_t, N> counting(std::uint8_t first) {
  std::array<std::uint8_t, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = static_cast<std::uint8_t>(first + i);
  return out;
}

// draft-denis-dprive-dnscrypt-11, appendix 2.
const Bytes kQuery = hex("12340100000100000000000003777777076578616d706c6503636f6d0000010001");
const Bytes kResponse =
    hex("12348180000100010000000003777777076578616d706c6503636f6d0000010001c00c0001000100000e1000045db8d822");
const HalfNonce kClientNonce = counting<12>(0xa0);
const HalfNonce kResolverNonce = counting<12>(0xc0);
const ClientMagic kMagic = counting<8>(0xb1);

class DraftVectors : public testing::Test {
 protected:
  KeyPair resolver = KeyPair::from_secret(counting<32>(0x20));
  KeyPair client = KeyPair::from_secret(counting<32>(0x40));
  SharedKey key = SharedKey::derive(EsVersion::X25519XChaCha20Poly1305, resolver.public_key, client).value();
};

TEST_F(DraftVectors, PublicKeysAndSharedKey) {
  EXPECT_EQ(to_hex(resolver.public_key), "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254");
  EXPECT_EQ(to_hex(client.public_key), "79a631eede1bf9c98f12032cdeadd0e7a079398fc786b88cc846ec89af85a51a");
  EXPECT_EQ(to_hex(key.octets()), "335d32f2d65e6623cbbd05b6539c9575fee16cb5405fe839ab4bd291fdf13262");
  const auto other = SharedKey::derive(EsVersion::X25519XChaCha20Poly1305, client.public_key, resolver);
  EXPECT_EQ(to_hex(other->octets()), to_hex(key.octets()));
}

TEST_F(DraftVectors, ClientQuery) {
  const auto padded = pad(kQuery, udp_query_size(kQuery.size(), 256));
  ASSERT_EQ(padded.size(), 256u);
  const auto packet = seal_query(kMagic, client.public_key, key, kClientNonce, padded);
  EXPECT_EQ(to_hex(packet),
            "b1b2b3b4b5b6b7b879a631eede1bf9c98f12032cdeadd0e7a079398fc786b88cc846ec89af85a51aa0a1a2a3a4a5a6a7"
            "a8a9aaab"
            "2dae527c26386d5cd4e61152db6dd1812ff6aaf7644fc122afc70b1b580b18f10fbc26577abc759152cde31cd0afc5c5"
            "f452f865"
            "4815469723300819bed5a12015c044b94d63ec1f79e48a23968e437feb8bb8720cf4e60a0499746190c8b3eb83aeb0d8"
            "58df7779"
            "4270b861f86644502be0d22d6f0b2b132e9ca68538300c8d68b8e3c48190cbbf96d602f38dfc3b4d642016ceeaf4bc2c"
            "2ded9483"
            "b9f9d4eed703a0bebc252add8822d4b9152e30670bcde9ea75a0e3e67ea576e9b1262bb2b25b4f9432311b75a2238b34"
            "bf4f868d"
            "a182b85dccb1762a703bba31d04d77b4c57ec9039663959793677588b3a74ae409b0f16374dd64cbd6d47d801725b014"
            "ce9ddaf6"
            "f1aa30688c8efcbfde1d5d1d");
  const auto parsed = parse_query_packet(packet);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->magic, kMagic);
  EXPECT_EQ(parsed->client_key, client.public_key);
  EXPECT_EQ(parsed->nonce, kClientNonce);
  EXPECT_EQ(open_query(*parsed, key), kQuery);
}

TEST_F(DraftVectors, ServerResponse) {
  const auto packet =
      seal_response(key, kClientNonce, kResolverNonce, pad(kResponse, response_size(kResponse.size(), 276)));
  EXPECT_EQ(to_hex(packet),
            "7236666e76576a38a0a1a2a3a4a5a6a7a8a9aaabc0c1c2c3c4c5c6c7c8c9cacbf2670995c6d37c2f8d2016029dd5970b"
            "893de83c"
            "02815ece9b48d9fd0b0dca8741674142fbd8e12c1120b111f366326aa71c89823a2931ac5c860dad49685ed6cc22cc13"
            "e829d2e5"
            "1d1c00ea64d1d39d");
  EXPECT_EQ(client_nonce_of_response(packet), kClientNonce);
  EXPECT_EQ(open_response(packet, key), kResponse);
}

class EachConstruction : public testing::TestWithParam<EsVersion> {
 protected:
  KeyPair ours = KeyPair::generate(), theirs = KeyPair::generate();
  SharedKey key = SharedKey::derive(GetParam(), theirs.public_key, ours).value();
};

INSTANTIATE_TEST_SUITE_P(Box, EachConstruction,
                         testing::Values(EsVersion::X25519XSalsa20Poly1305,
                                         EsVersion::X25519XChaCha20Poly1305));

// Recomputes the box from X25519, the hash of the construction, its stream cipher and Poly1305.
TEST_P(EachConstruction, BoxIsWhatItsPrimitivesGive) {
  const bool chacha = GetParam() == EsVersion::X25519XChaCha20Poly1305;
  std::array<std::uint8_t, 32> point, shared;
  const std::array<std::uint8_t, 16> zeros{};
  ASSERT_EQ(crypto_scalarmult(point.data(), ours.secret_key.data(), theirs.public_key.data()), 0);
  if (chacha) {
    crypto_core_hchacha20(shared.data(), zeros.data(), point.data(), nullptr);
  } else {
    crypto_core_hsalsa20(shared.data(), zeros.data(), point.data(), nullptr);
  }
  EXPECT_EQ(to_hex(key.octets()), to_hex(shared));

  Bytes message(200);
  fill_random(message);
  std::array<std::uint8_t, 24> nonce;
  std::ranges::copy(kClientNonce, nonce.begin());
  std::ranges::copy(kResolverNonce, nonce.begin() + 12);
  // The one-time key is the start of the stream, the ciphertext begins behind it.
  Bytes stream(32 + message.size());
  if (chacha) {
    crypto_stream_xchacha20(stream.data(), stream.size(), nonce.data(), shared.data());
  } else {
    crypto_stream_xsalsa20(stream.data(), stream.size(), nonce.data(), shared.data());
  }
  Bytes cipher(message.size());
  for (std::size_t i = 0; i < message.size(); ++i) cipher[i] = message[i] ^ stream[32 + i];
  Bytes box(16);
  crypto_onetimeauth_poly1305(box.data(), cipher.data(), cipher.size(), stream.data());
  box.insert(box.end(), cipher.begin(), cipher.end());
  EXPECT_EQ(key.seal(kClientNonce, kResolverNonce, message), box);
}

TEST_P(EachConstruction, OpensOnlyWhatWasSealedWithTheSameKeyAndNonce) {
  const Bytes padded = pad(kQuery, 256);
  const auto packet = seal_query(kMagic, ours.public_key, key, kClientNonce, padded);
  const auto other_key = SharedKey::derive(GetParam(), theirs.public_key, KeyPair::generate()).value();
  EXPECT_EQ(open_query(*parse_query_packet(packet), key), kQuery);
  EXPECT_FALSE(open_query(*parse_query_packet(packet), other_key));
  // Every octet counts: those of the nonce, the tag and the ciphertext.
  for (std::size_t i = kMagicOctets + kKeyOctets; i < packet.size(); ++i) {
    Bytes changed = packet;
    changed[i] ^= 1;
    EXPECT_FALSE(open_query(*parse_query_packet(changed), key)) << "octet " << i;
  }
}

TEST_P(EachConstruction, ResponseIsBoundToItsNonces) {
  const auto packet = seal_response(key, kClientNonce, kResolverNonce, pad(kResponse, 128));
  for (std::size_t i = 0; i < packet.size(); ++i) {
    Bytes changed = packet;
    changed[i] ^= 0x80;
    EXPECT_FALSE(open_response(changed, key)) << "octet " << i;
  }
  for (std::size_t size = 0; size < packet.size(); ++size) {
    EXPECT_FALSE(open_response(BytesView(packet).first(size), key)) << size;
  }
}

TEST_P(EachConstruction, BadPaddingInsideAGoodBoxIsRefused) {
  for (const Bytes& plaintext : {Bytes(64), Bytes(64, 0x81), Bytes{1, 2, 3}, Bytes{0x80, 1}, Bytes{}}) {
    const auto packet = seal_query(kMagic, ours.public_key, key, kClientNonce, plaintext);
    const auto parsed = parse_query_packet(packet);
    EXPECT_TRUE(!parsed || !open_query(*parsed, key)) << to_hex(plaintext);
    EXPECT_FALSE(open_response(seal_response(key, kClientNonce, kResolverNonce, plaintext), key));
  }
}

TEST_P(EachConstruction, KeysOfLowOrderAreRefused) {
  // The points of order 1, 2, 4 and 8 and their other spellings; the all-zero key is the first.
  const char* const points[] = {
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  };
  for (const char* point : points) {
    EXPECT_FALSE(SharedKey::derive(GetParam(), array_of<32>(hex(point)), ours)) << point;
  }
}

TEST(QueryPacket, LengthsAreBounded) {
  EXPECT_FALSE(parse_query_packet({}));
  EXPECT_FALSE(parse_query_packet(Bytes(kQueryOverheadOctets)));
  EXPECT_TRUE(parse_query_packet(Bytes(kQueryOverheadOctets + 1)));
  EXPECT_TRUE(parse_query_packet(Bytes(4096)));
  EXPECT_FALSE(parse_query_packet(Bytes(4097)));
}

TEST(ClientMagic, ValuesOfOtherProtocolsAreRefused) {
  EXPECT_FALSE(is_allowed_client_magic({0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(is_allowed_client_magic({0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(is_allowed_client_magic({0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_FALSE(is_allowed_client_magic({'P', 'Q', 'R', 'e', 's', 'u', 'm', 'e'}));
  EXPECT_FALSE(is_allowed_client_magic({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
  EXPECT_FALSE(is_allowed_client_magic(kResolverMagic));
  EXPECT_TRUE(is_allowed_client_magic(kMagic));
}

TEST(Secret, IsWipedWhenItMoves) {
  Secret<32> secret(counting<32>(1));
  const Secret<32> moved = std::move(secret);
  EXPECT_EQ(to_hex(secret.view()),
            std::string(64, '0'));  // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(to_hex(moved.view()), to_hex(counting<32>(1)));
}

TEST(SharedKey, PaddingChoiceFollowsFromKeyAndNonce) {
  const auto a = KeyPair::generate(), b = KeyPair::generate();
  const auto here = SharedKey::derive(EsVersion::X25519XChaCha20Poly1305, b.public_key, a).value();
  const auto there = SharedKey::derive(EsVersion::X25519XChaCha20Poly1305, a.public_key, b).value();
  std::array<int, 4> seen{};
  for (int i = 0; i < 400; ++i) {
    const auto nonce = random_octets<12>();
    EXPECT_EQ(here.padding_choice(nonce), there.padding_choice(nonce));
    ++seen[here.padding_choice(nonce) & 3u];
  }
  for (const int count : seen) EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace doxlab::dnscrypt
