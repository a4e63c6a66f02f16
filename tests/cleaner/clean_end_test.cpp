// SPDX-License-Identifier: Apache-2.0
// Ranges that are cleaned for ever or never, ends that get lost, and leftovers that pile up.
// Cleaner and Log together, under manual time; each test is named by its symptom.
#include <gtest/gtest.h>

#include "storage/file_cache.h"
#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using storage::SegmentFile;
using test::CrashKind;
using test::fast_compacted;
using test::StoreFixture;
using Offsets = std::vector<Offset>;

const auto kNull = std::nullopt;

class CleanEnd : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }
  void topic(const test::Settings& more = {}) { broker.create("t", fast_compacted(more)); }
  StoreFixture broker{};
};

// ---- a lost tail ---------------------------------------------------------------------------

/// Under durability os, where a power cut takes what was not synced.
class LostTail : public ::testing::Test {
 protected:
  LostTail() { broker.options.durability = Durability::kOs; }
  void SetUp() override {
    ASSERT_TRUE(broker.start());
    broker.create("t", fast_compacted());
  }
  void put_unsynced(const std::string& key, const std::string& value) {
    auto checked =
        test::checked_batch({.records = {{key, value}}, .timestamp = broker.clock.now_ms()});
    ASSERT_TRUE(broker.log("t").append(checked));
  }
  void cut_power() {
    broker.restart_after_crash(CrashKind::kPower, 1, {.unsynced = test::Unsynced::kDropped});
  }
  StoreFixture broker{};
};

TEST_F(LostTail, BelowCleanEndDoesNotKeepWhatComesLaterFromCompaction) {
  broker.put("t", "kept", "1");
  for (int i = 0; i < 5; ++i) put_unsynced("k" + std::to_string(i), "lost");
  broker.roll("t");
  broker.run_due();
  ASSERT_EQ(broker.log("t").view().clean_end, 6);
  cut_power();
  EXPECT_LE(broker.log("t").view().clean_end, broker.log("t").offsets().log_end);
  const Offset first = broker.put("t", "k0", "1");
  ASSERT_LT(broker.read("t").size(), 7U) << "nothing was lost";
  EXPECT_EQ(broker.put("t", "k0", "2"), first + 1);
  broker.advance(1000);
  EXPECT_EQ(broker.table("t").at("k0"), "2");
  EXPECT_EQ(broker.offsets_left("t").back(), first + 1);
  EXPECT_EQ(std::ranges::count(broker.offsets_left("t"), first), 0);
}

TEST_F(LostTail, LeavesAGapAtWhichCleanEndDoesNotStop) {
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.roll("t");
  put_unsynced("b", "lost");
  broker.roll("t");
  put_unsynced("b", "lost as well");
  cut_power();
  const Offset last = broker.put("t", "b", "3");
  EXPECT_GT(last, 2) << "there is no gap";
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{1, last}));
  EXPECT_EQ(broker.log("t").view().clean_end, last + 1);
  const TimestampMs at = broker.report("t").last_pass.at_ms;
  broker.advance(100000);
  EXPECT_EQ(broker.report("t").last_pass.at_ms, at) << "the same range was cleaned again";
}

// ---- the same again and again --------------------------------------------------------------

TEST_F(CleanEnd, BelowLogStartIsNotReportedAtEveryLook) {
  topic();
  for (int i = 0; i < 10; ++i) broker.put("t", "a", std::to_string(i));
  ASSERT_TRUE(broker.log("t").drop_before(10));
  broker.put("t", "a", "x");
  broker.run_due();
  const std::size_t lines = broker.lines.size();
  for (int i = 0; i < 10; ++i) broker.run_due();
  EXPECT_EQ(broker.lines.size(), lines) << broker.lines.back();
  broker.advance(1000);
  const std::size_t lines_later = broker.lines.size();
  for (int i = 0; i < 10; ++i) broker.advance(60000);
  EXPECT_EQ(broker.lines.size(), lines_later) << broker.lines.back();
}

TEST_F(CleanEnd, EmptyBatchesDoNotPileUpBehindAProducerThatAlwaysBeginsAtZero) {
  topic();
  for (std::int16_t epoch = 0; epoch < 20; ++epoch) {
    broker.append("t", {.records = {{"a", "v"}}, .producer_id = 1, .producer_epoch = epoch});
    broker.append("t", {.records = {{"a", kNull}}});
    broker.advance(1000);
    broker.advance(5500);
  }
  EXPECT_TRUE(broker.read("t").empty());
  EXPECT_LE(test::headers_of(broker.read_bytes("t")).size(), 1U);
  broker.restart_after_crash(CrashKind::kPower);
  EXPECT_EQ(broker.append("t", {.records = {{"a", "v"}}, .producer_id = 1, .producer_epoch = 19}),
            38);
}

