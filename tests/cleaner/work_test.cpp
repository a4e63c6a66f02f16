// SPDX-License-Identifier: Apache-2.0
// What the scheduler does for each log beside retention, and the list that passes are taken from.
#include "cleaner/work.h"

#include <gtest/gtest.h>

#include <thread>

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

// ---- what changes during a pass ------------------------------------------------------------

/// A pass on a thread of its own, held at a call; then something changes, and it goes on.
class DuringAPass : public Scheduled {
 protected:
  void TearDown() override { broker.calls.release(); }
  template <class Change>
  void change_at(CallKind call, const std::string& path_part, Change change) {
    Work work(*broker.store, broker.options, {});
    ASSERT_TRUE(work.look().pass_wanted);
    broker.calls.hold(call, path_part);
    std::thread pass([&] { EXPECT_TRUE(work.run_next_pass()); });
    EXPECT_TRUE(broker.calls.wait_until_held());
    change();
    broker.calls.release();
    pass.join();
  }
  void set_policy_delete(const std::string& topic) {
    TopicOptions changed = *broker.log(topic).options();
    changed.cleanup_policy = {.remove = true, .compact = false};
    broker.log(topic).set_options(std::make_shared<const TopicOptions>(changed));
  }
  /// Returns when x is off the list of topics; its folder goes after the pass.
  void begin_removal() {
    removal_ = std::thread([this] { EXPECT_TRUE(broker.store->remove("x")); });
    while (broker.partition("x") != nullptr) std::this_thread::yield();
  }
  void expect_no_complaint() {
    EXPECT_FALSE(broker.said("cannot be compacted"));
    EXPECT_TRUE(broker.said("; cancelled"));
  }
  // Files that a pass makes have a generation in their names.
  const std::string made_ = "x-0/00000000000000000000.";
  std::thread removal_{};
};

TEST_F(DuringAPass, NothingIsCommittedOnceThePolicyIsDelete) {
  dirty("x");
  const auto closed = [&] { return (*broker.log("x").view().closed)[0]->info; };
  const std::uint32_t generation = closed().generation;
  change_at(CallKind::kCreate, made_, [&] { set_policy_delete("x"); });
  EXPECT_EQ(records("x"), 2U);
  EXPECT_EQ(closed().generation, generation);
  EXPECT_EQ(broker.log("x").view().clean_end, 0);
  expect_no_complaint();
}

TEST_F(DuringAPass, AnErrorIsNoneOnceThePolicyIsDelete) {
  dirty("x");
  change_at(CallKind::kCreate, made_, [&] {
    set_policy_delete("x");
    broker.calls.fail_call(CallKind::kWrite, 1);
  });
  EXPECT_EQ(records("x"), 2U);
  expect_no_complaint();
}

TEST_F(DuringAPass, AnErrorIsNoneOnceTheTopicIsDeleted) {
  dirty("x");
  change_at(CallKind::kCreate, made_, [&] {
    begin_removal();
    broker.calls.fail_call(CallKind::kWrite, 1);
  });
  removal_.join();
  expect_no_complaint();
}

TEST_F(DuringAPass, ATopicThatIsDeletedDuringAVerificationIsNotDamaged) {
  dirty("x");
  const std::string path = broker.segment_path("x", 0);
  broker.files.damage(path, 30, test::to_bytes("garbage"));
  ASSERT_TRUE(broker.log("x").add_damage({.segment_base_offset = 0,
                                          .segment_generation = 0,
                                          .position = 0,
                                          .length_bytes = 60,
                                          .first_offset = 0,
                                          .last_offset = 0}));
  change_at(CallKind::kOpen, path, [&] { begin_removal(); });
  removal_.join();
  EXPECT_FALSE(broker.said("is damaged: "));
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
