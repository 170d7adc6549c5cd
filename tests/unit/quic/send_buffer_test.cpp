#include "quic/send_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace doxlab::quic::internal {
namespace {

Bytes gather(const SendBuffer& buffer, std::size_t most, SendBuffer::Unsent* info = nullptr) {
  std::array<ngtcp2_vec, 16> pieces;
  const auto unsent = buffer.unsent(pieces);
  if (info != nullptr) *info = unsent;
  Bytes out;
  for (std::size_t i = 0; i < unsent.pieces; ++i) {
    out.insert(out.end(), pieces[i].base, pieces[i].base + std::min(pieces[i].len, most - out.size()));
  }
  return out;
}

TEST(SendBuffer, FinAloneIsPendingOnce) {
  SendBuffer buffer;
  EXPECT_FALSE(buffer.has_pending());
  buffer.append({}, true);
  EXPECT_TRUE(buffer.has_pending());
  SendBuffer::Unsent unsent;
  EXPECT_TRUE(gather(buffer, 100, &unsent).empty());
  EXPECT_TRUE(unsent.fin);
  buffer.mark_sent(0, true);
  EXPECT_FALSE(buffer.has_pending());
}

TEST(SendBuffer, NothingCanBeAddedAfterFin) {
  SendBuffer buffer;
  buffer.append(Bytes{1}, true);
  buffer.append(Bytes{2}, false);
  EXPECT_EQ(gather(buffer, 100), Bytes{1});
}

TEST(SendBuffer, BytesStayWhereTheyAreUntilAcknowledged) {
  SendBuffer buffer;
  buffer.append(Bytes(1000, 7), false);
  std::array<ngtcp2_vec, 1> first;
  ASSERT_EQ(buffer.unsent(first).pieces, 1u);
  buffer.mark_sent(1000, false);
  for (int i = 0; i < 100; ++i) buffer.append(Bytes(10, 8), false);
  buffer.acknowledge(999);
  EXPECT_EQ(buffer.unacknowledged_bytes(), 2000u);
  EXPECT_EQ(first[0].base[999], 7);
  buffer.acknowledge(1000);
  EXPECT_EQ(buffer.unacknowledged_bytes(), 1000u);
}

TEST(SendBuffer, RandomWritesSendsAndAcksYieldTheStream) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    SendBuffer buffer;
    Bytes written, sent;
    std::uint64_t acknowledged = 0;
    for (int step = 0; step < 300; ++step) {
      switch (random() % 3) {
        case 0: {
          Bytes chunk(random() % 40);
          for (auto& octet : chunk) octet = static_cast<std::uint8_t>(random());
          written.insert(written.end(), chunk.begin(), chunk.end());
          buffer.append(chunk, false);
          break;
        }
        case 1: {
          const Bytes next = gather(buffer, random() % 60);
          sent.insert(sent.end(), next.begin(), next.end());
          buffer.mark_sent(next.size(), false);
          break;
        }
        default:
          acknowledged += sent.size() > acknowledged ? random() % (sent.size() - acknowledged + 1) : 0;
          buffer.acknowledge(acknowledged);
      }
      if (round % 5 == 0 && step == 150 && acknowledged == 0) {
        buffer.rewind();
        sent.clear();
      }
    }
    buffer.append({}, true);
    while (buffer.has_pending()) {
      SendBuffer::Unsent info;
      const Bytes next = gather(buffer, 1u << 20, &info);
      sent.insert(sent.end(), next.begin(), next.end());
      buffer.mark_sent(next.size(), info.fin);
    }
    ASSERT_EQ(sent, written);
    buffer.acknowledge(written.size());
    ASSERT_EQ(buffer.unacknowledged_bytes(), 0u);
  }
}

TEST(SendBuffer, RewindStartsTheStreamAnew) {
  SendBuffer buffer;
  buffer.append(Bytes{1, 2, 3}, false);
  buffer.append(Bytes{4}, true);
  buffer.mark_sent(4, true);
  ASSERT_FALSE(buffer.has_pending());
  buffer.rewind();
  SendBuffer::Unsent info;
  EXPECT_EQ(gather(buffer, 100, &info), (Bytes{1, 2, 3, 4}));
  EXPECT_TRUE(info.fin);
}

}  // namespace
}  // namespace doxlab::quic::internal
