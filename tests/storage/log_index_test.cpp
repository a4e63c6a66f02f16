// SPDX-License-Identifier: Apache-2.0
// Index files of a log: whole after a power cut, built anew once for all who ask, and never for a
// segment that has left.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::SegmentFile;

class LogIndexTest : public testing::Test, protected LogFixture {
 protected:
  static constexpr const char* kBuilding = "building them anew";

  /// Forty batches in a closed segment with indexes, one in the active one.
  void SetUp() override {
    options.index_interval_bytes = 200;
    options.file_delete_delay_ms = 0;
    open();
    for (int i = 0; i < 40; ++i) append("key", std::string(40, 'v'));
    roll();
    append("key");
    sync();
  }
  static std::string index_path() { return path(0, 0, SegmentFile::kOffsetIndex); }
  void remove_index() {
    ASSERT_TRUE(memory.remove(index_path()));
    cache->drop(index_path());
  }
  /// Each position is a little beside a batch.
  void spoil_index() {
    Bytes wrong = memory.content(index_path());
    ASSERT_GT(wrong.size(), 24u);
    for (std::size_t i = 7; i < wrong.size(); i += 8) wrong[i] ^= std::byte{1};
    memory.damage(index_path(), 0, wrong);
  }
  Offset first_read(Offset from) { return headers_of(bytes_of(plan(from))).front().base_offset; }
  std::ptrdiff_t times_reported(std::string_view words) const {
    return std::count_if(reports.begin(), reports.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  }
};

TEST_F(LogIndexTest, AreBuiltAnewOnceForAllWhoWait) {
  spoil_index();
  files.hold(CallKind::kRead, path(0));
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back([&] { EXPECT_EQ(first_read(30), 30); });
  ASSERT_TRUE(files.wait_until_held(2));
  files.release();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(times_reported(kBuilding), 1);
}

TEST_F(LogIndexTest, AreNotBuiltAnewByEachReaderOfAFullDisk) {
  remove_index();
  memory.limit_space(memory.space_used());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first_read(30), 30);
  EXPECT_EQ(times_reported(kBuilding), 1);
  EXPECT_FALSE(has_file("00000000000000000000.index"));
  memory.limit_space(memory.space_used() + 100000);
  clock.advance(kMinuteMs);
  EXPECT_EQ(first_read(30), 30);
  EXPECT_TRUE(has_file("00000000000000000000.index"));
  EXPECT_EQ(times_reported(kBuilding), 2);
}

TEST_F(LogIndexTest, AreNotMadeForASegmentThatWasDroppedMeanwhile) {
  remove_index();
  files.hold(CallKind::kRead, path(0));
  std::thread reader([&] { EXPECT_EQ(first_read(30), 30); });
  ASSERT_TRUE(files.wait_until_held());
  ASSERT_TRUE(log->drop_before(40));
  files.release();
  reader.join();
  EXPECT_FALSE(has_file("00000000000000000000.index"));
  EXPECT_FALSE(has_file("00000000000000000000.timeindex"));
}

/// Else they might be made in the folder of a topic that has the name by then.
TEST_F(LogIndexTest, ADeletionWaitsForWhoBuildsThemAnew) {
  remove_index();
  files.hold(CallKind::kRead, path(0));
  std::thread reader([&] { static_cast<void>(log->read(30, {.bytes_max = 1000})); });
  ASSERT_TRUE(files.wait_until_held());
  std::atomic<bool> abandoned = false;
  std::thread deleter([&] {
    log->abandon();
    abandoned = true;
  });
  while (log->use()) std::this_thread::yield();
  EXPECT_FALSE(abandoned);
  files.release();
  reader.join();
  deleter.join();
  EXPECT_TRUE(abandoned);
}

/// A log whose indexes a checkpoint or a roll is about to write over those of a checkpoint.
class IndexedLog : public LogFixture {
 public:
  IndexedLog() : LogFixture(Durability::kOs) {
    options.index_interval_bytes = 100;
    open();
    append_at(5);
    roll();
    for (const TimestampMs timestamp : {10, 900, 20}) append_at(timestamp);
  }
  void append_at(TimestampMs timestamp) {
    append({.records = {{"k", "v"}}, .timestamp = timestamp});
  }
  /// Whether a lookup by time knows of all that was there before the crash.
  void check() {
    for (int i = 0; i < 5; ++i) append_at(500);
    sync();
    auto found = log->find_timestamp(600);
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->offset, 2);
    roll();
    EXPECT_EQ(log->find_timestamp(600)->offset, 2);
  }
};

TEST(LogIndexCrashTest, WhatACheckpointWroteIsWholeAfterAPowerCut) {
  IndexedLog disk;
  ASSERT_TRUE(disk.log->checkpoint());
  disk.crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kDropped});
  disk.check();
}

TEST(LogIndexCrashTest, WhatARollWritesOverIsWholeWhereverThePowerIsCut) {
  bool rolled = false;
  for (std::uint64_t operation = 1; !rolled; ++operation) {
    SCOPED_TRACE("operation " + std::to_string(operation));
    IndexedLog disk;
    ASSERT_TRUE(disk.log->checkpoint());
    disk.append_at(30);
    disk.memory.stop_at(disk.memory.operations() + operation);
    rolled = static_cast<bool>(disk.log->close_active());
    disk.crash_and_open(CrashKind::kPower, {.unsynced = Unsynced::kSubset}, operation);
    disk.check();
  }
}

}  // namespace
}  // namespace lastword::test
