// SPDX-License-Identifier: Apache-2.0
// What the scheduler does for each log beside retention, and the list that passes are taken from.
#include "cleaner/work.h"

#include <gtest/gtest.h>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::CallKind;
using test::CrashKind;
using test::fast_compacted;
using test::StoreFixture;

class Scheduled : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }
  /// A closed segment with two values of one key.
  void dirty(const std::string& topic, const test::Settings& settings = fast_compacted()) {
    broker.create(topic, settings);
    broker.put(topic, "a", "1");
    broker.put(topic, "a", "2");
    broker.roll(topic);
  }
  std::size_t records(const std::string& topic) { return broker.read(topic).size(); }
  StoreFixture broker{};
};

// ---- the list of passes --------------------------------------------------------------------

TEST_F(Scheduled, PassesComeFromTheListOfTheLastLookMostUrgentFirst) {
  Work work(*broker.store, broker.options, {});
  dirty("x");
  dirty("y", fast_compacted({{"max.compaction.lag.ms", "500"}}));
  broker.clock.advance(600);
  EXPECT_TRUE(work.look().pass_wanted);
  dirty("z");
  EXPECT_TRUE(work.run_next_pass());
  EXPECT_EQ(records("y"), 1U);
  EXPECT_EQ(records("x"), 2U);
  EXPECT_TRUE(work.run_next_pass());
  EXPECT_EQ(records("x"), 1U);
  EXPECT_FALSE(work.run_next_pass());
  EXPECT_EQ(records("z"), 2U) << "it waits for the next look";
  EXPECT_TRUE(work.look().pass_wanted);
  EXPECT_TRUE(work.run_next_pass());
  EXPECT_EQ(records("z"), 1U);
  EXPECT_FALSE(work.look().pass_wanted);
}

TEST_F(Scheduled, WhatIsNotWantedAnyMoreGetsNoPass) {
  Work work(*broker.store, broker.options, {});
  dirty("deleted");
  dirty("kept");
  EXPECT_TRUE(work.look().pass_wanted);
  ASSERT_TRUE(broker.store->remove("deleted"));
  TopicOptions changed = *broker.log("kept").options();
  changed.cleanup_policy = {.remove = true, .compact = false};
  broker.log("kept").set_options(std::make_shared<const TopicOptions>(changed));
  EXPECT_FALSE(work.run_next_pass());
  EXPECT_EQ(records("kept"), 2U);
}

// ---- fences --------------------------------------------------------------------------------

TEST_F(Scheduled, AFencedLogHealsWithoutAProduce) {
  broker.create("t", {});
  broker.calls.fail_syncs("t-0");
  EXPECT_EQ(broker.put("t", "a", "1"), -1);
  ASSERT_TRUE(broker.log("t").offsets().fenced);
  EXPECT_EQ(broker.run_due(), broker.clock.now_ms() + kSecondMs);
  broker.clock.advance(kSecondMs);
  EXPECT_EQ(broker.run_due(), broker.clock.now_ms() + 2 * kSecondMs);
  broker.calls.let_sync();
  broker.advance(2 * kSecondMs - 1);
  EXPECT_TRUE(broker.log("t").offsets().fenced);
  EXPECT_EQ(broker.changes, 0);
  broker.advance(1);
  EXPECT_FALSE(broker.log("t").offsets().fenced);
  EXPECT_EQ(broker.changes, 1) << "who waits looks again";
  EXPECT_EQ(broker.table("t").at("a"), "1");
  // The next fence is another one: its waits begin anew.
  broker.calls.fail_syncs("t-0");
  EXPECT_EQ(broker.put("t", "a", "2"), -1);
  EXPECT_EQ(broker.run_due(), broker.clock.now_ms() + kSecondMs);
  broker.calls.let_sync();
}

TEST_F(Scheduled, AFenceFromBeforeTheStartHeals) {
  broker.create("t", {});
  broker.calls.fail_syncs(".log");
  EXPECT_EQ(broker.put("t", "a", "1"), -1);
  broker.crash(CrashKind::kProcess);
  ASSERT_TRUE(broker.start());
  ASSERT_TRUE(broker.log("t").offsets().fenced);
  broker.calls.let_sync();
  broker.run_due();
  EXPECT_FALSE(broker.log("t").offsets().fenced);
  EXPECT_EQ(broker.table("t").at("a"), "1");
}

// ---- flush.ms ------------------------------------------------------------------------------

class FlushMs : public Scheduled {
 protected:
  void SetUp() override {
    broker.options.durability = Durability::kOs;
    ASSERT_TRUE(broker.start());
    broker.create("t", {{"flush.ms", "5000"}});
    broker.calls.clear();
  }
  void append() {
    ASSERT_GE(
        broker.append_unsynced("t", {.records = {{"a", "1"}}, .timestamp = broker.clock.now_ms()}),
        0);
  }
  std::size_t syncs() const { return broker.calls.count(CallKind::kSyncData, ".log"); }
};

TEST_F(FlushMs, ARecordIsSyncedWhenItIsSoOld) {
  append();
  const TimestampMs first_ms = broker.clock.now_ms();
  EXPECT_EQ(broker.run_due(), first_ms + 5000);
  broker.advance(3000);
  append();
  EXPECT_EQ(broker.run_due(), first_ms + 5000) << "the oldest counts";
  broker.advance(1999);
  EXPECT_EQ(syncs(), 0U);
  broker.advance(1);
  EXPECT_EQ(syncs(), 1U);
  EXPECT_EQ(broker.changes, 1);
  broker.advance(24 * kHourMs);
  EXPECT_EQ(syncs(), 1U) << "nothing was written since";
}

TEST_F(FlushMs, AClockThatGoesBackHoldsUpNoSync) {
  broker.clock.advance(48 * kHourMs);
  append();
  broker.advance(-48 * kHourMs);
  EXPECT_EQ(syncs(), 1U);
}

TEST_F(FlushMs, ASyncThatFailsFencesAndTheLogHeals) {
  append();
  broker.calls.fail_syncs("t-0");
  broker.advance(5000);
  EXPECT_TRUE(broker.log("t").offsets().fenced);
  broker.calls.let_sync();
  broker.advance(kSecondMs);
  EXPECT_FALSE(broker.log("t").offsets().fenced);
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 1);
}

}  // namespace
}  // namespace lastword::cleaner
