// SPDX-License-Identifier: Apache-2.0
// Opening: new logs, unclean stops, lost and damaged files.
#include <gtest/gtest.h>

#include "storage/manifest.h"
#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::SegmentFile;
using storage::SegmentInfo;

class LogRecoveryTest : public testing::Test, protected LogFixture {
 protected:
  void SetUp() override { open(); }
  static BatchSpec produced(std::int32_t sequence) {
    return {.records = {{.key = "k", .value = std::to_string(sequence)}},
            .producer_id = 9,
            .base_sequence = sequence};
  }
  void fill(int segments, int batches) {
    for (int i = 0; i <= segments; ++i) {
      if (i > 0) roll();
      for (int j = 0; j < batches; ++j) append("key", std::string(40, 'v'));
    }
    sync();
  }
  static std::size_t one() { return batch({.records = {{"key", std::string(40, 'v')}}}).size(); }
  void append_to_file(const std::string& name, const Bytes& bytes) {
    auto file = memory.open(name, storage::OpenMode::kReadWrite);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write_at(memory.content(name).size(), bytes));
    ASSERT_TRUE((*file)->sync_data());
  }
  void cut_file(const std::string& name, std::uint64_t size_bytes) {
    auto file = memory.open(name, storage::OpenMode::kReadWrite);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->truncate(size_bytes));
    ASSERT_TRUE((*file)->sync_data());
  }
};

TEST_F(LogRecoveryTest, ANewLogSurvivesAPowerCutAtOnce) {
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(log->offsets().log_end, 0);
  EXPECT_EQ(append("k").base_offset, 0);
}

TEST_F(LogRecoveryTest, AFolderOfAnotherTopicIsNotTouched) {
  topic_id[0] = std::byte{8};
  start();
  auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::kDamaged);
  topic_id[0] = std::byte{7};
  reopen();
}

TEST_F(LogRecoveryTest, CutsATornTail) {
  fill(0, 3);
  const Bytes whole = memory.content(path(0));
  append_to_file(path(0), Bytes(whole.begin(), whole.begin() + 50));
  reopen();
  EXPECT_EQ(memory.content(path(0)), whole);
  EXPECT_EQ(log->offsets().log_end, 3);
  EXPECT_TRUE(log->view().damaged.empty());
  EXPECT_TRUE(reported("cut 50 bytes"));
  EXPECT_EQ(append("k").base_offset, 3);
}

// A record's value may be a batch, of a mirrored log for example.
TEST_F(LogRecoveryTest, AValueInATornTailIsNotTakenForABatch) {
  fill(0, 3);
  const Bytes whole = memory.content(path(0));
  const Bytes value = batch({.base_offset = 1000, .records = {{.key = "k", .value = "inner"}}});
  const Bytes torn =
      batch({.base_offset = 3,
             .records = {{.key = "a", .value = to_text(value)}, {.key = "b", .value = "1"}}});
  append_to_file(path(0), Bytes(torn.begin(), torn.end() - 1));
  reopen();
  EXPECT_EQ(log->offsets().log_end, 3);
  EXPECT_EQ(memory.content(path(0)), whole);
  EXPECT_TRUE(log->view().damaged.empty());
}

TEST_F(LogRecoveryTest, WhatIsReadableAfterAnUncleanStopIsSyncedFirst) {
  append("a");
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(records().size(), 1u);
  crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  EXPECT_EQ(records().size(), 1u);
}

TEST_F(LogRecoveryTest, ABadBatchWithGoodOnesBehindItIsAGap) {
  fill(0, 5);
  memory.damage(path(0), 2 * one() + 70, Bytes{std::byte{0x55}});
  reopen();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 3, 4}));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].first_offset, 2);
  EXPECT_EQ(log->view().damaged[0].last_offset, 2);
  EXPECT_TRUE(reported("offsets 2 to 2"));
  EXPECT_EQ(append("k").base_offset, 5);
  close();
  reopen();
  EXPECT_EQ(log->view().damaged.size(), 1u);
}

