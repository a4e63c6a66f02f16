// SPDX-License-Identifier: Apache-2.0
// Index files of a log: whole after a power cut.
#include <gtest/gtest.h>

#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

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
