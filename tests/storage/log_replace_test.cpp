// SPDX-License-Identifier: Apache-2.0
// What removes segments or puts others in their place.
#include <gtest/gtest.h>

#include "storage/segment_writer.h"
#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::CleanedSegments;
using storage::ReadPlan;
using storage::SegmentInfo;
using storage::SegmentWriter;

class LogReplaceTest : public testing::Test, protected LogFixture {
 protected:
  void SetUp() override { open(); }
  void fill(int segments, int batches) {
    for (int i = 0; i <= segments; ++i) {
      if (i > 0) roll();
      for (int j = 0; j < batches; ++j) append("key", std::string(40, 'v'));
    }
    sync();
  }
  /// The closed segments [first, first + count) in one, with only the batches at `kept`.
  CleanedSegments clean(std::size_t first, std::size_t count, const std::vector<Offset>& kept) {
    CleanedSegments cleaned;
    const auto closed = log->view().closed;
    for (std::size_t i = first; i < first + count; ++i) cleaned.replaced.push_back((*closed)[i]);
    auto writer = SegmentWriter::create(*env, kDirectory,
                                        {.base_offset = cleaned.replaced[0]->info.base_offset,
                                         .generation = log->take_generation()},
                                        {});
    EXPECT_TRUE(writer);
    for (const Offset offset : kept) {
      const Bytes bytes = bytes_of(plan(offset, 1));
      EXPECT_TRUE((*writer)->append(bytes, {.header = headers_of(bytes)[0]}, clock.now_ms()));
    }
    EXPECT_TRUE((*writer)->trim());
    EXPECT_TRUE((*writer)->sync_data());
    EXPECT_TRUE((*writer)->save_indexes());
    cleaned.made.push_back((*writer)->info());
    return cleaned;
  }
};

