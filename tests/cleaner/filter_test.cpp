// SPDX-License-Identifier: Apache-2.0
// One test for each rule of cleaner/filter.h.
#include "cleaner/filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/batches.h"

namespace lastword::cleaner {
namespace {

using Fate = BatchFilter::Fate;
using test::BatchSpec;
using test::kBatchTime;
using test::OwnedRecord;
using test::Record;

constexpr TimestampMs kStart = 1'800'000'000'000;
constexpr std::int64_t kRetention = 5000;
const auto kNull = std::nullopt;

class Filter : public ::testing::Test {
 protected:
  Filter() {
    HashKey hash_key{};
    keys_.emplace(*KeyMap::create(1000, kMebibyte, hash_key));
    rules_.keys = &*keys_;
    rules_.map_end = 1000;
    rules_.high_watermark = 2000;
    rules_.pass_start = kStart;
    rules_.horizon = kStart + kRetention;
  }

  /// `key` was written last at `offset`, as far as the map knows.
  void newest(const std::string& key, Offset offset) {
    ASSERT_TRUE(keys_->put(keys_->hash(test::view_of(key)), offset));
  }

  const BatchFilter::Outcome& run(const BatchSpec& spec) {
    batch_ = test::batch(spec);
    auto outcome = filter_.filter(batch_, rules_);
    EXPECT_TRUE(outcome) << outcome.error().text;
    outcome_ = *outcome;
    return outcome_;
  }

  /// Offsets of the records that are left.
  std::vector<Offset> left() const {
    std::vector<Offset> offsets;
    for (const OwnedRecord& record : test::records_of(outcome_.bytes)) {
      offsets.push_back(record.offset);
    }
    return offsets;
  }
  using Offsets = std::vector<Offset>;

