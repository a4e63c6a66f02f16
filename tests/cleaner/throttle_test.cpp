// SPDX-License-Identifier: Apache-2.0
#include "cleaner/throttle.h"

#include <gtest/gtest.h>

#include <chrono>

#include "config/options.h"

namespace lastword::cleaner {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Throttle, WithoutALimitNobodyWaits) {
  Throttle throttle(kUnlimited);
  const auto start = Clock::now();
  throttle.take(std::int64_t{1} << 60);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
}

TEST(Throttle, BytesTakeTheTimeThatTheRateGivesThem) {
  Throttle throttle(1'000'000);
  const auto start = Clock::now();
  for (int i = 0; i < 5; ++i) throttle.take(10'000);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(49));
}

TEST(Throttle, StopWakesAndLetsEverybodyPass) {
  Throttle throttle(1);
  throttle.stop();
  const auto start = Clock::now();
  throttle.take(1'000'000);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace lastword::cleaner