TEST_F(LogReplaceTest, CleanedSegmentsTakeTheirPlaceInOneStep) {
  fill(3, 3);
  CleanedSegments cleaned = clean(0, 2, {1, 5});
  cleaned.removed_tombstone_mark = 4;
  const ReadPlan before = plan(0);
  auto replaced = log->replace(cleaned);
  ASSERT_TRUE(replaced) << replaced.error().text;
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{1, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(plan(0).offsets.removed_tombstone_mark, 4);
  EXPECT_EQ(before.offsets.removed_tombstone_mark, 0);
  EXPECT_EQ(records_of(bytes_of(before)).size(), 12u) << "readers finish on the old files";
  EXPECT_FALSE(has_file("00000000000000000000.log"));
  EXPECT_FALSE(has_file("00000000000000000003.index"));
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{1, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(log->offsets().removed_tombstone_mark, 4);
  EXPECT_GT(log->take_generation(), cleaned.made[0].generation);
}

TEST_F(LogReplaceTest, AReadOfAnOffsetInAGapBeginsWithTheNextBatch) {
  fill(2, 3);
  ASSERT_TRUE(log->replace(clean(0, 2, {1, 5})));
  for (const Offset from : {2, 3, 4}) {
    EXPECT_EQ(headers_of(bytes_of(plan(from, 1))).front().base_offset, 5) << from;
  }
  ASSERT_TRUE(log->replace(clean(0, 1, {1})));
  EXPECT_EQ(headers_of(bytes_of(plan(2, 1))).front().base_offset, 6) << "the gap ends a segment";
}

TEST_F(LogReplaceTest, TheMarkNeverGoesDown) {
  fill(2, 1);
  CleanedSegments first = clean(0, 1, {0});
  first.removed_tombstone_mark = 9;
  ASSERT_TRUE(log->replace(first));
  CleanedSegments second = clean(0, 1, {0});
  second.removed_tombstone_mark = 3;
  ASSERT_TRUE(log->replace(second));
  EXPECT_EQ(log->offsets().removed_tombstone_mark, 9);
}

TEST_F(LogReplaceTest, EverythingOfARangeMayGo) {
  fill(2, 3);
  CleanedSegments nothing;
  nothing.replaced = {(*log->view().closed)[0]};
  ASSERT_TRUE(log->replace(nothing));
  EXPECT_EQ(log->view().closed->size(), 1u);
  EXPECT_EQ(offsets_read().front(), 3);
  EXPECT_EQ(log->offsets().log_start, 0) << "compaction does not move it";
}

TEST_F(LogReplaceTest, IsCancelledWhenRetentionWasFaster) {
  fill(3, 3);
  const CleanedSegments cleaned = clean(0, 2, {0});
  ASSERT_TRUE(log->drop_before(3));
  auto replaced = log->replace(cleaned);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().kind, ErrorKind::kCancelled);
  EXPECT_EQ(offsets_read(3).front(), 3);
}

TEST_F(LogReplaceTest, IsCancelledWhenDamageWasFoundMeanwhile) {
  fill(3, 3);
  const CleanedSegments cleaned = clean(0, 2, {0});
  ASSERT_TRUE(log->add_damage({.segment_base_offset = 3, .length_bytes = 9, .first_offset = 3}));
  EXPECT_EQ(log->replace(cleaned).error().kind, ErrorKind::kCancelled);
}

TEST_F(LogReplaceTest, AFailedCommitLeavesBothUntilItIsKnownWhichIsListed) {
  fill(2, 3);
  const CleanedSegments cleaned = clean(0, 2, {1, 5});
  files.fail_call(CallKind::kSyncDirectory, 1);
  EXPECT_FALSE(log->replace(cleaned));
  EXPECT_EQ(records().size(), 9u);
  EXPECT_TRUE(has_file("00000000000000000000.log"));
  EXPECT_TRUE(has_file("00000000000000000000.1.log"));
  append("k");
  EXPECT_FALSE(has_file("00000000000000000000.1.log")) << "the manifest was saved once more";
  sync();
  EXPECT_EQ(records().size(), 10u);
}

TEST_F(LogReplaceTest, FilesStayForFileDeleteDelayMs) {
  options.file_delete_delay_ms = 1000;
  set_options();
  fill(2, 3);
  ASSERT_TRUE(log->drop_before(3));
  EXPECT_TRUE(has_file("00000000000000000000.log"));
  const TimestampMs due = log->remove_old_files(clock.now_ms());
  EXPECT_EQ(due, clock.now_ms() + 1000);
  EXPECT_TRUE(has_file("00000000000000000000.log"));
  EXPECT_EQ(log->remove_old_files(due), kUnlimited);
  EXPECT_FALSE(has_file("00000000000000000000.log"));
}

TEST_F(LogReplaceTest, DropsWhatLiesWhollyBelowAndRaisesLogStart) {
  fill(3, 3);
  ASSERT_TRUE(log->drop_before(4));
  EXPECT_EQ(log->offsets().log_start, 4);
  EXPECT_EQ(log->view().closed->size(), 2u);
  EXPECT_FALSE(has_file("00000000000000000000.log"));
  EXPECT_TRUE(has_file("00000000000000000003.log"));
  EXPECT_FALSE(log->read(3, {.bytes_max = 100}));
  EXPECT_EQ(headers_of(bytes_of(plan(4, 1))).front().base_offset, 4);
  ASSERT_TRUE(log->drop_before(2)) << "below log start nothing is to be done";
  EXPECT_EQ(log->offsets().log_start, 4);
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(log->offsets().log_start, 4);
}

TEST_F(LogReplaceTest, LogStartCannotPassTheHighWatermark) {
  fill(1, 3);
  append("not synced");
  EXPECT_EQ(log->drop_before(7).error().kind, ErrorKind::kOffsetOutOfRange);
  EXPECT_EQ(log->offsets().log_start, 0);
  ASSERT_TRUE(log->drop_before(6));
  EXPECT_EQ(log->offsets().log_start, 6);
  EXPECT_EQ(log->offsets().log_end, 7);
}

TEST_F(LogReplaceTest, DroppingEverythingLeavesAnEmptyLogAtItsEnd) {
  fill(1, 3);
  ASSERT_TRUE(log->drop_before(6));
  EXPECT_EQ(log->view().closed->size(), 0u);
  EXPECT_TRUE(log->view().active.empty());
  EXPECT_EQ(append("k").base_offset, 6);
  sync();
  EXPECT_EQ(offsets_read(6), (std::vector<Offset>{6}));
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(offsets_read(6), (std::vector<Offset>{6}));
}

TEST_F(LogReplaceTest, LogStartIsDurableBeforeFilesGo) {
  fill(2, 3);
  files.clear();
  ASSERT_TRUE(log->drop_before(3));
  bool saved = false;
  for (const Call& call : files.calls()) {
    saved = saved || call.kind == CallKind::kSyncDirectory;
    if (call.kind != CallKind::kRemove || !call.path.ends_with(".log")) continue;
    EXPECT_TRUE(saved) << call.path;
  }
  EXPECT_TRUE(saved);
}

TEST_F(LogReplaceTest, CleanEndIsKept) {
  fill(1, 3);
  ASSERT_TRUE(log->set_clean_end(3));
  EXPECT_EQ(log->view().clean_end, 3);
  reopen();
  EXPECT_EQ(log->view().clean_end, 3);
}

TEST_F(LogReplaceTest, RetentionForgetsEpochsAndDamageThatItRemoved) {
  fill(1, 3);
  raise_leader_epoch = true;
  reopen();
  append("k");
  sync();
  ASSERT_TRUE(log->add_damage({.segment_base_offset = 0, .length_bytes = 9}));
  ASSERT_TRUE(log->drop_before(6));
  EXPECT_TRUE(log->view().damaged.empty());
  EXPECT_EQ(log->leader_epoch_at(6), 1);
  EXPECT_EQ(log->end_of_epoch(0).end_offset, 6);
}

class LogReplaceOsTest : public testing::Test, protected LogFixture {
 protected:
  LogReplaceOsTest() : LogFixture(Durability::kOs) {}
  void SetUp() override { open(); }
};

TEST_F(LogReplaceOsTest, ACheckpointKeepsProducersWhoseBatchesAPassRemoves) {
  const BatchSpec spec{.records = {{"k", "v"}}, .producer_id = 4};
  append(spec);
  roll();
  append("other");
  ASSERT_TRUE(log->checkpoint());
  CleanedSegments nothing;
  nothing.replaced = {(*log->view().closed)[0]};
  ASSERT_TRUE(log->replace(nothing));
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_TRUE(append(spec).duplicate);
}

}  // namespace
}  // namespace lastword::test
