// SPDX-License-Identifier: Apache-2.0
#include "cleaner/choose.h"

#include <gtest/gtest.h>

#include "tests/cleaner/log_views.h"

namespace lastword::cleaner {
namespace {

using test::LogViewBuilder;

LogViewBuilder compacted() {
  LogViewBuilder log;
  log.options.cleanup_policy = {.remove = false, .compact = true};
  return log;
}

/// Ten closed segments of ten offsets and 100 bytes each, appended at 100, 200, …; a busy active
/// one.
LogViewBuilder ten_segments() {
  LogViewBuilder log = compacted();
  for (Offset i = 0; i < 10; ++i) {
    log.closed({.base = 10 * i,
                .end = 10 * i + 10,
                .appended_first = 100 * (i + 1),
                .appended_last = 100 * (i + 1)});
  }
  log.active({.base = 100, .end = 101, .bytes = 50, .appended_first = 1100, .appended_last = 1100});
  return log;
}

TEST(Choose, CleansUpToTheActiveSegment) {
  auto log = ten_segments();
  log.clean_end(30);
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.first_dirty, 30);
  EXPECT_EQ(result.first_uncleanable, 100);
  EXPECT_EQ(result.clean_bytes, 300);
  EXPECT_EQ(result.cleanable_bytes, 700);
  EXPECT_EQ(result.dirty_bytes, 750);
  EXPECT_DOUBLE_EQ(result.ratio, 0.7);
  EXPECT_EQ(result.reason, PassReason::kRatio);
  EXPECT_TRUE(result.skip_reason.empty());
}

TEST(Choose, TheRatioMustBeExceeded) {
  auto log = ten_segments();
  log.clean_end(50);
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kNone);
  EXPECT_NE(assess(log.view(), {}, 5000).skip_reason.find("50 %"), std::string::npos);
  log.clean_end(40);
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kRatio);
}

TEST(Choose, RatioZeroStillWantsADirtyByteAndRatioOneNeverTriggers) {
  auto log = ten_segments();
  log.options.min_cleanable_dirty_ratio = 0;
  log.clean_end(100);
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kNone);
  log.clean_end(90);
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kRatio);
  log.options.min_cleanable_dirty_ratio = 1;
  log.clean_end(0);
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kNone);
}

TEST(Choose, ALogWithAllItsDataInTheActiveSegmentIsNeverCleaned) {
  auto log = compacted();
  log.active({.base = 0, .end = 10});
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.reason, PassReason::kNone);
  EXPECT_NE(result.skip_reason.find("active segment"), std::string::npos);
}

TEST(Choose, PolicyDeleteIsNeverCompacted) {
  auto log = ten_segments();
  log.options.cleanup_policy = {.remove = true, .compact = false};
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kNone);
}

TEST(Choose, TheHighWatermarkInASegmentHoldsAllOfIt) {
  auto log = ten_segments();
  log.high_watermark(75);
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.first_uncleanable, 70);
  EXPECT_EQ(result.cleanable_bytes, 700);
}

TEST(Choose, MinLagHoldsFromTheFirstSegmentOfRecentAppends) {
  auto log = ten_segments();
  log.options.min_compaction_lag_ms = 1000;
  const auto result = assess(log.view(), {}, 1500);  // appends after 500 are held
  EXPECT_EQ(result.first_uncleanable, 50);
  const auto held = assess(log.view(), {}, 1099);
  EXPECT_EQ(held.reason, PassReason::kNone);
  EXPECT_EQ(held.next_due_ms, 1100);
  EXPECT_EQ(held.next_due_what, "compact");
  EXPECT_NE(held.skip_reason.find("min.compaction.lag.ms"), std::string::npos);
}