TEST_F(LogRecoveryTest, WhatReachedTheDiskBehindAHoleIsCutAndTakenAgain) {
  int holes = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LogFixture disk;
    disk.open();
    disk.append(produced(0));
    disk.sync();
    disk.append(produced(1));
    disk.append(produced(2));
    disk.log.reset();
    disk.memory.crash(seed, CrashKind::kPower, {.unsynced = Unsynced::kSubset});
    const std::uint64_t size_bytes = disk.memory.content(path(0)).size();
    const auto file = *disk.memory.open(path(0), storage::OpenMode::kRead);
    const bool hole = *file->first_hole(0, size_bytes) < size_bytes;
    disk.reopen();
    EXPECT_TRUE(disk.log->view().damaged.empty());
    EXPECT_TRUE(!hole || disk.log->offsets().log_end == 1);
    for (auto next = static_cast<std::int32_t>(disk.log->offsets().log_end); next <= 2; ++next) {
      EXPECT_EQ(disk.append(produced(next)).base_offset, next);
    }
    disk.sync();
    EXPECT_EQ(disk.offsets_read(), (std::vector<Offset>{0, 1, 2}));
    holes += hole ? 1 : 0;
  }
  EXPECT_GT(holes, 0) << "no seed made a hole";
}

TEST_F(LogRecoveryTest, NothingBelowTheRecoveryPointIsCut) {
  fill(0, 5);
  close();
  const Bytes whole = memory.content(path(0));
  memory.damage(path(0), 4 * one() + 70, Bytes{std::byte{0x55}});
  for (const SegmentFile file : {SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex}) {
    ASSERT_TRUE(memory.remove(path(0, 0, file)));  // so that the file is read
  }
  reopen();
  EXPECT_EQ(memory.content(path(0)).size(), whole.size());
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3}));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].last_offset, 4);
  EXPECT_EQ(append("k").base_offset, 5);
}

TEST_F(LogRecoveryTest, OffsetsOfALostTailAreNotUsedAgain) {
  fill(0, 5);
  close();
  cut_file(path(0), 3 * one() + 10);
  reopen();
  EXPECT_EQ(log->offsets().log_end, 5);
  EXPECT_EQ(log->offsets().high_watermark, 5);
  EXPECT_EQ(append("k").base_offset, 5);
  sync();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 5}));
  close();
  reopen();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 5}));
}

TEST_F(LogRecoveryTest, TheLogGoesOnWithoutItsActiveFile) {
  fill(1, 3);
  close();
  ASSERT_TRUE(memory.remove(path(3)));
  reopen();
  EXPECT_EQ(append("k").base_offset, 6);
  sync();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 6}));
}

TEST_F(LogRecoveryTest, AMissingClosedSegmentIsADamagedRange) {
  fill(2, 3);
  close();
  ASSERT_TRUE(memory.remove(path(3)));
  reopen();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 6, 7, 8}));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].first_offset, 3);
  EXPECT_EQ(log->view().damaged[0].last_offset, 5);
}

TEST_F(LogRecoveryTest, AClosedSegmentThatBecameShorterKeepsWhatIsThere) {
  fill(1, 3);
  close();
  cut_file(path(0), 2 * one() + 7);
  reopen();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 3, 4, 5}));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].position, 2 * one());
  EXPECT_EQ(log->view().damaged[0].first_offset, 2);
}

