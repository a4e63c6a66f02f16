// SPDX-License-Identifier: Apache-2.0
// Appends: offsets, duplicates, rolls, and what is refused.
#include <gtest/gtest.h>

#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::Appended;
using storage::LogView;

class LogAppendTest : public testing::Test, protected LogFixture {
 protected:
  void SetUp() override { open(); }
  std::size_t closed_count() { return log->view().closed->size(); }
  static BatchSpec produced(std::int32_t sequence, std::int16_t epoch = 0) {
    return {.records = {{.key = "k", .value = "v"}},
            .producer_id = 9,
            .producer_epoch = epoch,
            .base_sequence = sequence};
  }
};

TEST_F(LogAppendTest, GivesOffsetsInOrderAndStampsTheEpoch) {
  EXPECT_EQ(append("a").base_offset, 0);
  const Appended second = append({.records = {{"b", "1"}, {"c", "2"}, {"d", "3"}}});
  EXPECT_EQ(second.base_offset, 1);
  EXPECT_EQ(second.last_offset, 3);
  EXPECT_EQ(log->offsets().log_end, 4);
  sync();
  const auto headers = headers_of(read_all(0));
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_EQ(headers[1].base_offset, 1);
  EXPECT_EQ(headers[1].leader_epoch, 0);
}

TEST_F(LogAppendTest, KeepsTheCreatorsTimesUnlessTheTopicSaysOtherwise) {
  EXPECT_EQ(append("a").log_append_time, -1);
  const Appended stamped = append(
      {.records = {{"a", "1"}}, .timestamp = 77, .attributes = batch_attribute::kLogAppendTime});
  EXPECT_EQ(stamped.log_append_time, 77);
}

TEST_F(LogAppendTest, AnswersADuplicateWithItsOriginal) {
  append("before");
  const Appended original = append(produced(0));
  append("between");
  const Appended again = append(produced(0));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.base_offset, original.base_offset);
  EXPECT_TRUE(again.sync_wanted) << "a duplicate waits for the sync of its original";
  EXPECT_EQ(log->offsets().log_end, 3);
  sync();
  EXPECT_FALSE(append(produced(0)).sync_wanted);
}

TEST_F(LogAppendTest, RefusesGapsAndOldEpochs) {
  append(produced(0, 1));
  EXPECT_EQ(append_error(produced(2, 1)), ErrorKind::kOutOfOrderSequence);
  EXPECT_EQ(append_error(produced(1, 0)), ErrorKind::kInvalidProducerEpoch);
  EXPECT_EQ(log->offsets().log_end, 1);
  EXPECT_FALSE(append(produced(1, 1)).duplicate);
}

TEST_F(LogAppendTest, RollsBeforeASegmentBecomesLargerThanItMay) {
  options.segment_bytes = 300;
  set_options();
  const std::size_t one = batch({.records = {{"k", "v"}}}).size();
  for (int i = 0; i < 20; ++i) append("k", "v");
  const LogView view = log->view();
  ASSERT_GT(view.closed->size(), 2u);
  for (const auto& segment : *view.closed) {
    EXPECT_LE(segment->info.size_bytes, 300u);
    EXPECT_GT(segment->info.size_bytes + one, 300u);
  }
  EXPECT_EQ(view.active.base_offset, view.closed->back()->info.last_offset + 1);
}

TEST_F(LogAppendTest, LetsABatchLargerThanASegmentStandAlone) {
  options.segment_bytes = 200;
  set_options();
  append("small");
  append("large", std::string(1000, 'x'));
  append("small");
  const LogView view = log->view();
  ASSERT_EQ(view.closed->size(), 2u);
  EXPECT_EQ(view.closed->back()->info.records, 1);
  EXPECT_GT(view.closed->back()->info.size_bytes, 1000u);
  sync();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2}));
}

TEST_F(LogAppendTest, RollsWhenAnIndexIsFull) {
  options.index_interval_bytes = 0;
  options.segment_index_bytes = 60;
  reopen();
  for (int i = 0; i < 30; ++i) append("k");
  EXPECT_GT(closed_count(), 2u);
  sync();
  EXPECT_EQ(records().size(), 30u);
}

