// SPDX-License-Identifier: Apache-2.0
// Retention through Cleaner and Log: policies, clocks, and files that really go.
#include <gtest/gtest.h>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::StoreFixture;

class Retain : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }
  StoreFixture broker{};
};

TEST_F(Retain, AnIdleTopicIsEmptyAfterItsTimeWithoutAnotherProduce) {
  broker.create("t", {{"retention.ms", "5000"}});
  broker.put("t", "a-key", "1");
  broker.run_due();
  broker.clock.advance(5000);
  broker.run_due();
  EXPECT_EQ(broker.log("t").offsets().log_start, 0);
  broker.clock.advance(1);
  broker.run_due();
  EXPECT_EQ(broker.log("t").offsets().log_start, 1);
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 1);
  EXPECT_FALSE(broker.on_disk("t", "a-key"));
  EXPECT_EQ(broker.put("t", "b", "2"), 1);
}

TEST_F(Retain, TellsTheMomentAtWhichItIsDue) {
  broker.create("t", {{"retention.ms", "5000"}});
  broker.put("t", "a", "1");
  EXPECT_EQ(broker.run_due(), broker.clock.now_ms() + 5001);
}

TEST_F(Retain, AFutureTimestampDoesNotKeepASegmentForEverAndIsReported) {
  broker.create("t", {{"retention.ms", "5000"},
                      {"segment.ms", "1000"},
                      {"message.timestamp.after.max.ms", "9223372036854775807"}});
  const TimestampMs future = broker.clock.now_ms() + 10 * 365 * 24 * kHourMs;
  broker.append("t", {.records = {{"a", "1"}}, .timestamp = future});
  broker.advance(1000);
  broker.advance(5000);
  EXPECT_EQ(broker.log("t").offsets().log_start, 1);
  EXPECT_TRUE(broker.said("t-0: segment 0"));
  EXPECT_TRUE(broker.said(std::to_string(future)));
}

TEST_F(Retain, PolicyCompactLosesNothingToTimeOrSize) {
  broker.create("t", {{"cleanup.policy", "compact"},
                      {"retention.ms", "1000"},
                      {"retention.bytes", "1"},
                      {"segment.ms", "1000"}});
  broker.put("t", "a", "1");
  broker.advance(1000);
  broker.advance(30000);
  EXPECT_EQ(broker.table("t").at("a"), "1");
}

TEST_F(Retain, BothPoliciesActInEitherOrder) {
  for (const char* policy : {"compact,delete", "delete,compact"}) {
    const std::string name = std::string("t-") + policy[0];
    broker.create(name, {{"cleanup.policy", policy},
                         {"retention.ms", "60000"},
                         {"segment.ms", "1000"},
                         {"min.cleanable.dirty.ratio", "0.01"}});
    broker.put(name, "a", "1");
    broker.put(name, "a", "2");
    broker.advance(1000);
    EXPECT_EQ(broker.offsets_left(name), (std::vector<Offset>{1}));
    broker.advance(60000);
    EXPECT_TRUE(broker.read(name).empty());
    EXPECT_EQ(broker.log(name).offsets().log_start, 2);
  }
}

TEST_F(Retain, TheSizeRuleLeavesAtLeastSoMuch) {
  broker.create("t", {{"retention.bytes", "10000"}, {"segment.bytes", "2048"}});
  for (int i = 0; i < 100; ++i) broker.put("t", "k", std::string(400, 'v'));
  broker.advance(30000);
  EXPECT_GE(broker.read_bytes("t").size(), 10000U);
  EXPECT_LT(broker.read_bytes("t").size(), 10000U + 2048U);
}

TEST_F(Retain, ADeleteOnlyLogIsLookedAtByIntervalOrWhenItIsDue) {
  broker.create("t", {{"retention.bytes", "0"}});
  broker.run_due();
  broker.put("t", "a", "1");
  broker.advance(1000);
  EXPECT_EQ(broker.log("t").offsets().log_start, 0);
  broker.advance(29000);
  EXPECT_EQ(broker.log("t").offsets().log_start, 1);
}

TEST_F(Retain, AClockThatGoesBackHoldsUpNothing) {
  broker.create("t", {{"retention.bytes", "0"}, {"retention.ms", "-1"}});
  broker.clock.advance(48 * kHourMs);
  broker.run_due();
  broker.clock.advance(-48 * kHourMs);
  broker.put("t", "a", "1");
  broker.run_due();
  EXPECT_EQ(broker.log("t").offsets().log_start, 1);
}

TEST_F(Retain, GoesOnInQuarantine) {
  broker.create(
      "t",
      {{"cleanup.policy", "compact,delete"}, {"retention.ms", "600000"}, {"segment.ms", "1000"}});
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.roll("t");
  broker.files.damage(broker.segment_path("t", 0), 70, test::to_bytes("garbage"));
  broker.run_due();
  EXPECT_FALSE(broker.report("t").quarantine_reason.empty());
  broker.advance(600001);
  EXPECT_EQ(broker.log("t").offsets().log_start, 2);
  EXPECT_TRUE(broker.report("t").quarantine_reason.empty());
}

TEST_F(Retain, OldFilesStayForTheirDelay) {
  broker.create("t", {{"retention.ms", "1000"}, {"file.delete.delay.ms", "60000"}});
  broker.put("t", "a-key", "1");
  broker.advance(1001);
  EXPECT_EQ(broker.log("t").offsets().log_start, 1);
  EXPECT_TRUE(broker.on_disk("t", "a-key"));
  broker.advance(60000);
  EXPECT_FALSE(broker.on_disk("t", "a-key"));
}

}  // namespace
}  // namespace lastword::cleaner
