// SPDX-License-Identifier: Apache-2.0
// One pass by itself: its rounds, and what is left when it is cancelled or the log changes under
// it.
#include "cleaner/compact.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::StoreFixture;

const auto kNull = std::nullopt;

class OnePass : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(broker.start());
    broker.create("t", test::fast_compacted({{"delete.retention.ms", "0"}}));
  }

  PassOutcome run(std::int64_t map_bytes_max, std::function<bool()> cancelled = {},
                  std::function<bool()> wanted = {}) {
    const PassInput input{.log = broker.log("t"),
                          .env = broker.store->environment(),
                          .hash_key = broker.store->hash_key(),
                          .map_bytes_max = map_bytes_max,
                          .decompressed_bytes_max = kMebibyte,
                          .throttle = throttle_,
                          .cancelled = std::move(cancelled),
                          .wanted = std::move(wanted)};
    return run_pass(input, assess(input.log.view(), {}, broker.clock.now_ms()));
  }
  std::size_t tombstones() const {
    std::size_t count = 0;
    for (const auto& record : broker.read("t")) count += record.is_tombstone();
    return count;
  }
  /// Files of segments that the log does not list.
  std::set<std::string> strays() const {
    std::set<std::string> names;
    const storage::LogView view = broker.log("t").view();
    const auto all = broker.files.list(broker.log("t").identity().directory);
    if (!all) return {"no directory"};
    for (const std::string& name : *all) {
      const auto parts = storage::parse_segment_file_name(name);
      if (!parts) continue;
      const auto is_its = [&](const storage::SegmentInfo& info) {
        return info.base_offset == parts->base_offset && info.generation == parts->generation;
      };
      bool listed = is_its(view.active);
      for (const auto& segment : *view.closed) listed = listed || is_its(segment->info);
      if (!listed) names.insert(name);
    }
    return names;
  }
  /// Four closed segments, each overwriting the keys of the one before.
  void four_segments() {
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 4; ++k) broker.put("t", "k" + std::to_string(k), std::to_string(i));
      broker.roll("t");
    }
  }

  StoreFixture broker{};
  Throttle throttle_{kUnlimited};
};

TEST_F(OnePass, DoesNotDropATombstoneThatItHasStampedItselfInAnEarlierRound) {
  for (int i = 0; i < 3; ++i) broker.put("t", "k" + std::to_string(i), "v");
  for (int i = 0; i < 3; ++i) broker.put("t", "k" + std::to_string(i), kNull);
  broker.put("t", "last", "x");
  broker.roll("t");
  const PassOutcome first = run(1);
  ASSERT_FALSE(first.error) << first.error->text;
  EXPECT_EQ(first.report.rounds, 7);
  EXPECT_EQ(first.report.records_dropped, 3);
  EXPECT_EQ(first.report.tombstones_dropped, 0);
  EXPECT_EQ(tombstones(), 3U);
  const PassOutcome second = run(1);
  EXPECT_EQ(second.report.tombstones_dropped, 3);
  EXPECT_EQ(tombstones(), 0U);
}

TEST_F(OnePass, CancelledAtAnyBatchLeavesAWholeLogAndNoFiles) {
  four_segments();
  broker.put("t", "k0", kNull);
  broker.roll("t");
  const auto expected = broker.table("t");
  for (int batches = 0; batches < 60; batches += 3) {
    int left = batches;
    const PassOutcome outcome = run(kMebibyte, [&left] { return left-- == 0; });
    EXPECT_FALSE(outcome.error);
    EXPECT_EQ(broker.table("t"), expected) << batches;
    EXPECT_TRUE(strays().empty()) << *strays().begin();
  }
  EXPECT_EQ(broker.table("t"), expected);
}

TEST_F(OnePass, EndsQuietlyWhenRetentionRemovesItsSegments) {
  four_segments();
  int asked = 0;
  const PassOutcome outcome = run(kMebibyte, [&] {
    // In the copy phase: the map has been built from sixteen batches.
    if (++asked == 22) {
      EXPECT_TRUE(broker.log("t").drop_before(8));
    }
    return false;
  });
  EXPECT_TRUE(outcome.cancelled);
  EXPECT_FALSE(outcome.error);
  EXPECT_TRUE(strays().empty()) << *strays().begin();
  EXPECT_EQ(broker.log("t").offsets().log_start, 8);
  EXPECT_EQ(broker.table("t").size(), 4U);
  EXPECT_FALSE(run(kMebibyte).error);
  EXPECT_EQ(broker.read("t").size(), 4U);
}

TEST_F(OnePass, AsksWhetherItIsWantedBeforeEachCommit) {
  four_segments();
  const auto records = broker.read("t").size();
  const auto never = [] { return false; };
  EXPECT_TRUE(run(kMebibyte, {}, never).cancelled);
  EXPECT_EQ(broker.read("t").size(), records);
  EXPECT_TRUE(strays().empty()) << *strays().begin();
  // The group is in place, and then clean end stays where it is.
  int asked = 0;
  EXPECT_TRUE(run(kMebibyte, {}, [&] { return ++asked == 1; }).cancelled);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(broker.read("t").size(), 4U);
  EXPECT_EQ(broker.log("t").view().clean_end, 0);
}

TEST_F(OnePass, KeepsTheAppendTimesOfItsSources) {
  four_segments();
  const TimestampMs first = broker.clock.now_ms();
  broker.clock.advance(500);
  four_segments();
  ASSERT_FALSE(run(kMebibyte).error);
  const auto closed = broker.log("t").view().closed;
  EXPECT_EQ(closed->back()->info.last_append_ms, first + 500);
  EXPECT_EQ(closed->size(), 1U);
}

TEST_F(OnePass, AGroupDoesNotOutgrowASegment) {
  broker.create("u", test::fast_compacted({{"segment.bytes", "3000"}, {"segment.ms", "1000000"}}));
  for (int i = 0; i < 200; ++i) {
    broker.put("u", "k" + std::to_string(i % 100), std::string(100, 'v'));
  }
  broker.roll("u");
  broker.run_due();
  EXPECT_EQ(broker.read("u").size(), 100U);
  for (const auto& segment : *broker.log("u").view().closed) {
    EXPECT_LE(segment->info.size_bytes, 3000U);
  }
  // 100 records of about 180 bytes.
  EXPECT_LE(broker.closed_segments("u"), 9U);
}

}  // namespace
}  // namespace lastword::cleaner
