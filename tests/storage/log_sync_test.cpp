// SPDX-License-Identifier: Apache-2.0
// Durability: what a sync acknowledges, and what a failed one does.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::Offsets;

class LogSyncTest : public testing::Test, protected LogFixture {
 protected:
  void SetUp() override {
    files.on_failed_sync([this](const std::string& lost) { memory.lose_unsynced(lost); });
    open();
  }
  static BatchSpec produced(std::int32_t sequence) {
    return {.records = {{.key = "k", .value = std::to_string(sequence)}},
            .producer_id = 9,
            .base_sequence = sequence};
  }
  ErrorKind sync_error() {
    auto synced = log->sync();
    EXPECT_FALSE(synced);
    return synced ? ErrorKind::kMalformed : synced.error().kind;
  }
  /// Offset 0 durable, 1 behind a fence that no manifest tells of, since no sync works.
  void fence_without_a_manifest() {
    append("a");
    sync();
    append("b");
    files.fail_syncs();
    EXPECT_EQ(sync_error(), ErrorKind::kFenced);
  }
  /// Offsets 0 and 1 durable, 2 to 4 behind the fence.
  void fence() {
    append(produced(0));
    append(produced(1));
    sync();
    for (int i = 2; i < 5; ++i) append(produced(i));
    files.fail_syncs(".log");
    EXPECT_EQ(sync_error(), ErrorKind::kFenced);
  }
};

TEST_F(LogSyncTest, OneSyncServesAllThatWereWritten) {
  for (int i = 0; i < 10; ++i) append("k");
  files.clear();
  EXPECT_EQ(sync().high_watermark, 10);
  EXPECT_EQ(files.count(CallKind::kSyncData), 1u);
  sync();
  EXPECT_EQ(files.count(CallKind::kSyncData), 1u) << "nothing was written since";
}

TEST_F(LogSyncTest, AppendsGoOnBesideASyncAndAreNotAcknowledgedByIt) {
  append("a");
  files.hold(CallKind::kSyncData, ".log");
  Offsets after;
  std::thread flusher([&] { after = sync(); });
  ASSERT_TRUE(files.wait_until_held());
  EXPECT_EQ(append("b").base_offset, 1);
  EXPECT_EQ(log->offsets().high_watermark, 0);
  files.release();
  flusher.join();
  EXPECT_EQ(after.high_watermark, 1);
  EXPECT_EQ(after.log_end, 2);
}

TEST_F(LogSyncTest, AFailedSyncFencesTheLog) {
  fence();
  const Offsets offsets = log->offsets();
  EXPECT_TRUE(offsets.fenced);
  EXPECT_EQ(offsets.fences, 1u);
  EXPECT_EQ(offsets.high_watermark, 2);
  EXPECT_EQ(append_error(produced(5)), ErrorKind::kFenced);
  EXPECT_EQ(sync_error(), ErrorKind::kFenced);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1})) << "reads below the durable end go on";
  EXPECT_FALSE(log->close_active());
  EXPECT_EQ(log->active_close_due_ms(), kUnlimited);
}

TEST_F(LogSyncTest, HealsIntoANewFileOnceASyncWorks) {
  fence();
  EXPECT_FALSE(log->heal());
  EXPECT_TRUE(log->offsets().fenced);
  files.let_sync();
  auto healed = log->heal();
  ASSERT_TRUE(healed) << healed.error().text;
  EXPECT_FALSE(healed->fenced);
  EXPECT_EQ(healed->high_watermark, 5);
  EXPECT_EQ(healed->log_end, 5);
  EXPECT_EQ(healed->fences, 1u);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(append(produced(4)).duplicate);
  EXPECT_EQ(append(produced(5)).base_offset, 5);
  sync();
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(append(produced(1)).duplicate);
}

