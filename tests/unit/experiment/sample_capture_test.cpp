// Which of made-up samples a capture has, and what it says of those that it has not.
#include "experiment/sample_capture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>

#include "support/temporary_folder.hpp"

namespace doxlab::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kPacketBytes = 1000;

capture::RecordedPacket packet(const Task& task, Timestamp sent, std::uint64_t index) {
  capture::RecordedPacket out;
  out.place = {.sample = task.sample, .direction = link::Direction::ToServer, .index = index};
  out.sent = sent;
  out.delivered = sent + 20ms;
  out.bytes = Bytes(kPacketBytes, 0x45);
  return out;
}

/// A lookup of two packets that took `ms`; negative: without an answer.
Sample sample_that_took(double ms, std::uint64_t number, Transport transport = Transport::Dot) {
  Sample out;
  out.task = {.transport = transport, .sample = number};
  out.result.started = Timestamp(std::chrono::seconds(number + 1));
  out.result.outcome = ms < 0 ? client::Outcome::TimedOut : client::Outcome::Answered;
  if (ms >= 0) out.result.answered = out.result.started + from_ms(ms);
  out.packets = {packet(out.task, out.result.started, 0), packet(out.task, out.result.started + 1ms, 1)};
  out.key_log = std::format("SECRETS of {}\n", number);
  return out;
}

class SampleCaptureTest : public testing::Test {
 protected:
  SampleCaptureOptions options(CaptureChoice choice, std::size_t samples_each = 100) const {
    return {.path = path_, .choice = choice, .samples_each = samples_each};
  }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator(in), {}};
  }
  /// The lookups in the file, in its order.
  std::vector<std::string> names() const {
    static const std::regex kName("(Do[A-Z0-9]+/[0-9]+): ");
    const auto text = content();
    std::vector<std::string> out;
    for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at)
      out.push_back((*at)[1]);
    return out;
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("capture.pcapng");
};

TEST_F(SampleCaptureTest, AllAreInTheFileAsTheyArrive) {
  SampleCapture capture(options(CaptureChoice::All));
  capture.add(sample_that_took(80, 7));
  EXPECT_THAT(names(), ElementsAre("DoT/7"));
  capture.add(sample_that_took(-1, 3, Transport::Doq));
  EXPECT_THAT(names(), ElementsAre("DoT/7", "DoQ/3"));
  const auto summary = capture.finish();
  EXPECT_EQ(summary.lookups, 2u);
  EXPECT_EQ(summary.packets, 4u);
  EXPECT_EQ(summary.bytes, std::filesystem::file_size(path_));
  EXPECT_EQ(summary.left_out, 0u);
  EXPECT_EQ(summary.error, "");
}

TEST_F(SampleCaptureTest, CommentsTellNameOutcomeAndLosses) {
  auto lossy = sample_that_took(-1, 3, Transport::Doq);
  lossy.packets[1].fate = link::Fate::Lost;
  lossy.packets[1].delivered.reset();
  lossy.disturbed = true;
  auto reused = sample_that_took(40.25, 4);
  reused.opening = {packet(reused.task, reused.result.started - 1s, 0)};
  SampleCapture capture(options(CaptureChoice::All));
  capture.add(lossy);
  capture.add(reused);
  capture.finish();
  EXPECT_THAT(content(), HasSubstr("DoQ/3: timed out, 1 packet lost, disturbed by the machine"));
  EXPECT_THAT(content(), HasSubstr("never arrived: lost [DoQ/3, c2s packet 1]"));
  EXPECT_THAT(content(), HasSubstr("DoT/4: opens its connection"));
  EXPECT_THAT(content(), HasSubstr("DoT/4: answered after 40.2 ms"));
}

TEST_F(SampleCaptureTest, SecretsStandBeforeThePacketsOfTheirLookup) {
  SampleCapture capture(options(CaptureChoice::All));
  for (std::uint64_t i = 0; i < 3; ++i) capture.add(sample_that_took(10, i));
  capture.finish();
  const auto text = content();
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_LT(text.find(std::format("SECRETS of {}", i)), text.find(std::format("DoT/{}: ", i)));
  EXPECT_LT(text.find("DoT/0: "), text.find("SECRETS of 1"));
}