TEST(Choose, MaxLagMakesALogOverdueWhateverTheRatio) {
  auto log = ten_segments();
  log.options.min_cleanable_dirty_ratio = 1;
  log.options.max_compaction_lag_ms = 2000;
  log.clean_end(90);  // the last segment was begun at 1000
  const auto waiting = assess(log.view(), {}, 3000);
  EXPECT_EQ(waiting.reason, PassReason::kNone);
  EXPECT_EQ(waiting.next_due_ms, 3001);
  const auto overdue = assess(log.view(), {}, 3011);
  EXPECT_EQ(overdue.reason, PassReason::kOverdue);
  EXPECT_EQ(overdue.overdue_ms, 10);
}

TEST(Choose, AnIdleLogIsNotHeldBackByTheRatio) {
  auto log = compacted();
  log.closed({.base = 0, .end = 90, .bytes = 900});
  log.closed({.base = 90, .end = 100, .bytes = 1});
  log.clean_end(90);
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kIdle);
  log.active({.base = 100, .end = 101});
  EXPECT_EQ(assess(log.view(), {}, 5000).reason, PassReason::kNone);
}

TEST(Choose, PassesOverAnIdleLogTakeATenthOfTheTime) {
  auto log = compacted();
  log.closed({.base = 0, .end = 90, .bytes = 900});
  log.closed({.base = 90, .end = 100, .bytes = 1});
  log.clean_end(90);
  const LastPass last{.ended_ms = 5000, .took_ms = 100};
  const auto waiting = assess(log.view(), last, 5999);
  EXPECT_EQ(waiting.reason, PassReason::kNone);
  EXPECT_EQ(waiting.next_due_ms, 6000);
  EXPECT_EQ(assess(log.view(), last, 6000).reason, PassReason::kIdle);
}

TEST(Choose, AnExpiredHorizonGetsAPassWithoutAnythingDirty) {
  auto log = compacted();
  log.options.delete_retention_ms = 24 * kHourMs;
  log.closed({.base = 0, .end = 10, .horizon = 1'000'000});
  log.clean_end(10);
  const auto waiting = assess(log.view(), {}, 1'000'000 + 5 * kMinuteMs - 1);
  EXPECT_EQ(waiting.reason, PassReason::kNone);
  EXPECT_EQ(waiting.next_due_ms, 1'000'000 + 5 * kMinuteMs);
  EXPECT_EQ(waiting.next_due_what, "drop tombstones");
  EXPECT_EQ(assess(log.view(), {}, 1'000'000 + 5 * kMinuteMs).reason, PassReason::kHorizon);
}