TEST_F(LogSyncTest, HealsAtTheNextStartToo) {
  fence();
  crash_and_open(CrashKind::kProcess);
  EXPECT_TRUE(log->offsets().fenced) << "syncs still fail";
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1}));
  files.let_sync();
  reopen();
  EXPECT_FALSE(log->offsets().fenced);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(append(produced(4)).duplicate);
  EXPECT_TRUE(append(produced(0)).duplicate);
  EXPECT_EQ(append(produced(5)).base_offset, 5);
}

TEST_F(LogSyncTest, AStartWhoseSyncFailsBelievesNothingInPlaceEither) {
  append("a");
  sync();
  append("b");
  log.reset();
  start();
  files.fail_call(CallKind::kSyncData, 1);
  open();
  EXPECT_EQ(records().size(), 2u);
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogSyncTest, NorIfItsFenceCannotBeWrittenDown) {
  append("a");
  close();
  reopen();
  append("b");
  log.reset();
  start();
  files.fail_syncs();
  open();
  EXPECT_TRUE(log->offsets().fenced);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0}));
  EXPECT_TRUE(reported("could not be written down"));
  EXPECT_FALSE(log->heal());
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(records().size(), 2u);
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogSyncTest, TheCopyEndsAtTheFirstBadBatchAndProducerStateFollowsIt) {
  fence();
  const std::size_t one = batch(produced(0)).size();
  memory.damage(path(0), 4 * one - 2, Bytes{std::byte{0x55}});
  files.let_sync();
  auto healed = log->heal();
  ASSERT_TRUE(healed);
  EXPECT_EQ(healed->log_end, 3);
  EXPECT_EQ(healed->high_watermark, 3);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2}));
  EXPECT_TRUE(append(produced(2)).duplicate);
  EXPECT_TRUE(append(produced(0)).duplicate);
  EXPECT_EQ(append_error(produced(4)), ErrorKind::kOutOfOrderSequence);
  EXPECT_EQ(append(produced(3)).base_offset, 3);
  EXPECT_TRUE(reported("is lost"));
}

TEST_F(LogSyncTest, HealsWhenNothingOfTheActiveFileWasDurable) {
  append("a");
  files.fail_syncs(".log");
  EXPECT_EQ(sync_error(), ErrorKind::kFenced);
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(records().size(), 1u);
  EXPECT_FALSE(has_file("00000000000000000000.log"));
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(records().size(), 1u);
}

TEST_F(LogSyncTest, TheOldFileEndsAtItsDurableEndAfterwards) {
  fence();
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(memory.content(path(0)).size(), 2 * batch(produced(0)).size());
  const auto view = log->view();
  ASSERT_EQ(view.closed->size(), 1u);
  EXPECT_EQ((*view.closed)[0]->info.last_offset, 1);
  EXPECT_EQ(view.active.base_offset, 2);
  EXPECT_GT(view.active.generation, 0u);
  roll();
  EXPECT_EQ(records().size(), 5u);
}

TEST_F(LogSyncTest, AFailedSyncDuringARollFencesToo) {
  append("a");
  files.fail_syncs(".log");
  auto closed = log->close_active();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, ErrorKind::kFenced);
  EXPECT_TRUE(log->offsets().fenced);
  EXPECT_EQ(log->offsets().high_watermark, 0);
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(log->offsets().high_watermark, 1);
}

/// The system tells a failed write-back to one caller of fdatasync; the next one "succeeds".
TEST_F(LogSyncTest, ARollBesideAFailingSyncAcknowledgesNothing) {
  append("a");
  files.hold(CallKind::kSyncData, ".log");
  files.fail_call(CallKind::kSyncData, 1);
  std::thread flusher([&] { EXPECT_FALSE(log->sync()); });
  ASSERT_TRUE(files.wait_until_held());
  std::thread roller([&] { EXPECT_FALSE(log->close_active()); });
  files.release();
  flusher.join();
  roller.join();
  EXPECT_TRUE(log->offsets().fenced);
  EXPECT_EQ(log->offsets().high_watermark, 0);
}

