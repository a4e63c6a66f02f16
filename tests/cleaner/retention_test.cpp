// SPDX-License-Identifier: Apache-2.0
#include "cleaner/retention.h"

#include <gtest/gtest.h>

#include "tests/cleaner/log_views.h"

namespace lastword::cleaner {
namespace {

using test::LogViewBuilder;

constexpr TimestampMs kNow = 1'000'000;

/// Three closed segments of ten offsets and 100 bytes, then an active one with two records.
LogViewBuilder three_segments() {
  LogViewBuilder log;
  log.options.retention_ms = -1;
  log.closed({.base = 0, .end = 10, .timestamp = 100, .appended_last = 100});
  log.closed({.base = 10, .end = 20, .timestamp = 200, .appended_last = 200});
  log.closed({.base = 20, .end = 30, .timestamp = 300, .appended_last = 300});
  log.active({.base = 30, .end = 32, .bytes = 20, .timestamp = 400, .appended_last = 400});
  return log;
}

TEST(Retention, WithoutLimitsNothingGoes) {
  const auto verdict = apply_retention(three_segments().view(), kNow);
  EXPECT_FALSE(verdict.log_start);
  EXPECT_EQ(verdict.next_due_ms, kUnlimited);
}

TEST(Retention, ARecordThatIsExactlySoOldStays) {
  auto log = three_segments();
  log.options.retention_ms = 1000;
  EXPECT_FALSE(apply_retention(log.view(), 1100).log_start);
  EXPECT_EQ(apply_retention(log.view(), 1100).next_due_ms, 1101);
  EXPECT_EQ(apply_retention(log.view(), 1101).log_start, 10);
  EXPECT_EQ(apply_retention(log.view(), 1101).next_due_ms, 1201);
}

TEST(Retention, ZeroMillisecondsKeepThePresentOne) {
  auto log = three_segments();
  log.options.retention_ms = 0;
  EXPECT_EQ(apply_retention(log.view(), 300).log_start, 20);
  EXPECT_EQ(apply_retention(log.view(), 401).log_start, 32);
}

TEST(Retention, OnlyAPrefixGoes) {
  LogViewBuilder log;
  log.options.retention_ms = 1000;
  log.closed({.base = 0, .end = 10, .timestamp = 5000, .appended_last = 5000});
  log.closed({.base = 10, .end = 20, .timestamp = 100, .appended_last = 5000});
  EXPECT_FALSE(apply_retention(log.view(), 5500).log_start);
  EXPECT_EQ(apply_retention(log.view(), 6001).log_start, 20);
}

TEST(Retention, TheActiveSegmentGoesWhenItIsOldEnough) {
  auto log = three_segments();
  log.options.retention_ms = 1000;
  EXPECT_EQ(apply_retention(log.view(), 1401).log_start, 32);
  EXPECT_EQ(apply_retention(log.view(), 1401).next_due_ms, kUnlimited);
}

TEST(Retention, AnEmptyLogHasNothingToDo) {
  LogViewBuilder log;
  log.options.retention_ms = 0;
  log.options.retention_bytes = 0;
  EXPECT_FALSE(apply_retention(log.view(), kNow).log_start);
}

TEST(Retention, SegmentsAboveTheHighWatermarkStay) {
  auto log = three_segments();
  log.options.retention_ms = 1;
  log.high_watermark(25);
  EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 20);
  log.options.retention_ms = -1;
  log.options.retention_bytes = 0;
  EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 20);
}

TEST(Retention, TheSizeRuleNeverDipsBelow) {
  auto log = three_segments();  // 320 bytes
  log.options.retention_bytes = 320;
  EXPECT_FALSE(apply_retention(log.view(), kNow).log_start);
  log.options.retention_bytes = 221;  // without the first there would be 220
  EXPECT_FALSE(apply_retention(log.view(), kNow).log_start);
  log.options.retention_bytes = 220;
  EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 10);
  log.options.retention_bytes = 20;
  EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 30);
  log.options.retention_bytes = 0;
  EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 32);
}