  std::optional<KeyMap> keys_{};
  FilterRules rules_{};
  BatchFilter filter_{};
  BatchFilter::Outcome outcome_{};
  Bytes batch_{};
};

TEST_F(Filter, KeepsABatchThatLosesNothingByteForByte) {
  newest("a", 10);
  run({.base_offset = 10, .records = {{"a", "1"}, {"b", "2"}}});
  EXPECT_EQ(outcome_.fate, Fate::kKept);
  EXPECT_EQ(outcome_.bytes.data(), batch_.data());
  EXPECT_EQ(outcome_.bytes.size(), batch_.size());
  EXPECT_EQ(outcome_.counts.records_kept, 2);
}

TEST_F(Filter, DropsWhatWasWrittenAgain) {
  newest("a", 50);
  newest("b", 11);
  run({.base_offset = 10, .records = {{"a", "1"}, {"b", "2"}, {"c", "3"}}});
  EXPECT_EQ(outcome_.fate, Fate::kRewritten);
  EXPECT_EQ(left(), (Offsets{11, 12}));
  EXPECT_EQ(outcome_.counts.records_dropped, 1);
}

TEST_F(Filter, KeepsTheLastOfAKeyWithinOneBatch) {
  newest("a", 12);
  run({.base_offset = 10, .records = {{"a", "1"}, {"a", "2"}, {"a", "3"}}});
  EXPECT_EQ(left(), (Offsets{12}));
}

TEST_F(Filter, KeepsWhatLiesAtOrBehindTheMapsEnd) {
  newest("a", 50);
  rules_.map_end = 11;
  run({.base_offset = 10, .records = {{"a", "1"}, {"a", "2"}, {kNull, "3"}}});
  EXPECT_EQ(left(), (Offsets{11, 12}));
}

TEST_F(Filter, DropsRecordsWithoutAKeyAndCountsThem) {
  run({.base_offset = 10, .records = {{kNull, "1"}, {"a", "2"}}});
  EXPECT_EQ(left(), (Offsets{11}));
  EXPECT_EQ(outcome_.counts.keyless_dropped, 1);
}

TEST_F(Filter, AnEmptyValueIsAValueAndAnEmptyKeyAKey) {
  newest("", 11);
  run({.base_offset = 10, .records = {{"a", ""}, {"", "2"}}, .delete_horizon = kStart - 1});
  EXPECT_EQ(outcome_.fate, Fate::kKept);
  EXPECT_EQ(outcome_.tombstones, 0);
}

TEST_F(Filter, StampsATombstoneThatStaysAndKeepsItsTimestamp) {
  newest("a", 11);
  run({.base_offset = 10, .records = {{"a", "1"}, {"a", kNull}}});
  EXPECT_EQ(left(), (Offsets{11}));
  EXPECT_EQ(outcome_.header.delete_horizon(), kStart + kRetention);
  EXPECT_EQ(outcome_.tombstones, 1);
  EXPECT_EQ(test::records_of(outcome_.bytes).front().timestamp, kBatchTime);
  EXPECT_EQ(outcome_.header.max_timestamp, kBatchTime);
}

TEST_F(Filter, StampsABatchThatLosesNothingButHoldsATombstone) {
  run({.base_offset = 10, .records = {{"a", kNull}, {"b", "1"}}});
  EXPECT_EQ(outcome_.fate, Fate::kRewritten);
  EXPECT_EQ(outcome_.counts.records_dropped, 0);
  EXPECT_EQ(outcome_.header.delete_horizon(), kStart + kRetention);
}

TEST_F(Filter, NeverMovesAHorizon) {
  newest("b", 50);
  run({.base_offset = 10, .records = {{"a", kNull}, {"b", "1"}}, .delete_horizon = kStart + 1});
  EXPECT_EQ(left(), (Offsets{10}));
  EXPECT_EQ(outcome_.header.delete_horizon(), kStart + 1);
}

TEST_F(Filter, KeepsTheHorizonWhenOnlyValuesAreLeft) {
  newest("b", 50);
  run({.base_offset = 10,
       .records = {{"a", kNull}, {"b", "1"}, {"c", "2"}},
       .delete_horizon = kStart});
  EXPECT_EQ(left(), (Offsets{12}));
  EXPECT_EQ(outcome_.header.delete_horizon(), kStart);
  EXPECT_EQ(outcome_.tombstones, 0);
}

TEST_F(Filter, DoesNotStampABatchThatReachesBeyondTheMapsEnd) {
  rules_.map_end = 12;
  run({.base_offset = 10, .records = {{"a", kNull}, {"b", "1"}, {"c", "2"}}});
  EXPECT_EQ(outcome_.fate, Fate::kKept);
  rules_.map_end = 13;
  run({.base_offset = 10, .records = {{"a", kNull}, {"b", "1"}, {"c", "2"}}});
  EXPECT_EQ(outcome_.fate, Fate::kRewritten);
}

TEST_F(Filter, DropsATombstoneWhoseHorizonIsReachedAndNotAMomentBefore) {
  const BatchSpec spec{
      .base_offset = 10, .records = {{"a", kNull}, {"b", "1"}}, .delete_horizon = kStart};
  run(spec);
  EXPECT_EQ(left(), (Offsets{11}));
  EXPECT_EQ(outcome_.counts.tombstones_dropped, 1);
  EXPECT_EQ(outcome_.counts.newest_expired, 10);
  rules_.pass_start = kStart - 1;
  run(spec);
  EXPECT_EQ(outcome_.fate, Fate::kKept);
  EXPECT_EQ(outcome_.counts.newest_expired, -1);
}

TEST_F(Filter, DoesNotDropByTimeWhatThisPassHasStamped) {
  rules_.drop_expired = false;
  run({.base_offset = 10, .records = {{"a", kNull}}, .delete_horizon = kStart});
  EXPECT_EQ(outcome_.fate, Fate::kKept);
}

TEST_F(Filter, RecordTimestampsMoveNoHorizon) {
  for (const TimestampMs timestamp : {TimestampMs{0}, kStart + 1000 * kHourMs}) {
    run({.base_offset = 10, .records = {{"a", kNull}}, .timestamp = timestamp});
    EXPECT_EQ(outcome_.header.delete_horizon(), kStart + kRetention);
    EXPECT_EQ(test::records_of(outcome_.bytes).front().timestamp, timestamp);
  }
}

TEST_F(Filter, AReplacedTombstoneGoesWhateverItsHorizonAndIsNoExpiredOne) {
  newest("a", 50);
  run({.base_offset = 10, .records = {{"a", kNull}}, .delete_horizon = kStart - 1});
  EXPECT_EQ(outcome_.fate, Fate::kGone);
  EXPECT_EQ(outcome_.counts.newest_expired, -1);
  EXPECT_EQ(outcome_.counts.tombstones_dropped, 0);
  EXPECT_EQ(outcome_.counts.records_dropped, 1);
}

TEST_F(Filter, ABatchWithoutRecordsGoes) {
  newest("a", 50);
  run({.base_offset = 10, .records = {{"a", "1"}}});
  EXPECT_EQ(outcome_.fate, Fate::kGone);
  EXPECT_TRUE(outcome_.bytes.empty());
}

TEST_F(Filter, TheBatchInFrontOfTheHighWatermarkStaysEmpty) {
  newest("a", 50);
  rules_.high_watermark = 12;
  run({.base_offset = 10,
       .records = {{"a", "1"}, {"a", "2"}},
       .producer_id = 7,
       .producer_epoch = 3,
       .base_sequence = 5,
       .leader_epoch = 4});
  EXPECT_EQ(outcome_.fate, Fate::kRewritten);
  EXPECT_EQ(outcome_.header.record_count, 0);
  EXPECT_EQ(outcome_.header.base_offset, 10);
  EXPECT_EQ(outcome_.header.last_offset(), 11);
  EXPECT_EQ(outcome_.header.producer_id, 7);
  EXPECT_EQ(outcome_.header.producer_epoch, 3);
  EXPECT_EQ(outcome_.header.base_sequence, 5);
  EXPECT_EQ(outcome_.header.leader_epoch, 4);
  EXPECT_TRUE(crc_holds(outcome_.bytes));
}

TEST_F(Filter, AnEmptyBatchGoesOnceTheHighWatermarkHasMoved) {
  const Bytes empty = make_empty_batch(
      *read_batch_header(test::batch({.base_offset = 10, .records = {{"a", "1"}}})));
  rules_.high_watermark = 11;
  auto outcome = filter_.filter(empty, rules_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->fate, Fate::kKept);
  rules_.high_watermark = 12;
  outcome = filter_.filter(empty, rules_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->fate, Fate::kGone);
  EXPECT_EQ(outcome->counts.records_dropped, 0);
}

TEST_F(Filter, ControlBatchesAreKeptAndTheirKeysAreNoKeys) {
  newest("a", 50);
  run({.base_offset = 10,
       .records = {{"a", "1"}},
       .producer_id = 7,
       .attributes = batch_attribute::kControl | batch_attribute::kTransactional});
  EXPECT_EQ(outcome_.fate, Fate::kKept);
  Bytes scratch;
  const auto whole = for_each_key(batch_, 0, *keys_, scratch, kMebibyte,
                                  [](Offset, const KeyHash&) { return false; });
  ASSERT_TRUE(whole);
  EXPECT_TRUE(*whole);
}

TEST_F(Filter, KeepsEverythingElseOfARewrittenBatch) {
  newest("a", 50);
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    SCOPED_TRACE(codec_name(codec));
    run({.base_offset = 10,
         .records = {{"b", "1", kBatchTime + 7, {}, {{"h", "x"}, {"null", kNull}}},
                     {"c", "2", kBatchTime - 9},
                     {"a", "3", kBatchTime + 1000}},
         .codec = codec,
         .producer_id = 7,
         .producer_epoch = 3,
         .base_sequence = 5,
         .leader_epoch = 4});
    const auto before = test::records_of(batch_);
    const BatchHeader old = *read_batch_header(batch_);
    EXPECT_EQ(test::records_of(outcome_.bytes), (std::vector{before[0], before[1]}));
    EXPECT_EQ(outcome_.header.codec(), codec);
    EXPECT_EQ(outcome_.header.base_offset, 10);
    EXPECT_EQ(outcome_.header.last_offset_delta, 2);
    EXPECT_EQ(outcome_.header.leader_epoch, old.leader_epoch);
    EXPECT_EQ(outcome_.header.producer_id, old.producer_id);
    EXPECT_EQ(outcome_.header.producer_epoch, old.producer_epoch);
    EXPECT_EQ(outcome_.header.base_sequence, old.base_sequence);
    EXPECT_EQ(outcome_.header.max_timestamp, kBatchTime + 7);
  }
}

TEST_F(Filter, UnderLogAppendTimeTheMaximumTimestampStays) {
  newest("a", 50);
  const TimestampMs appended = kBatchTime + 5000;
  auto checked = test::checked_batch({.base_offset = 10,
                                      .records = {{"a", "1"}, {"b", "2"}},
                                      .timestamp = appended,
                                      .attributes = batch_attribute::kLogAppendTime});
  stamp_offset(checked.bytes(), 10, 0);
  const auto outcome = filter_.filter(checked.bytes(), rules_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->fate, Fate::kRewritten);
  EXPECT_EQ(outcome->header.max_timestamp, appended);
  EXPECT_TRUE(outcome->header.has(batch_attribute::kLogAppendTime));
  EXPECT_EQ(test::records_of(outcome->bytes).front().timestamp, appended);
}

TEST_F(Filter, WithoutAMapOnlyExpiredTombstonesGo) {
  newest("b", 50);
  rules_.keys = nullptr;
  run({.base_offset = 10,
       .records = {{"a", kNull}, {"b", "1"}, {kNull, "2"}},
       .delete_horizon = kStart});
  EXPECT_EQ(left(), (Offsets{11, 12}));
  run({.base_offset = 10, .records = {{"a", kNull}}});
  EXPECT_EQ(outcome_.fate, Fate::kKept);  // and not stamped
}

TEST_F(Filter, ManyRecordsInOneBatch) {
  BatchSpec spec{.base_offset = 0};
  for (int i = 0; i < 1000; ++i) {
    spec.records.push_back({std::to_string(i % 300), "v" + std::to_string(i)});
  }
  for (int i = 0; i < 1000; ++i) newest(std::to_string(i % 300), i);
  run(spec);
  EXPECT_EQ(left().size(), 300U);
  EXPECT_EQ(left().front(), 700);
}

TEST_F(Filter, ABatchThatDoesNotParseIsAnError) {
  batch_ = test::batch({.base_offset = 10, .records = {{"a", "1"}}, .codec = Codec::kZstd});
  batch_[kBatchHeaderBytes + 1] ^= std::byte{0xff};
  seal_batch(batch_);
  EXPECT_FALSE(filter_.filter(batch_, rules_));
}

}  // namespace
}  // namespace lastword::cleaner