TEST_F(LogSyncTest, FencesEvenIfTheFenceCannotBeWrittenDown) {
  fence_without_a_manifest();
  EXPECT_TRUE(log->offsets().fenced);
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogSyncTest, AFenceThatCouldNotBeWrittenDownIsInEachLaterManifest) {
  fence_without_a_manifest();
  files.let_sync();
  ASSERT_TRUE(log->drop_before(1));
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(offsets_read(1), (std::vector<Offset>{1}));
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(offsets_read(1), (std::vector<Offset>{1}));
}

TEST_F(LogSyncTest, AHealWritesTheFenceDownFirst) {
  fence_without_a_manifest();
  files.let_sync();
  files.fail_syncs(".log");
  EXPECT_FALSE(log->heal());
  files.let_sync();
  crash_and_open(CrashKind::kProcess);
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogSyncTest, ItIsNotClosedWellBeforeItsFenceIsWrittenDown) {
  fence_without_a_manifest();
  EXPECT_FALSE(log->close());
}

TEST_F(LogSyncTest, ClosedItHasItsFenceWrittenDown) {
  fence_without_a_manifest();
  files.let_sync();
  close();
  reopen();
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(LogSyncTest, HealsWithWhateverRoomTheDiskHas) {
  for (std::uint64_t room = 0; room < 4000; room += 50) {
    SCOPED_TRACE(testing::Message() << room << " bytes of room");
    LogFixture disk;
    disk.options.index_interval_bytes = 0;
    disk.reserve_bytes = 1 << 20;
    disk.start();
    disk.open();
    disk.append("a");
    disk.sync();
    for (int i = 0; i < 10; ++i) disk.append("b", std::string(100, 'v'));
    disk.files.fail_syncs(".log");
    EXPECT_FALSE(disk.log->sync());
    disk.files.let_sync();
    disk.memory.limit_space(disk.memory.space_used() + room);
    auto healed = disk.log->heal();
    ASSERT_TRUE(healed) << healed.error().text;
    EXPECT_EQ(healed->high_watermark, 11);
  }
}

TEST_F(LogSyncTest, ClosedAndOpenedCleanlyItReadsNoSegment) {
  for (int i = 0; i < 5; ++i) {
    append(produced(i));
    if (i % 2 == 0) roll();
  }
  append(produced(5));
  close();
  start();
  files.clear();
  open();
  EXPECT_EQ(files.count(CallKind::kRead, ".log"), 0u);
  EXPECT_EQ(files.count(CallKind::kSyncData), 0u) << "nothing has changed";
  EXPECT_EQ(log->offsets().high_watermark, 6);
  for (int i = 1; i < 6; ++i) EXPECT_TRUE(append(produced(i)).duplicate) << i;
  EXPECT_EQ(append(produced(6)).base_offset, 6);
  sync();
  EXPECT_EQ(records().size(), 7u);
}

TEST_F(LogSyncTest, ChecksPointsEverySixtyFourMebibytes) {
  options.segment_bytes = 1 << 30;
  reopen();
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 70; ++i) append("k", large);
  files.clear();
  sync();
  EXPECT_EQ(files.count(CallKind::kRename, "manifest"), 1u);
  append("k");
  sync();
  EXPECT_EQ(files.count(CallKind::kRename, "manifest"), 1u);
  log.reset();
  memory.crash(1, CrashKind::kPower, {.unsynced = Unsynced::kKept});
  start();
  files.clear();
  open();
  std::uint64_t read_bytes = 0;
  for (const Call& call : files.calls()) {
    if (call.kind == CallKind::kRead && call.path.ends_with(".log"))
      read_bytes += call.length_bytes;
  }
  EXPECT_LT(read_bytes, 1u << 20);
  EXPECT_EQ(log->offsets().log_end, 71);
}

class LogSyncOsTest : public testing::Test, protected LogFixture {
 protected:
  LogSyncOsTest() : LogFixture(Durability::kOs) {}
  void SetUp() override { open(); }
};