TEST(Retention, TheSizeRuleComesBeforeTheTimeRule) {
  auto log = three_segments();
  log.options.retention_bytes = 220;
  log.options.retention_ms = 1000;
  EXPECT_EQ(apply_retention(log.view(), 1150).log_start, 10);
  EXPECT_EQ(apply_retention(log.view(), 1201).log_start, 20);
}

TEST(Retention, PolicyCompactIgnoresTimeAndSize) {
  auto log = three_segments();
  log.options.cleanup_policy = {.remove = false, .compact = true};
  log.options.retention_ms = 0;
  log.options.retention_bytes = 0;
  const auto verdict = apply_retention(log.view(), kNow);
  EXPECT_FALSE(verdict.log_start);
  EXPECT_EQ(verdict.next_due_ms, kUnlimited);
}

TEST(Retention, SegmentsBelowLogStartGoUnderEveryPolicy) {
  for (const bool remove : {false, true}) {
    auto log = three_segments();
    log.options.cleanup_policy = {.remove = remove, .compact = true};
    log.log_start(20);
    EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 20);
    log.log_start(9);
    EXPECT_FALSE(apply_retention(log.view(), kNow).log_start);
    // Log start stays where it is when it lies inside the first segment that stays.
    log.log_start(15);
    EXPECT_EQ(apply_retention(log.view(), kNow).log_start, 15);
  }
}

/// The first segment is not old enough and holds back the second, until log start passes it.
TEST(Retention, TheLogStartRuleComesFirstAndUnblocksTheTimeRuleInTheSameLook) {
  LogViewBuilder log;
  log.options.retention_ms = 900;
  log.closed({.base = 0, .end = 1, .timestamp = 1100, .appended_last = 1100});
  log.closed({.base = 1, .end = 2, .timestamp = 1000, .appended_last = 1100});
  log.active({.base = 2, .end = 3, .timestamp = 1100, .appended_last = 1100});
  EXPECT_FALSE(apply_retention(log.view(), 1901).log_start);
  log.log_start(1);
  EXPECT_EQ(apply_retention(log.view(), 1901).log_start, 2);
  LogViewBuilder left;
  left.options.retention_ms = 900;
  left.active({.base = 2, .end = 3, .timestamp = 1100, .appended_last = 1100}).log_start(2);
  EXPECT_FALSE(apply_retention(left.view(), 1901).log_start) << "once is enough";
}

TEST(Retention, AFutureTimestampCountsAsItsAppendTimeAndIsNamed) {
  LogViewBuilder log;
  log.options.retention_ms = 5000;
  log.closed({.base = 7, .end = 8, .timestamp = 999'999'999, .appended_last = 100});
  const auto verdict = apply_retention(log.view(), 5101);
  EXPECT_EQ(verdict.log_start, 8);
  ASSERT_EQ(verdict.future.size(), 1U);
  const std::string warning = describe(verdict.future.front(), "orders-0");
  EXPECT_NE(warning.find("orders-0"), std::string::npos);
  EXPECT_NE(warning.find("segment 7"), std::string::npos);
  EXPECT_NE(warning.find("999999999"), std::string::npos);
}

TEST(Retention, WithoutTimestampsTheAppendTimeCounts) {
  LogViewBuilder log;
  log.options.retention_ms = 1000;
  log.closed({.base = 0, .end = 1, .timestamp = -1, .appended_last = 100});
  EXPECT_FALSE(apply_retention(log.view(), 1100).log_start);
  EXPECT_EQ(apply_retention(log.view(), 1101).log_start, 1);
}

TEST(Retention, HugeLimitsDoNotOverflow) {
  auto log = three_segments();
  log.options.retention_ms = kUnlimited;
  log.options.retention_bytes = kUnlimited;
  const auto verdict = apply_retention(log.view(), kNow);
  EXPECT_FALSE(verdict.log_start);
  EXPECT_EQ(verdict.next_due_ms, kUnlimited);
}

}  // namespace
}  // namespace lastword::cleaner