TEST_F(LogRecoveryTest, RemovesWhatIsNotListedAndNothingElse) {
  fill(1, 2);
  close();
  for (const char* name :
       {"00000000000000000002.3.log", "00000000000000000001.index", "00000000000000000009.snapshot",
        "manifest.tmp", "00000000000000000077.timeindex", "notes.txt", "x.log"}) {
    ASSERT_TRUE(memory.open(storage::path_in(kDirectory, name), storage::OpenMode::kCreate));
  }
  const std::string temporary = storage::temporary_path(path(0));
  ASSERT_TRUE(memory.open(temporary, storage::OpenMode::kCreate));
  reopen();
  EXPECT_FALSE(has_file("00000000000000000002.3.log"));
  EXPECT_FALSE(has_file("00000000000000000001.index"));
  EXPECT_FALSE(has_file("00000000000000000009.snapshot"));
  EXPECT_FALSE(has_file("00000000000000000077.timeindex"));
  EXPECT_FALSE(memory.status(temporary)->exists);
  EXPECT_TRUE(has_file("notes.txt"));
  EXPECT_TRUE(has_file("x.log"));
  EXPECT_EQ(records().size(), 4u);
}

TEST_F(LogRecoveryTest, RecordsWithoutAManifestAreRefusedAndLeftAlone) {
  fill(1, 2);
  const Bytes kept = memory.content(path(0));
  close();
  const Bytes manifest = memory.content(kDirectory + std::string("/manifest"));
  ASSERT_TRUE(memory.remove(kDirectory + std::string("/manifest")));
  start();
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(opened.error().text.find("no manifest"), std::string::npos);
  EXPECT_EQ(memory.content(path(0)), kept);
  ASSERT_TRUE(memory.open(kDirectory + std::string("/manifest"), storage::OpenMode::kCreate));
  append_to_file(kDirectory + std::string("/manifest"), manifest);
  reopen();
  EXPECT_EQ(records().size(), 4u);
}

// A start removes what the manifest does not list; the manifest must outlive that.
TEST_F(LogRecoveryTest, APowerCutAfterAStartDoesNotBringAnOlderManifestBack) {
  for (std::uint64_t stop = 1;; ++stop) {
    SCOPED_TRACE(testing::Message() << "stopped at operation " << stop);
    fill(1, 2);
    close();
    reopen();  // so that the next start finds nothing to save
    const Offset start_wanted = log->view().active.base_offset;
    memory.stop_at(memory.operations() + stop);
    static_cast<void>(log->drop_before(start_wanted));
    const bool stopped = memory.stopped();
    crash_and_open(CrashKind::kProcess);
    const Offset shown = log->offsets().log_start;
    crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
    ASSERT_GE(log->offsets().log_start, shown);
    ASSERT_TRUE(log->view().damaged.empty());
    if (!stopped) break;
  }
}

TEST_F(LogRecoveryTest, FactsOfTheActiveSegmentAreFoundAgain) {
  options.index_interval_bytes = 100;
  reopen();
  append({.records = {{"a", "1"}, {"b", std::nullopt}}, .timestamp = 500});
  append({.records = {{"c", "1"}}, .codec = Codec::kLz4, .timestamp = 900});
  append({.records = {{"d", std::nullopt}}, .codec = Codec::kZstd, .timestamp = 700});
  sync();
  const SegmentInfo before = log->view().active;
  EXPECT_EQ(before.unstamped_tombstones, 2);
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(log->view().active, before);
  close();
  reopen();
  EXPECT_EQ(log->view().active, before);
}

TEST_F(LogRecoveryTest, FileTimesStandInForAppendTimesAfterAnUncleanStop) {
  const TimestampMs created = clock.now_ms();
  clock.advance(5000);
  append("k");
  sync();
  const TimestampMs appended = clock.now_ms();
  clock.advance(5000);
  crash_and_open(CrashKind::kProcess);
  EXPECT_EQ(log->view().active.first_append_ms, created);
  EXPECT_EQ(log->view().active.last_append_ms, appended);
}

TEST_F(LogRecoveryTest, FiveBatchesOfAProducerSurviveARestartAndAKill) {
  for (int i = 0; i < 4; ++i) append(produced(i));
  roll();
  for (int i = 4; i < 7; ++i) append(produced(i));
  sync();
  crash_and_open(CrashKind::kProcess);
  for (int i = 2; i < 7; ++i) EXPECT_TRUE(append(produced(i)).duplicate) << i;
  close();
  reopen();
  for (int i = 2; i < 7; ++i) EXPECT_TRUE(append(produced(i)).duplicate) << i;
  EXPECT_EQ(append_error(produced(8)), ErrorKind::kOutOfOrderSequence);
  EXPECT_EQ(append(produced(7)).base_offset, 7);
}