TEST(Choose, AShortHorizonWaitsForATenthOfItself) {
  auto log = compacted();
  log.options.delete_retention_ms = 5000;
  log.closed({.base = 0, .end = 10, .horizon = 10'000});
  log.clean_end(10);
  EXPECT_EQ(assess(log.view(), {}, 10'499).reason, PassReason::kNone);
  EXPECT_EQ(assess(log.view(), {}, 10'500).reason, PassReason::kHorizon);
  log.options.delete_retention_ms = 0;
  EXPECT_EQ(assess(log.view(), {}, 10'000).reason, PassReason::kHorizon);
}

TEST(Choose, ACleanEndBeyondTheLogMeansAllIsDirty) {
  auto log = ten_segments();
  log.clean_end(500);
  log.log_start(10);
  EXPECT_EQ(assess(log.view(), {}, 5000).first_dirty, 10);
}

TEST(Choose, ACleanEndBelowLogStartIsLogStart) {
  auto log = ten_segments();
  log.clean_end(10);
  log.log_start(40);
  EXPECT_EQ(assess(log.view(), {}, 5000).first_dirty, 40);
}

TEST(Choose, ALogStartInTheActiveSegmentIsNotCleanable) {
  auto log = ten_segments();
  log.log_start(101);
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.first_dirty, 101);
  EXPECT_EQ(result.first_uncleanable, 101);
  EXPECT_EQ(result.reason, PassReason::kNone);
}

TEST(Choose, ACleanEndInTheActiveSegmentIsNotCleanable) {
  auto log = ten_segments();
  log.options.min_cleanable_dirty_ratio = 0;
  log.options.max_compaction_lag_ms = 1;
  log.clean_end(101);
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.first_dirty, 101);
  EXPECT_EQ(result.first_uncleanable, 101);
  EXPECT_EQ(result.cleanable_bytes, 0);
  EXPECT_EQ(result.reason, PassReason::kNone);
}

TEST(Choose, AFirstDirtyInsideASegmentCountsThatSegmentTwice) {
  auto log = ten_segments();
  log.clean_end(95);
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.clean_bytes, 1000);
  EXPECT_EQ(result.cleanable_bytes, 100);
}

TEST(Choose, SumsOfLargeLogsDoNotOverflow) {
  auto log = compacted();
  for (Offset i = 0; i < 4; ++i) {
    log.closed({.base = 10 * i, .end = 10 * i + 10, .bytes = 2 * kGibibyte});
  }
  log.active({.base = 40, .end = 41});
  log.clean_end(10);
  EXPECT_DOUBLE_EQ(assess(log.view(), {}, 5000).ratio, 0.75);
}

TEST(Choose, ADamagedLogIsNotCompacted) {
  auto log = ten_segments();
  log.damaged({.segment_base_offset = 20});
  const auto result = assess(log.view(), {}, 5000);
  EXPECT_EQ(result.reason, PassReason::kNone);
  EXPECT_NE(result.skip_reason.find("segment 20"), std::string::npos);
}

Cleanability with(PassReason reason, double ratio, std::int64_t overdue_ms = -1) {
  Cleanability result;
  result.reason = reason;
  result.ratio = ratio;
  result.overdue_ms = overdue_ms;
  return result;
}

TEST(Choose, OverdueLogsFirstThenTheDirtiest) {
  const std::vector<Cleanability> all = {
      with(PassReason::kNone, 1.0), with(PassReason::kRatio, 0.9),
      with(PassReason::kOverdue, 0.1, 5), with(PassReason::kOverdue, 0.2, 3),
      with(PassReason::kHorizon, 0, 4)};
  EXPECT_EQ(choose(all), 2U);
  EXPECT_EQ(choose(std::vector{all[0], all[1]}), 1U);
  EXPECT_EQ(choose(std::vector{all[3], all[4]}), 1U);
  EXPECT_EQ(choose(std::vector{all[0], all[4]}), 1U);
  EXPECT_FALSE(choose(std::vector{all[0]}));
}

TEST(Choose, AnExpiredHorizonGoesBeforeTheDirtiestByHowLateItIs) {
  auto dirty = ten_segments();
  auto expired = compacted();
  expired.closed({.base = 0, .end = 10, .horizon = 1'000'000});
  expired.clean_end(10);
  const TimestampMs late = 1'000'000 + 5 * kMinuteMs + 7;
  const auto idle = assess(expired.view(), {}, late);
  EXPECT_EQ(idle.overdue_ms, 7);
  EXPECT_TRUE(goes_first(idle, assess(dirty.view(), {}, late)));
  EXPECT_TRUE(goes_first(with(PassReason::kOverdue, 0, 8), idle));
  // A log that is also dirty gets one pass for both, and no later.
  expired.closed({.base = 10, .end = 20}).active({.base = 20, .end = 21});
  expired.options.min_cleanable_dirty_ratio = 0;
  const auto both = assess(expired.view(), {}, late);
  EXPECT_EQ(both.reason, PassReason::kRatio);
  EXPECT_EQ(both.overdue_ms, 7);
}

TEST(Choose, AnIdleLogWaitsForNoLastPassThatLiesAhead) {
  auto log = compacted();
  log.closed({.base = 0, .end = 10});
  const LastPass last{.ended_ms = 1'000'000, .took_ms = 100};
  EXPECT_EQ(assess(log.view(), last, 1'000'500).reason, PassReason::kRatio);
  log.options.min_cleanable_dirty_ratio = 1;
  EXPECT_EQ(assess(log.view(), last, 1'000'500).reason, PassReason::kNone);
  EXPECT_EQ(assess(log.view(), last, 5000).reason, PassReason::kIdle);
}

}  // namespace
}  // namespace lastword::cleaner
