#include "transport/framing/framing.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "transport/framing/open_queries.hpp"
#include "unit/transport/transcript.hpp"

namespace doxlab::transport {
namespace {

using namespace doxlab::transport::testing;

std::string text(const std::optional<Bytes>& message) { return message ? std::string(as_text(*message)) : "none"; }

TEST(Frame, PutsTheLengthInFront) {
  EXPECT_EQ(to_hex(frame(as_bytes("abc"))), "0003616263");
  EXPECT_EQ(to_hex(frame({})), "0000");
  const Bytes largest = frame(Bytes(65'535, 1));
  EXPECT_EQ(largest.size(), 65'537u);
  EXPECT_EQ(largest[0], 0xFF);
  EXPECT_EQ(largest[1], 0xFF);
}

TEST(MessageReader, CutsTheStreamAtEverySplit) {
  Bytes stream = frame(as_bytes("first"));
  for (const Bytes& next : {frame({}), frame(as_bytes("third"))}) stream.insert(stream.end(), next.begin(), next.end());
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    MessageReader reader;
    std::vector<std::string> messages;
    for (const BytesView part : {BytesView(stream).first(cut), BytesView(stream).subspan(cut)}) {
      ASSERT_TRUE(reader.feed(part));
      while (const auto message = reader.next()) messages.push_back(text(message));
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"first", "", "third"})) << "cut at " << cut;
    EXPECT_EQ(reader.buffered(), 0u);
    EXPECT_EQ(reader.consumed(), stream.size());
  }
}

TEST(MessageReader, TellsWhatWaits) {
  MessageReader reader;
  EXPECT_FALSE(reader.has_message());
  reader.feed(Bytes{0});
  EXPECT_EQ(reader.buffered(), 1u);
  EXPECT_FALSE(reader.has_message());
  reader.feed(Bytes{2, 'a'});
  EXPECT_FALSE(reader.has_message());
  EXPECT_EQ(text(reader.next()), "none");
  reader.feed(Bytes{'b'});
  EXPECT_TRUE(reader.has_message());
  EXPECT_EQ(text(reader.next()), "ab");
}

TEST(MessageReader, RefusesMoreThanItsLimitButGoesOnAfterwards) {
  MessageReader reader(10);
  ASSERT_TRUE(reader.feed(frame(as_bytes("12345678"))));
  EXPECT_FALSE(reader.feed(Bytes{0}));
  EXPECT_EQ(text(reader.next()), "12345678");
  EXPECT_TRUE(reader.feed(Bytes{0}));
  EXPECT_EQ(reader.buffered(), 1u);
}

TEST(MessageReader, RandomCutsOfRandomMessages) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<Bytes> sent, received;
  Bytes stream;
  for (int i = 0; i < 200; ++i) {
    Bytes message(random() % 3000);
    for (auto& octet : message) octet = static_cast<std::uint8_t>(random());
    const Bytes framed = frame(message);
    stream.insert(stream.end(), framed.begin(), framed.end());
    sent.push_back(std::move(message));
  }
  MessageReader reader;
  for (std::size_t position = 0; position < stream.size();) {
    const std::size_t length = std::min<std::size_t>(1 + random() % 5000, stream.size() - position);
    ASSERT_TRUE(reader.feed(BytesView(stream).subspan(position, length)));
    position += length;
    for (auto n = random() % 3; n > 0; --n) {
      if (auto message = reader.next()) received.push_back(std::move(*message));
    }
  }
  while (auto message = reader.next()) received.push_back(std::move(*message));
  EXPECT_EQ(received, sent);
}

TEST(OpenQueries, AnswersComeBackWithTheSubmittedId) {
  OpenQueries queries;
  const QueryHandle handle = queries.new_handle();
  const auto id = queries.add(handle, query("example.com.", 7));
  ASSERT_TRUE(id);
  const auto response = queries.match(answer_to(queries.find(*id)->wire));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->query, handle);
  EXPECT_EQ(dns::message_id(response->message), 7);
  EXPECT_TRUE(queries.empty());
  EXPECT_EQ(queries.dropped(), 0u);
}

TEST(OpenQueries, WhatAnswersNothingIsDroppedAndCounted) {
  OpenQueries queries;
  const auto id = queries.add(queries.new_handle(), query("example.com."));
  const Bytes wire = queries.find(*id)->wire;
  Bytes other_id = answer_to(wire);
  other_id[0] ^= 1;
  Bytes other_name = answer_to(wire);
  other_name[14] ^= 1;
  const Bytes no_response = wire;
  for (const Bytes& message : {other_id, other_name, no_response, Bytes{}, Bytes(5, 0)}) {
    EXPECT_FALSE(queries.match(message));
  }
  EXPECT_EQ(queries.dropped(), 5u);
  EXPECT_TRUE(queries.match(answer_to(wire)));
  EXPECT_FALSE(queries.match(answer_to(wire))) << "the same answer again";
  EXPECT_EQ(queries.dropped(), 6u);
}

TEST(OpenQueries, EveryIdIsUsedOnceAndThenNoneIsFree) {
  OpenQueries queries;
  const Bytes wire = query("example.com.");
  std::set<std::uint16_t> ids;
  for (int i = 0; i < 65'536; ++i) {
    const auto id = queries.add(queries.new_handle(), wire);
    ASSERT_TRUE(id);
    ids.insert(*id);
  }
  EXPECT_EQ(ids.size(), 65'536u);
  EXPECT_FALSE(queries.add(queries.new_handle(), wire));
  for (const std::uint16_t id : {std::uint16_t{0}, std::uint16_t{0xFFFF}}) {
    EXPECT_TRUE(queries.match(answer_to(queries.find(id)->wire)));
  }
  EXPECT_TRUE(queries.add(queries.new_handle(), wire));
}

TEST(OpenQueries, RefusesWhatIsNoMessage) {
  OpenQueries queries;
  EXPECT_FALSE(queries.add(queries.new_handle(), Bytes(11, 0)));
  EXPECT_FALSE(queries.add(queries.new_handle(), Bytes(65'536, 0)));
  EXPECT_TRUE(queries.empty());
}

}  // namespace
}  // namespace doxlab::transport