TEST_F(SampleCaptureTest, SlowKeepsThoseWithoutAnswerAndTheSlowestOfEachTransport) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::uint64_t kSamples = 500, kWithoutAnswer = 4;
  std::vector<Sample> samples;
  std::vector<std::string> expected;
  for (const auto transport : {Transport::Dot, Transport::Doq}) {
    for (std::uint64_t i = 0; i < kSamples; ++i)
      samples.push_back(
          sample_that_took(i < kWithoutAnswer ? -1 : 50 + static_cast<double>(i), i, transport));
    for (std::uint64_t i = 0; i < kSamples; ++i)
      if (i < kWithoutAnswer || i >= kSamples - 5)
        expected.push_back(std::format("{}/{}", display_name(transport), i));
  }
  std::ranges::shuffle(samples, random);
  SampleCapture capture(options(CaptureChoice::Slow, kSamples));
  for (const auto& sample : samples) capture.add(sample);
  EXPECT_EQ(names().size(), 2 * kWithoutAnswer) << "what has no answer is there at once";
  const auto summary = capture.finish();
  EXPECT_THAT(names(), testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(summary.lookups, expected.size());
  EXPECT_EQ(summary.left_out, 0u);
}

TEST_F(SampleCaptureTest, SlowKeepsAtLeastThreeInOrderOfTime) {
  SampleCapture capture(options(CaptureChoice::Slow, 10));
  for (std::uint64_t i = 0; i < 10; ++i) capture.add(sample_that_took(100 - static_cast<double>(i), i));
  EXPECT_THAT(names(), IsEmpty());
  capture.finish();
  EXPECT_THAT(names(), ElementsAre("DoT/0", "DoT/1", "DoT/2"));
}

TEST_F(SampleCaptureTest, SlowPrefersTheLowerNumberAmongEquals) {
  SampleCapture capture(options(CaptureChoice::Slow, 10));
  for (const std::uint64_t i : {5, 1, 4, 0, 3, 2}) capture.add(sample_that_took(80, i));
  capture.finish();
  EXPECT_THAT(names(), ElementsAre("DoT/0", "DoT/1", "DoT/2"));
}

TEST_F(SampleCaptureTest, SlowTakesDisturbedOnesOnlyWhereNoOtherIsLeft) {
  auto disturbed = sample_that_took(5000, 9);
  disturbed.disturbed = true;
  SampleCapture capture(options(CaptureChoice::Slow, 10));
  capture.add(disturbed);
  capture.add(sample_that_took(80, 0));
  capture.add(sample_that_took(81, 1));
  capture.add(sample_that_took(82, 2));
  capture.finish();
  EXPECT_THAT(names(), ElementsAre("DoT/0", "DoT/1", "DoT/2"));
}

TEST_F(SampleCaptureTest, LimitEndsTheFileAndIsCounted) {
  auto wanted = options(CaptureChoice::All);
  wanted.limit_bytes = 10 * kPacketBytes;
  SampleCapture capture(wanted);
  for (std::uint64_t i = 0; i < 20; ++i) capture.add(sample_that_took(80, i));
  const auto summary = capture.finish();
  EXPECT_THAT(names(), ElementsAre("DoT/0", "DoT/1", "DoT/2", "DoT/3"));
  EXPECT_EQ(summary.lookups, 4u);
  EXPECT_EQ(summary.left_out, 16u);
  EXPECT_LE(std::filesystem::file_size(path_), wanted.limit_bytes);
}

TEST_F(SampleCaptureTest, WithinTheLimitAnsweredOnesMakeRoomForThoseWithout) {
  auto wanted = options(CaptureChoice::Slow);
  wanted.limit_bytes = 10 * kPacketBytes;
  SampleCapture capture(wanted);
  for (std::uint64_t i = 0; i < 3; ++i) capture.add(sample_that_took(80 + static_cast<double>(i), i));
  capture.add(sample_that_took(-1, 10));
  capture.add(sample_that_took(-1, 11));
  const auto summary = capture.finish();
  // Four fit. The fastest that was held has gone.
  EXPECT_THAT(names(), ElementsAre("DoT/10", "DoT/11", "DoT/1", "DoT/2"));
  EXPECT_EQ(summary.lookups, 4u);
  EXPECT_EQ(summary.left_out, 1u);
  EXPECT_LE(std::filesystem::file_size(path_), wanted.limit_bytes);
}

TEST_F(SampleCaptureTest, FullDiskIsInTheSummary) {
  auto wanted = options(CaptureChoice::All);
  wanted.path = "/dev/full";
  SampleCapture capture(wanted);
  capture.add(sample_that_took(80, 0));
  EXPECT_THAT(capture.finish().error, HasSubstr("/dev/full"));
}

TEST_F(SampleCaptureTest, FileThatCannotBeMadeIsNamed) {
  auto wanted = options(CaptureChoice::All);
  wanted.path = folder_.file("missing/capture.pcapng");
  try {
    SampleCapture capture(wanted);
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(wanted.path));
  }
}

}  // namespace
}  // namespace doxlab::experiment