/// Rolling an empty segment would begin another at the same base.
TEST_F(LogAppendTest, AnIndexTooSmallForAnEntryIsNoEndlessRoll) {
  options.index_interval_bytes = 0;
  options.segment_index_bytes = 12;
  reopen();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(append("k").base_offset, i);
  EXPECT_EQ(closed_count(), 4u);
  sync();
  reopen();
  EXPECT_EQ(append("k").base_offset, 5);
  sync();
  EXPECT_EQ(records().size(), 6u);
}

TEST_F(LogAppendTest, ASmallerSegmentSizeHoldsFromTheNextAppendOn) {
  for (int i = 0; i < 10; ++i) append("k", std::string(100, 'v'));
  EXPECT_EQ(closed_count(), 0u);
  options.segment_bytes = 300;
  set_options();
  append("k");
  EXPECT_EQ(closed_count(), 1u);
  for (int i = 0; i < 10; ++i) append("k", std::string(100, 'v'));
  EXPECT_GT(closed_count(), 4u);
}

TEST_F(LogAppendTest, RollsByTheBrokersClockAndNotByRecordTimes) {
  options.segment_ms = 1000;
  set_options();
  append({.records = {{"k", "v"}}, .timestamp = 5});
  append({.records = {{"k", "v"}}, .timestamp = 5'000'000});
  EXPECT_EQ(closed_count(), 0u);
  clock.advance(999);
  append("k");
  EXPECT_EQ(closed_count(), 0u);
  clock.advance(1);
  append("k");
  EXPECT_EQ(closed_count(), 1u);
}

TEST_F(LogAppendTest, TellsWhenTheActiveSegmentIsToBeClosed) {
  EXPECT_EQ(log->active_close_due_ms(), kUnlimited) << "it is empty";
  options.segment_ms = 1000;
  options.max_compaction_lag_ms = 400;
  set_options();
  const TimestampMs first = clock.now_ms();
  EXPECT_TRUE(append("k").opened_segment);
  clock.advance(10);
  EXPECT_FALSE(append("k").opened_segment);
  EXPECT_EQ(log->active_close_due_ms(), first + 1000) << "the lag is for compacted topics";
  options.cleanup_policy = {.remove = false, .compact = true};
  set_options();
  EXPECT_EQ(log->active_close_due_ms(), first + 400);
}

TEST_F(LogAppendTest, ClosesTheActiveSegmentByTheClockWithoutAProduce) {
  options.segment_ms = 1000;
  set_options();
  append("k");
  auto early = log->close_active_if_due(clock.now_ms() + 999);
  ASSERT_TRUE(early);
  EXPECT_FALSE(*early);
  auto due = log->close_active_if_due(clock.now_ms() + 1000);
  ASSERT_TRUE(due);
  EXPECT_TRUE(*due);
  EXPECT_EQ(closed_count(), 1u);
  EXPECT_EQ(log->active_close_due_ms(), kUnlimited);
}

