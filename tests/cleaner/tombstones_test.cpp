// SPDX-License-Identifier: Apache-2.0
// Tombstones that never go, go too early, are missed or undone: one test for each way in which
// brokers got it wrong. Cleaner and Log together, under manual time.
#include <gtest/gtest.h>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::CrashKind;
using test::fast_compacted;
using test::StoreFixture;

constexpr std::int64_t kRetention = 5000;
constexpr std::int64_t kSlack = kRetention / 10;
const auto kNull = std::nullopt;

class Tombstones : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }
  void topic(const test::Settings& more = {}) { broker.create("t", fast_compacted(more)); }
  bool has_tombstone(const std::string& key) const {
    for (const auto& record : broker.read("t")) {
      if (record.key == key && record.is_tombstone()) return true;
    }
    return false;
  }
  bool mentions(const std::string& key) const {
    for (const auto& record : broker.read("t")) {
      if (record.key == key) return true;
    }
    return false;
  }
  StoreFixture broker{};
};

TEST_F(Tombstones, LiveForTheirTimeWhateverIsCleanedMeanwhile) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", kNull);
  broker.roll("t");
  broker.run_due();
  ASSERT_TRUE(has_tombstone("a"));
  EXPECT_EQ(broker.offsets_left("t"), (std::vector<Offset>{1}));
  for (int second = 1; second < 5; ++second) {
    broker.put("t", "other", std::to_string(second));
    broker.advance(1000);
    EXPECT_TRUE(has_tombstone("a")) << second;
  }
  broker.advance(1000 + kSlack);
  EXPECT_FALSE(mentions("a"));
}

TEST_F(Tombstones, LiveForTheirTimeAcrossAKill) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", kNull);
  broker.roll("t");
  broker.run_due();
  const TimestampMs cleaned = broker.clock.now_ms();
  broker.clock.advance(3000);
  broker.restart_after_crash(CrashKind::kPower);
  broker.run_due();
  broker.clock.set(cleaned + kRetention - 1);
  broker.run_due();
  EXPECT_TRUE(has_tombstone("a"));
  broker.clock.set(cleaned + kRetention + kSlack);
  broker.run_due();
  EXPECT_FALSE(mentions("a"));
}

TEST_F(Tombstones, GoOnAnIdlePartition) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", kNull);
  broker.advance(1000);
  ASSERT_TRUE(has_tombstone("a"));
  broker.advance(kRetention + kSlack);
  EXPECT_TRUE(broker.read("t").empty());
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 2);
}

TEST_F(Tombstones, ALoneOneDoesNotForcePassAfterPass) {
  topic();
  broker.put("t", "a", kNull);
  broker.advance(1000);
  const TimestampMs first = broker.report("t").last_pass.at_ms;
  for (int i = 0; i < 40; ++i) broker.advance(100);
  EXPECT_EQ(broker.report("t").last_pass.at_ms, first);
}

TEST_F(Tombstones, AFutureTimestampElsewhereDoesNotShortenTheirLife) {
  topic({{"delete.retention.ms", "60000"}});
  broker.append("t", {.records = {{"x", "1"}}, .timestamp = broker.clock.now_ms() + 70000});
  broker.roll("t");
  broker.put("t", "a", "1");
  broker.put("t", "a", kNull);
  broker.roll("t");
  broker.run_due();
  broker.advance(59999);
  EXPECT_TRUE(has_tombstone("a"));
  broker.advance(1 + 6000);
  EXPECT_FALSE(mentions("a"));
}

TEST_F(Tombstones, OnesDatedLastWeekLiveAsLongAsOthers) {
  topic();
  broker.put("t", "a", "1");
  broker.append("t",
                {.records = {{"a", kNull}}, .timestamp = broker.clock.now_ms() - 7 * 24 * kHourMs});
  broker.roll("t");
  broker.run_due();
  EXPECT_TRUE(has_tombstone("a"));
  broker.advance(kRetention + kSlack);
  EXPECT_FALSE(mentions("a"));
}

TEST_F(Tombstones, DeleteRetentionZeroMeansTheNextPassAndNotNever) {
  topic({{"delete.retention.ms", "0"}});
  broker.put("t", "a", "1");
  broker.put("t", "a", kNull);
  broker.put("t", "b", "1");
  broker.roll("t");
  broker.run_due();
  EXPECT_EQ(broker.offsets_left("t"), (std::vector<Offset>{2}));
}