TEST_F(CleanEnd, IsReachedAndKeptWhenAllThatIsLeftIsAnEmptyBatch) {
  topic();
  broker.put("t", "1111", "a");
  broker.put("t", "1111", "b");
  broker.put("t", "1111", kNull);
  broker.advance(1000);
  broker.advance(5500);
  for (int starts = 0; starts < 3; ++starts) {
    EXPECT_TRUE(broker.read("t").empty());
    EXPECT_EQ(broker.log("t").offsets().high_watermark, 3);
    EXPECT_EQ(broker.log("t").offsets().log_start, 0);
    ASSERT_EQ(broker.closed_segments("t"), 1U);
    const storage::SegmentInfo info = broker.log("t").view().closed->front()->info;
    EXPECT_EQ(info.base_offset, 0);
    EXPECT_EQ(info.last_offset, 2) << "an empty batch has a last offset, too";
    EXPECT_EQ(info.records, 0);
    broker.restart_after_crash(starts == 0 ? CrashKind::kProcess : CrashKind::kPower);
  }
  EXPECT_EQ(broker.put("t", "1111", "c"), 3);
}

// ---- what is left behind -------------------------------------------------------------------

TEST_F(CleanEnd, OfAPartitionThatIsGoneCanStillBeAskedFor) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  const storage::PartitionPtr gone = broker.partition("t");
  broker.advance(1000);
  ASSERT_NE(broker.cleaner->report(*gone).last_pass.at_ms, -1);
  ASSERT_TRUE(broker.store->remove("t"));
  EXPECT_TRUE(broker.cleaner->report(*gone).quarantine_reason.empty());
  broker.advance(100000);
  EXPECT_TRUE(broker.cleaner->report(*gone).quarantine_reason.empty());
}

TEST_F(CleanEnd, ReachedByRewritingLeavesNoOldFileOpen) {
  topic();
  const auto open_count = [&] { return broker.store->environment().cache.open_count(); };
  std::size_t most = 0;
  for (int round = 0; round < 100; ++round) {
    for (int k = 0; k < 5; ++k) broker.put("t", "k" + std::to_string(k), std::to_string(round));
    broker.advance(1000);
    ASSERT_EQ(broker.read("t").size(), 5U);
    // Log, offset index and time index of each segment.
    EXPECT_LE(open_count(), 3 * (broker.closed_segments("t") + 1));
    most = std::max(most, open_count());
  }
  EXPECT_LE(most, 20U);
}

TEST_F(CleanEnd, OfAMillionDeadKeysCostsNoReaderAndNoStartAnything) {
  topic();
  for (const bool deleting : {false, true}) {
    for (int i = 0; i < 1000; ++i) {
      test::BatchSpec spec;
      for (int k = 0; k < 1000; ++k) {
        const std::string key = std::to_string(i * 1000 + k);
        spec.records.push_back({key, deleting ? kNull : std::optional<std::string>("value")});
      }
      ASSERT_GE(broker.append("t", spec), 0) << broker.last_error;
    }
  }
  const std::uint64_t peak = broker.files.space_used();
  broker.advance(1000);
  broker.advance(5500);
  EXPECT_TRUE(broker.read("t").empty());
  EXPECT_LT(broker.read_bytes("t").size(), 100U);
  EXPECT_LT(broker.files.space_used(), peak / 1000) << "a start can read no more than that";
  broker.restart_after_crash(CrashKind::kPower);
  EXPECT_TRUE(broker.read("t").empty());
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 2'000'000);
}

// ---- indexes of what was rewritten -----------------------------------------------------------

class CleanedIndex : public CleanEnd {
 protected:
  /// A closed segment of which one record in the middle is gone.
  void SetUp() override {
    CleanEnd::SetUp();
    topic({{"index.interval.bytes", "1000"}, {"segment.bytes", "10000000"}});
    for (int i = 0; i < 1000; ++i) broker.put("t", "k" + std::to_string(i), std::string(50, 'v'));
    broker.put("t", "k500", "again");
    broker.advance(1000);
    ASSERT_EQ(broker.closed_segments("t"), 1U);
    ASSERT_EQ(broker.read("t").size(), 1000U);
  }
  Bytes content(SegmentFile file) const {
    return broker.files.content(broker.segment_path("t", 0, file));
  }
};

TEST_F(CleanedIndex, HasAnEntryForEveryIntervalAsBefore) {
  const std::size_t log_bytes = content(SegmentFile::kLog).size();
  const std::size_t largest_batch = 200;
  EXPECT_GE(content(SegmentFile::kOffsetIndex).size() / 8, log_bytes / (1000 + largest_batch) - 1);
  EXPECT_GE(content(SegmentFile::kTimeIndex).size() / 12, 1U);
}

TEST_F(CleanedIndex, IsThereAfterAPowerCut) {
  const Bytes offsets = content(SegmentFile::kOffsetIndex);
  const Bytes times = content(SegmentFile::kTimeIndex);
  ASSERT_FALSE(offsets.empty());
  const std::string offsets_path = broker.segment_path("t", 0, SegmentFile::kOffsetIndex);
  const std::string times_path = broker.segment_path("t", 0, SegmentFile::kTimeIndex);
  broker.crash(CrashKind::kPower, 1, {.unsynced = test::Unsynced::kDropped});
  EXPECT_EQ(broker.files.content(offsets_path), offsets);
  EXPECT_EQ(broker.files.content(times_path), times);
}

}  // namespace
}  // namespace lastword::cleaner