TEST_F(LogSyncOsTest, KeepsEverythingWhenTheProcessDies) {
  for (int i = 0; i < 4; ++i) {
    append("k");
    if (i < 3) roll();
  }
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(records().size(), 4u);
}

TEST_F(LogSyncOsTest, NoOffsetThatWasShownIsUsedAgainAfterAFence) {
  append("a");
  sync();
  append("b");
  roll();
  append("c");
  append("d");
  files.fail_syncs(".log");
  EXPECT_FALSE(log->sync());
  EXPECT_EQ(records().size(), 4u);
  const std::size_t one = batch({.records = {{"a", "value"}}}).size();
  memory.damage(path(2), one - 1, Bytes{std::byte{0x55}});  // "c", never synced
  files.let_sync();
  auto healed = log->heal();
  ASSERT_TRUE(healed) << healed.error().text;
  EXPECT_EQ(healed->high_watermark, 4);
  EXPECT_EQ(append("e").base_offset, 4);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 4}));
}

TEST_F(LogSyncOsTest, HealsOverSeveralSegments) {
  append("a");
  sync();
  append("b");
  roll();
  append("c");
  roll();
  append("d");
  files.fail_syncs(".log");
  EXPECT_FALSE(log->sync());
  crash_and_open(CrashKind::kProcess);
  EXPECT_TRUE(log->offsets().fenced);
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3}));
  append("e");
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3, 4}));
}

TEST_F(LogSyncOsTest, AStartWhoseSyncFailsBelievesNoSegmentInPlace) {
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE("sync " + std::to_string(n) + " fails");
    LogFixture disk(Durability::kOs);
    disk.open();
    disk.append("a");
    disk.roll();
    disk.append("b");
    ASSERT_TRUE(disk.log->checkpoint());  // the recovery point lies inside a segment from now on
    disk.append("c");
    disk.roll();
    disk.append("d");
    disk.roll();
    disk.append("e");
    disk.log.reset();
    disk.start();
    disk.files.on_failed_sync([&](const std::string& lost) { disk.memory.lose_unsynced(lost); });
    disk.files.clear();
    disk.files.fail_call(CallKind::kSyncData, n);
    auto opened = disk.try_open();
    if (!opened) opened = disk.try_open();
    ASSERT_TRUE(opened) << opened.error().text;
    disk.log = std::move(*opened);
    EXPECT_EQ(disk.offsets_read(), (std::vector<Offset>{0, 1, 2, 3, 4}));
    const bool reached = disk.files.count(CallKind::kSyncData) >= n;
    disk.crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
    EXPECT_EQ(disk.offsets_read(), (std::vector<Offset>{0, 1, 2, 3, 4}));
    if (HasFailure() || !reached) return;
  }
}

TEST_F(LogSyncOsTest, AMachineThatWentDownWhileFencedIsToldByALeaderEpoch) {
  append("a");
  sync();
  append("b");
  append("c");
  roll();
  EXPECT_EQ(records().size(), 3u);
  ASSERT_TRUE(log->set_clean_end(3));
  files.fail_syncs(".log");
  EXPECT_FALSE(log->sync());
  raise_leader_epoch = true;
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_TRUE(log->offsets().fenced);
  EXPECT_EQ(log->offsets().leader_epoch, 1);
  EXPECT_EQ(log->view().clean_end, 1);
  raise_leader_epoch = false;  // the next start is of the same boot
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(log->offsets().leader_epoch, 1);
  files.let_sync();
  ASSERT_TRUE(log->heal());
  EXPECT_EQ(append("d").base_offset, 1);
  EXPECT_EQ(log->end_of_epoch(0).end_offset, 1);
  EXPECT_EQ(log->leader_epoch_at(1), 1);
  EXPECT_EQ(log->view().clean_end, 1);
}

}  // namespace
}  // namespace lastword::test