TEST_F(LogRecoveryTest, WithoutASnapshotTheWholeLogIsReadForProducers) {
  for (int i = 0; i < 7; ++i) {
    append(produced(i));
    if (i % 2 == 1) roll();
  }
  close();
  ASSERT_TRUE(has_file("00000000000000000007.snapshot"));
  const std::string snapshot = storage::path_in(kDirectory, "00000000000000000007.snapshot");
  memory.damage(snapshot, 0, Bytes(4, std::byte{0}));
  reopen();
  EXPECT_TRUE(reported("reading the whole log"));
  for (int i = 2; i < 7; ++i) EXPECT_TRUE(append(produced(i)).duplicate) << i;
  ASSERT_TRUE(memory.remove(snapshot));
  reopen();
  EXPECT_EQ(append_error(produced(8)), ErrorKind::kOutOfOrderSequence);
}

TEST_F(LogRecoveryTest, OnlyOneSnapshotIsKept) {
  for (int i = 0; i < 4; ++i) {
    append(produced(i));
    roll();
  }
  close();
  std::size_t snapshots = 0;
  for (const std::string& name : names()) snapshots += name.ends_with(".snapshot") ? 1 : 0;
  EXPECT_EQ(snapshots, 1u);
}

TEST_F(LogRecoveryTest, RaisesTheLeaderEpochWhenItIsAskedTo) {
  fill(0, 3);
  raise_leader_epoch = true;
  reopen();
  EXPECT_EQ(log->offsets().leader_epoch, 1);
  append("k");
  sync();
  EXPECT_EQ(log->leader_epoch_at(2), 0);
  EXPECT_EQ(log->leader_epoch_at(3), 1);
  EXPECT_EQ(headers_of(read_all(3)).front().leader_epoch, 1);
  EXPECT_EQ(log->end_of_epoch(0).end_offset, 3);
  EXPECT_EQ(log->end_of_epoch(1).end_offset, 4);
  reopen();
  reopen();
  EXPECT_EQ(log->offsets().leader_epoch, 3);
  EXPECT_EQ(log->end_of_epoch(2).epoch, 1) << "nothing was written in epoch 2";
  EXPECT_EQ(log->end_of_epoch(2).end_offset, 4);
}

TEST_F(LogRecoveryTest, LogStartBeyondWhatIsLeftIsTheLogsEnd) {
  fill(1, 3);
  ASSERT_TRUE(log->drop_before(5));
  close();
  cut_file(path(3), one());
  reopen();
  EXPECT_EQ(log->offsets().log_start, 5);
  EXPECT_EQ(log->offsets().log_end, 6);
  EXPECT_EQ(append("k").base_offset, 6);
}

TEST_F(LogRecoveryTest, StartsOnAFullDisk) {
  reserve_bytes = 1 << 20;
  reopen();
  fill(1, 3);
  append("k");
  log.reset();
  start();
  memory.limit_space(memory.space_used() - (900 << 10));
  open();
  EXPECT_EQ(records().size(), 7u);
}

class LogRecoveryOsTest : public testing::Test, protected LogFixture {
 protected:
  LogRecoveryOsTest() : LogFixture(Durability::kOs) {}
  void SetUp() override { open(); }
};

TEST_F(LogRecoveryOsTest, ALostSegmentAboveTheRecoveryPointIsAGapInTheOffsets) {
  for (int i = 0; i < 3; ++i) {
    append("k");
    roll();
  }
  append("k");
  log.reset();
  ASSERT_TRUE(memory.remove(path(1)));
  reopen();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 2, 3}));
  EXPECT_TRUE(log->view().damaged.empty());
}

}  // namespace
}  // namespace lastword::test
