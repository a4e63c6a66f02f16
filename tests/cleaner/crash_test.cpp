// SPDX-License-Identifier: Apache-2.0
// A pass is stopped at every write, sync, rename and removal in turn. Whatever a crash leaves, no
// value comes back whose tombstone is gone, and nothing that lives is lost.
#include <gtest/gtest.h>

#include <set>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::CrashKind;
using test::fast_compacted;
using test::StoreFixture;

const auto kNull = std::nullopt;
using Table = std::map<std::string, std::string>;

/// Dead keys whose values and tombstones lie in different segments, live keys between them.
void fill(StoreFixture& broker) {
  broker.create("t", fast_compacted({{"max.compaction.lag.ms", "1000000"},
                                     {"segment.ms", "1000000"},
                                     {"segment.bytes", "2048"}}));
  for (int i = 0; i < 4; ++i) broker.put("t", "dead-" + std::to_string(i), "value");
  broker.put("t", "live", "old");
  broker.roll("t");
  broker.append("t", {.records = {{"dead-0", "newer"}, {"live-2", "x"}}, .codec = Codec::kZstd});
  broker.roll("t");
  for (int i = 0; i < 4; ++i) broker.put("t", "dead-" + std::to_string(i), kNull);
  broker.put("t", "live", "new");
  broker.roll("t");
}

const Table kExpected = {{"live", "new"}, {"live-2", "x"}};

/// Both passes: the one that stamps, and the one that drops.
void clean(StoreFixture& broker) {
  broker.run_due();
  broker.clock.advance(5500);
  broker.run_due();
}

/// A value without the tombstone behind it would show as a key that is dead.
void expect_invariants(const StoreFixture& broker) {
  EXPECT_EQ(broker.table("t"), kExpected);
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 12);
  EXPECT_EQ(broker.log("t").offsets().log_start, 0);
}

class CrashInAPass : public ::testing::TestWithParam<CrashKind> {};

TEST_P(CrashInAPass, NothingComesBackAndNothingIsLost) {
  std::uint64_t operations = 0;
  {
    StoreFixture broker;
    ASSERT_TRUE(broker.start());
    fill(broker);
    const std::uint64_t before = broker.files.operations();
    clean(broker);
    expect_invariants(broker);
    ASSERT_EQ(broker.read("t").size(), 2U);
    operations = broker.files.operations() - before;
  }
  ASSERT_GT(operations, 10U);
  for (std::uint64_t stop = 1; stop <= operations; ++stop) {
    SCOPED_TRACE("stopped at operation " + std::to_string(stop));
    StoreFixture broker;
    ASSERT_TRUE(broker.start());
    fill(broker);
    broker.files.stop_at(broker.files.operations() + stop);
    clean(broker);
    broker.cleaner.reset();
    broker.store.reset();
    broker.files.crash(stop, GetParam());
    ASSERT_TRUE(broker.start()) << broker.lines.back();
    expect_invariants(broker);
    const Offset mark = broker.log("t").offsets().removed_tombstone_mark;
    EXPECT_TRUE(broker.read("t").size() != 2U || mark >= 11) << mark;
    // And it goes on from there, to the same end.
    clean(broker);
    broker.clock.advance(5500);
    broker.run_due();
    expect_invariants(broker);
    EXPECT_EQ(broker.read("t").size(), 2U);
    EXPECT_EQ(broker.log("t").offsets().removed_tombstone_mark, 11);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CrashInAPass,
                         ::testing::Values(CrashKind::kProcess, CrashKind::kPower),
                         [](const auto& kind) {
                           return kind.param == CrashKind::kProcess ? "Process" : "Power";
                         });

TEST(Crash, APassThatFailsAtAnyCallGoesOnAfterItsQuarantine) {
  StoreFixture broker;
  ASSERT_TRUE(broker.start());
  fill(broker);
  // Room for some of the files only: each try gets a little further.
  for (std::uint64_t room = 0; room < 4000; room += 200) {
    broker.files.limit_space(broker.files.space_used() + room);
    broker.run_due();
    EXPECT_EQ(broker.table("t"), kExpected) << room;
    broker.clock.advance(kMinuteMs);
  }
  broker.files.limit_space(std::uint64_t{1} << 40);
  clean(broker);
  broker.clock.advance(kMinuteMs);
  clean(broker);
  expect_invariants(broker);
  EXPECT_EQ(broker.read("t").size(), 2U);
}

/// A disk that is full when it takes pages at last (delayed allocation, a quota) fails the sync,
/// and the next sync of the same file says yes: its pages are called clean.
TEST(Crash, WhatCouldNotBeSyncedNeverTakesThePlaceOfItsSources) {
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE("sync " + std::to_string(n) + " fails");
    StoreFixture broker;
    broker.options.limits.disk_reserve_bytes = kMebibyte;
    ASSERT_TRUE(broker.start());
    fill(broker);
    broker.calls.on_failed_sync([&](const std::string& path) { broker.files.lose_unsynced(path); });
    broker.calls.clear();
    broker.calls.fail_call(test::CallKind::kSyncData, n, ErrorKind::kDiskFull);
    broker.run_due();
    const bool reached = broker.calls.count(test::CallKind::kSyncData) >= n;
    broker.cleaner.reset();
    broker.store.reset();
    broker.files.crash(n, CrashKind::kPower, {.unsynced = test::Unsynced::kDropped});
    ASSERT_TRUE(broker.start()) << broker.lines.back();
    expect_invariants(broker);
    EXPECT_TRUE(broker.log("t").view().damaged.empty());
    if (HasFailure() || !reached) break;
  }
}

TEST(Crash, AnExpiredMarkerDoesNotBringItsValueBack) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    StoreFixture broker;
    ASSERT_TRUE(broker.start());
    broker.create("t", fast_compacted());
    for (int i = 1; i <= 4; ++i) broker.put("t", "a", std::to_string(i));
    broker.put("t", "a", kNull);
    broker.advance(1000);
    broker.files.stop_at(broker.files.operations() + 1 + seed % 25);
    broker.advance(5500);
    broker.restart_after_crash(CrashKind::kPower, seed);
    EXPECT_TRUE(broker.table("t").empty());
    broker.advance(5500);
    EXPECT_TRUE(broker.read("t").empty());
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace lastword::cleaner
