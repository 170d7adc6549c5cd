#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include "base/address.hpp"
#include "base/draw.hpp"

namespace doxlab {
namespace {

TEST(ByteReader, ReadsBigEndianAndFailsOnceForGood) {
  const Bytes input = {1, 2, 3, 4, 5};
  ByteReader reader(input);
  EXPECT_EQ(reader.u16(), 0x0102);
  EXPECT_EQ(reader.u24(), 0x030405u);
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_TRUE(reader.take(0).empty());
  EXPECT_FALSE(reader.ok());
}

// The four samples of RFC 9000, Appendix A.1.
TEST(ByteReader, VarintVectorsOfRfc9000) {
  const Bytes input = {0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c, 0x9d, 0x7f, 0x3e, 0x7d, 0x7b, 0xbd, 0x25};
  ByteReader reader(input);
  EXPECT_EQ(reader.varint(), 151288809941952652u);
  EXPECT_EQ(reader.varint(), 494878333u);
  EXPECT_EQ(reader.varint(), 15293u);
  EXPECT_EQ(reader.varint(), 37u);
  EXPECT_TRUE(reader.ok());
}

TEST(ByteReader, VarintCutShortFails) {
  const Bytes input = {0xc2, 0x19};
  ByteReader reader(input);
  reader.varint();
  EXPECT_FALSE(reader.ok());
}

TEST(ByteWriter, WritesWhatByteReaderReads) {
  ByteWriter writer;
  writer.u8(7);
  writer.u16(0x1234);
  writer.u24(0xabcdef);
  writer.u32(0xdeadbeef);
  writer.u64(0x0123456789abcdefu);
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.u8(), 7);
  EXPECT_EQ(reader.u16(), 0x1234);
  EXPECT_EQ(reader.u24(), 0xabcdefu);
  EXPECT_EQ(reader.u32(), 0xdeadbeefu);
  EXPECT_EQ(reader.u64(), 0x0123456789abcdefu);
  EXPECT_TRUE(reader.at_end());
}

TEST(SocketAddress, TextAndKernelFormsAgree) {
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    const SocketAddress address{IpAddress::parse(text).value(), 853};
    EXPECT_EQ(address.ip.to_string(), text);
    const auto kernel = to_kernel(address);
    EXPECT_EQ(from_kernel(kernel.get()), address);
  }
  EXPECT_FALSE(IpAddress::parse("192.0.2.256").has_value());
  EXPECT_FALSE(IpAddress::parse("[::1]").has_value());
}

// Known answer of Philox-4x32-10 for key 0 and counter 0, from the published Random123 vectors.
TEST(Draw, PhiloxKnownAnswer) { EXPECT_EQ(draw_bits({}), 0xe169c58d6627e8d5u); }

TEST(Draw, IsAFunctionOfEveryCoordinate) {
  const DrawCoordinates base{.seed = 1, .sample = 2, .direction = 0, .index = 3};
  EXPECT_EQ(draw_bits(base), draw_bits(base));
  auto other = base;
  other.seed = 9;
  EXPECT_NE(draw_bits(base), draw_bits(other));
  other = base;
  other.sample = 9;
  EXPECT_NE(draw_bits(base), draw_bits(other));
  other = base;
  other.direction = 1;
  EXPECT_NE(draw_bits(base), draw_bits(other));
  other = base;
  other.index = 9;
  EXPECT_NE(draw_bits(base), draw_bits(other));
  other = base;
  other.purpose = DrawPurpose::Duplicate;
  EXPECT_NE(draw_bits(base), draw_bits(other));
}

TEST(Draw, UnitIsUniform) {
  // 200,000 draws at fixed coordinates: the share below 0.02 has standard deviation 0.0003.
  int below = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample)
    for (std::uint64_t index = 0; index < 100; ++index)
      below += draw_unit({.seed = 42, .sample = sample, .direction = 1, .index = index}) < 0.02;
  EXPECT_NEAR(below / 200000.0, 0.02, 0.0015);
}

}  // namespace
}  // namespace doxlab
