// What follows from single losses, against lookups that are simulated one by one.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "experiment/expected.hpp"

namespace doxlab::experiment {
namespace {

using testing::ElementsAre;

/// A made-up lookup: messages one after the other, each sent again until it arrives, later every time; after
/// four attempts it gives up. `is_lost(k)` says whether the k-th packet is lost.
LossLeaf lookup(std::size_t messages, const std::function<bool(std::size_t)>& is_lost) {
  LossLeaf out{.ms = 0.0};
  for (std::size_t message = 0; message < messages; ++message) {
    double timer = 100 + 10 * static_cast<double>(message);
    for (std::size_t attempt = 0;; ++attempt) {
      const bool lost = is_lost(out.sent++);
      out.lost += lost;
      if (!lost) break;
      *out.ms += timer;
      timer *= 2;
      if (attempt < 3) continue;
      out.ms.reset();
      return out;
    }
    *out.ms += 20;
  }
  return out;
}

/// All leaves with at most `order` losses, each found as the map finds it: by losing one more packet of those
/// that were sent behind the last one lost.
std::vector<LossLeaf> leaves_of(std::size_t messages, std::size_t order) {
  std::vector<LossLeaf> out;
  const auto grow = [&](const auto& self, const std::set<std::size_t>& lost) -> void {
    const auto leaf = lookup(messages, [&](std::size_t packet) { return lost.contains(packet); });
    out.push_back(leaf);
    if (lost.size() == order) return;
    for (auto packet = lost.empty() ? 0 : *lost.rbegin() + 1; packet < leaf.sent; ++packet) {
      auto more = lost;
      more.insert(packet);
      self(self, more);
    }
  };
  grow(grow, {});
  return out;
}

TEST(Expected, WholeTreeLeavesNothingOver) {
  // Do53: a question and an answer, and nobody sends again.
  const LossLeaf leaves[] = {{0, 2, 40.0}, {1, 1, std::nullopt}, {1, 2, std::nullopt}};
  const auto expected = expect_under_loss(leaves, 0.02, 40);
  EXPECT_NEAR(expected.not_explained, 0, 1e-12);
  EXPECT_NEAR(expected.no_answer, 1 - 0.98 * 0.98, 1e-12);
  ASSERT_EQ(expected.quantiles.size(), 4u);
  EXPECT_EQ(expected.quantiles[2].low_ms, 40);  // p95
  EXPECT_TRUE(expected.quantiles[2].is_decided);
  EXPECT_EQ(expected.quantiles[3].low_ms, std::nullopt);  // p99: no answer
  EXPECT_TRUE(expected.quantiles[3].is_decided);
}

TEST(Expected, WithoutLossOnlyTheReferenceIsLeft) {
  const auto leaves = leaves_of(5, 1);
  const auto expected = expect_under_loss(leaves, 0, 100);
  EXPECT_THAT(expected.by_losses, ElementsAre(1, 0));
  EXPECT_EQ(expected.not_explained, 0);
  for (const auto& quantile : expected.quantiles) EXPECT_EQ(quantile.high_ms, 100);
}

TEST(Expected, WhatIsNotExplainedMakesARange) {
  const LossLeaf leaves[] = {{0, 10, 100.0}, {1, 10, 300.0}};
  const auto expected = expect_under_loss(leaves, 0.1, 100);
  const double none = std::pow(0.9, 10), one = 0.1 * std::pow(0.9, 9);
  EXPECT_NEAR(expected.not_explained, 1 - none - one, 1e-12);
  // Of the median nothing is known but that it is at least the time without losses.
  EXPECT_FALSE(expected.quantiles[0].is_decided);
  EXPECT_EQ(expected.quantiles[0].low_ms, 100);
  EXPECT_EQ(expected.quantiles[0].high_ms, std::nullopt);
}

TEST(Expected, LookupsWithTheSameLossesShareTheirLeaf) {
  const LossLeaf leaves[] = {{0, 1, 10.0, 0.5}, {0, 1, 30.0, 0.5}, {1, 1, std::nullopt}};
  const auto expected = expect_under_loss(leaves, 0.02, 10);
  EXPECT_NEAR(expected.by_losses[0], 0.98, 1e-12);
  EXPECT_EQ(expected.quantiles[0].low_ms, 30);
  EXPECT_NEAR(expected.not_explained, 0, 1e-12);
}

TEST(Expected, AgreesWithSimulatedLookups) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr std::size_t kLookups = 200'000;
  for (const std::size_t messages : {2u, 6u, 17u}) {
    for (const double loss : {0.01, 0.02, 0.05}) {
      std::bernoulli_distribution is_lost(loss);
      std::vector<double> times;
      std::vector<std::size_t> by_losses(3);
      std::size_t more = 0;
      for (std::size_t i = 0; i < kLookups; ++i) {
        const auto one = lookup(messages, [&](std::size_t) { return is_lost(random); });
        times.push_back(one.ms.value_or(HUGE_VAL));
        ++(one.lost < by_losses.size() ? by_losses[one.lost] : more);
      }
      std::ranges::sort(times);
      // Six standard deviations of a share: once in some hundred million comparisons by chance.
      const auto near = [](double p) { return 6 * std::sqrt(p * (1 - p) / kLookups) + 1e-4; };
      for (const std::size_t order : {1u, 2u}) {
        SCOPED_TRACE(testing::Message() << messages << " messages, loss " << loss << ", order " << order);
        const auto leaves = leaves_of(messages, order);
        const auto expected = expect_under_loss(leaves, loss, 20.0 * static_cast<double>(messages));
        for (std::size_t losses = 0; losses <= order; ++losses)
          EXPECT_NEAR(static_cast<double>(by_losses[losses]) / kLookups, expected.by_losses[losses],
                      near(expected.by_losses[losses]));
        if (order == 2) {
          EXPECT_NEAR(static_cast<double>(more) / kLookups, expected.not_explained, near(expected.not_explained));
        }
        for (const auto& quantile : expected.quantiles) {
          const auto low = quantile.low_ms.value_or(HUGE_VAL), high = quantile.high_ms.value_or(HUGE_VAL);
          const auto below = std::ranges::lower_bound(times, low - 1e-6) - times.begin();
          const auto until = std::ranges::upper_bound(times, high + 1e-6) - times.begin();
          EXPECT_LE(static_cast<double>(below) / kLookups, quantile.p + near(quantile.p)) << quantile.p;
          EXPECT_GE(static_cast<double>(until) / kLookups, quantile.p - near(quantile.p)) << quantile.p;
        }
      }
    }
  }
}

}  // namespace
}  // namespace doxlab::experiment