TEST_F(LogAppendTest, TakesAJitterOffSegmentMsThatStaysTheSameForASegment) {
  options.segment_ms = 100'000;
  options.segment_jitter_ms = 50'000;
  set_options();
  const TimestampMs first = clock.now_ms();
  append("k");
  const TimestampMs due = log->active_close_due_ms();
  EXPECT_GE(due, first + 50'000);
  EXPECT_LE(due, first + 100'000);
  EXPECT_EQ(log->active_close_due_ms(), due);
}

TEST_F(LogAppendTest, DoesNotCloseAnEmptySegment) {
  auto closed = log->close_active();
  ASSERT_TRUE(closed);
  EXPECT_FALSE(*closed);
  EXPECT_EQ(closed_count(), 0u);
}

TEST_F(LogAppendTest, SaysThatTheDiskIsFullWhileTheReserveIsNotWhole) {
  reserve_bytes = 4096;
  reopen();
  append("k");
  reserve->give_up();
  EXPECT_EQ(append_error({.records = {{"k", "v"}}}), ErrorKind::kDiskFull);
  EXPECT_NE(last_error.find("limits.disk_reserve_bytes"), std::string::npos) << last_error;
  EXPECT_EQ(log->offsets().log_end, 1);
  EXPECT_TRUE(reserve->refill());
  EXPECT_EQ(append("k").base_offset, 1);
}

TEST_F(LogAppendTest, CutsBackAFailedWriteAndFencesNothing) {
  append("a");
  sync();
  const auto before = memory.content(path(0));
  files.fail_call(CallKind::kWrite, 1);
  EXPECT_EQ(append_error({.records = {{"k", "v"}}}), ErrorKind::kStorage);
  EXPECT_EQ(memory.content(path(0)), before);
  EXPECT_FALSE(log->offsets().fenced);
  EXPECT_EQ(append("b").base_offset, 1);
  sync();
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogAppendTest, AFullDiskShowsAtTheAppendAndLeavesTheLogAsItWas) {
  append("a");
  sync();
  memory.limit_space(memory.space_used());
  EXPECT_EQ(append_error({.records = {{"k", std::string(1 << 20, 'x')}}}), ErrorKind::kDiskFull);
  EXPECT_NE(last_error.find(kDirectory), std::string::npos) << last_error;
  memory.limit_space(1ull << 40);
  EXPECT_EQ(append("b").base_offset, 1);
  sync();
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogAppendTest, RollsOnAFullDiskByGivingUpTheReserve) {
  reserve_bytes = 1 << 20;
  reopen();
  append("a");
  sync();
  memory.limit_space(memory.space_used() - (512 << 10));  // a roll frees what was taken ahead
  roll();
  EXPECT_FALSE(reserve->whole());
  EXPECT_EQ(closed_count(), 1u);
}

TEST_F(LogAppendTest, AFailedRollLeavesTheLogAsItWas) {
  for (const CallKind kind : {CallKind::kCreate, CallKind::kRename, CallKind::kSyncDirectory}) {
    append("a");
    files.fail_call(kind, 1);
    EXPECT_FALSE(log->close_active());
    EXPECT_EQ(closed_count(), 0u);
    append("b");
    sync();
  }
  EXPECT_EQ(records().size(), 6u);
  crash_and_open(CrashKind::kPower);
  EXPECT_EQ(records().size(), 6u);
  roll();
  EXPECT_EQ(append("c").base_offset, 6);
}

/// The manifest on disk may list a segment that the log does not know of, if only the last step of
/// its saving failed.
TEST_F(LogAppendTest, AcknowledgesNothingThatADoubtfulManifestWouldNotList) {
  append("a");
  sync();
  files.fail_call(CallKind::kSyncDirectory, 2);  // the first is for the new segment's name
  EXPECT_FALSE(log->close_active());
  append("b");
  sync();
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kKept});
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogAppendTest, OpensNoMoreFilesThanTheCacheMay) {
  options.segment_bytes = 100;
  files_max = 4;
  reopen();
  for (int i = 0; i < 50; ++i) append("k");
  sync();
  EXPECT_LE(cache->open_count(), 4u);
}

TEST_F(LogAppendTest, AsksForASyncOfEveryAppend) { EXPECT_TRUE(append("k").sync_wanted); }

class LogAppendOsTest : public testing::Test, protected LogFixture {
 protected:
  LogAppendOsTest() : LogFixture(Durability::kOs) {}
  void SetUp() override { open(); }
};

TEST_F(LogAppendOsTest, ShowsRecordsAtOnceAndSyncsNoData) {
  files.clear();
  EXPECT_FALSE(append("k").sync_wanted);
  EXPECT_EQ(log->offsets().high_watermark, 1);
  EXPECT_EQ(records().size(), 1u);
  roll();
  append("k");
  EXPECT_EQ(files.count(CallKind::kSyncData, ".log"), 0u);
}

TEST_F(LogAppendOsTest, AsksForASyncAfterFlushMessages) {
  options.flush_messages = 3;
  set_options();
  EXPECT_FALSE(append("k").sync_wanted);
  EXPECT_FALSE(append("k").sync_wanted);
  EXPECT_TRUE(append("k").sync_wanted);
  sync();
  EXPECT_FALSE(append("k").sync_wanted);
}

TEST_F(LogAppendOsTest, SyncsWhatWasClosedAndThenMovesTheRecoveryPoint) {
  append("a");
  roll();
  append("b");
  roll();
  append("c");
  files.clear();
  sync();
  EXPECT_EQ(files.count(CallKind::kSyncData, ".log"), 3u);
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_LE(records().size(), 3u);
}

}  // namespace
}  // namespace lastword::test