TEST_F(Tombstones, OfTenThousandDeadKeysLeaveNothingOnDisk) {
  topic();
  for (int i = 0; i < 100; ++i) {
    test::BatchSpec values;
    test::BatchSpec deletes;
    for (int k = 0; k < 100; ++k) {
      const std::string key = "k" + std::to_string(i * 100 + k);
      values.records.push_back({key, "a value of some length"});
      deletes.records.push_back({key, kNull});
    }
    broker.append("t", values);
    broker.append("t", deletes);
  }
  broker.put("t", "filler", "x");
  const std::uint64_t peak = broker.files.space_used();
  broker.advance(1000);
  broker.advance(kRetention + kSlack);
  EXPECT_EQ(broker.read("t").size(), 1U);
  EXPECT_LT(broker.files.space_used(), peak / 100);
}

TEST_F(Tombstones, ThatWereReplacedByAValueDoNotMoveTheMark) {
  topic();
  broker.put("t", "a", kNull);
  broker.put("t", "a", "back");
  broker.advance(1000);
  broker.advance(kRetention + kSlack);
  EXPECT_EQ(broker.table("t").at("a"), "back");
  EXPECT_EQ(broker.log("t").offsets().removed_tombstone_mark, 0);
}

TEST_F(Tombstones, ThatExpiredMoveTheMarkInTheSameCommitAndItIsKept) {
  topic();
  broker.put("t", "a", kNull);
  broker.put("t", "b", "1");
  broker.advance(1000);
  broker.advance(kRetention + kSlack);
  EXPECT_EQ(broker.log("t").offsets().removed_tombstone_mark, 1);
  broker.restart_after_crash(CrashKind::kPower);
  EXPECT_EQ(broker.log("t").offsets().removed_tombstone_mark, 1);
}

TEST_F(Tombstones, DoNotMoveWhenDeleteRetentionIsChanged) {
  topic();
  broker.put("t", "a", kNull);
  broker.put("t", "b", "1");
  broker.advance(1000);
  auto options = *broker.log("t").options();
  options.delete_retention_ms = 24 * kHourMs;
  broker.log("t").set_options(std::make_shared<const TopicOptions>(options));
  broker.advance(kRetention - 1);
  EXPECT_TRUE(has_tombstone("a"));
  // The horizon stands; how late a pass may be follows the setting.
  broker.advance(1 + 5 * kMinuteMs);
  EXPECT_FALSE(mentions("a"));
}

TEST_F(Tombstones, NullAndEmptyAreNotMixedUp) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", "");
  broker.put("t", "b", "1");
  broker.put("t", "b", kNull);
  broker.put("t", "c", "1");
  broker.put("t", "c", "null");
  broker.advance(1000);
  broker.advance(kRetention + kSlack);
  const auto table = broker.table("t");
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.at("a"), "");
  EXPECT_EQ(table.at("c"), "null");
  EXPECT_FALSE(mentions("b"));
}

TEST_F(Tombstones, NeverGoInTheSamePassAsValuesThatNobodyLookedAt) {
  // One slot in the key map: a round for each key.
  broker.options.cleaner.memory_bytes = 1;
  broker.cleaner->set_options(broker.options);
  topic({{"delete.retention.ms", "0"}});
  for (int i = 0; i < 5; ++i) broker.put("t", "k" + std::to_string(i), "v");
  for (int i = 0; i < 5; ++i) broker.put("t", "k" + std::to_string(i), kNull);
  broker.put("t", "last", "x");
  broker.advance(1000);
  EXPECT_EQ(broker.table("t").size(), 1U);
  EXPECT_EQ(broker.offsets_left("t"), (std::vector<Offset>{10}));
}

TEST_F(Tombstones, InABatchAcrossTheMapsEndAreNotStampedTooEarly) {
  broker.options.cleaner.memory_bytes = 2 * 24;  // one key a round
  broker.cleaner->set_options(broker.options);
  topic({{"delete.retention.ms", "0"}});
  broker.append("t", {.records = {{"a", "1"}, {"b", "2"}, {"c", "3"}}});
  broker.append("t", {.records = {{"a", kNull}, {"b", kNull}, {"d", "4"}}});
  broker.advance(1000);
  EXPECT_EQ(broker.table("t"), (std::map<std::string, std::string>{{"c", "3"}, {"d", "4"}}));
  EXPECT_EQ(broker.offsets_left("t"), (std::vector<Offset>{2, 5}));
}

}  // namespace
}  // namespace lastword::cleaner
