// SPDX-License-Identifier: Apache-2.0
// Which batches of an idempotent producer may be stored, and what is remembered of them.
#include "storage/producer_state.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/support/batches.h"

namespace lastword::storage {
namespace {

constexpr TimestampMs kNow = 1'700'000'000'000;
constexpr std::int64_t kExpirationMs = 1000;
constexpr std::int32_t kSequenceMax = std::numeric_limits<std::int32_t>::max();

/// `count` records from `sequence` on, stored from `offset` on.
struct Sent {
  std::int64_t producer_id = 7;
  std::int16_t epoch = 0;
  std::int32_t sequence = 0;
  std::int32_t count = 1;
  Offset offset = 0;
};

BatchHeader header_of(const Sent& sent) {
  BatchHeader header;
  header.base_offset = sent.offset;
  header.batch_length = 100;
  header.last_offset_delta = sent.count - 1;
  header.record_count = sent.count;
  header.producer_id = sent.producer_id;
  header.producer_epoch = sent.epoch;
  header.base_sequence = sent.sequence;
  header.max_timestamp = kNow - 5;
  return header;
}

class ProducerStateTest : public testing::Test {
 protected:
  ProducerState state_{100, kExpirationMs};

  void note(const Sent& sent, TimestampMs now = kNow) { state_.note(header_of(sent), now); }
  bool accepted(const Sent& sent, TimestampMs now = kNow) const {
    const auto checked = state_.check(header_of(sent), now);
    return checked && !*checked;
  }
  std::optional<ProducerBatch> duplicate(const Sent& sent) const {
    const auto checked = state_.check(header_of(sent), kNow);
    return checked ? *checked : std::nullopt;
  }
  std::optional<ErrorKind> refusal(const Sent& sent) const {
    const auto checked = state_.check(header_of(sent), kNow);
    if (checked) return std::nullopt;
    return checked.error().kind;
  }
  ProducerState restored(Offset end, std::int64_t producers_max = 100) const {
    auto decoded = ProducerState::decode(state_.encode(end), producers_max, kExpirationMs);
    EXPECT_TRUE(decoded);
    EXPECT_EQ(decoded->second, end);
    return std::move(decoded->first);
  }
};

TEST_F(ProducerStateTest, LetsBatchesWithoutAProducerPass) {
  note({.producer_id = -1, .epoch = -1, .sequence = -1});
  EXPECT_TRUE(accepted({.producer_id = -1, .epoch = -1, .sequence = -1}));
  EXPECT_EQ(state_.size(), 0u);
}

TEST_F(ProducerStateTest, AcceptsAnySequenceOfAnUnknownProducer) {
  EXPECT_TRUE(accepted({.epoch = 3, .sequence = 4711}));
}

TEST_F(ProducerStateTest, AcceptsTheSequenceThatFollowsAndNoOther) {
  note({.sequence = 10, .count = 5});
  EXPECT_TRUE(accepted({.sequence = 15}));
  for (const std::int32_t sequence : {16, 14, 9, 0}) {
    EXPECT_EQ(refusal({.sequence = sequence}), ErrorKind::kOutOfOrderSequence) << sequence;
  }
}

TEST_F(ProducerStateTest, SaysWhichSequenceWasDue) {
  note({.sequence = 10, .count = 5});
  const auto checked = state_.check(header_of({.sequence = 20}), kNow);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().text, "producer 7 epoch 0: sequence 20 came where 15 was due");
}

TEST_F(ProducerStateTest, AnswersEachOfTheLastFiveBatchesAgain) {
  for (std::int32_t i = 0; i < 6; ++i) {
    note({.sequence = 2 * i, .count = 2, .offset = 100 + 10 * i});
  }
  EXPECT_EQ(refusal({.sequence = 0, .count = 2}), ErrorKind::kOutOfOrderSequence);
  for (std::int32_t i = 1; i < 6; ++i) {
    const auto batch = duplicate({.sequence = 2 * i, .count = 2});
    ASSERT_TRUE(batch) << i;
    EXPECT_EQ(batch->base_offset, 100 + 10 * i);
    EXPECT_EQ(batch->last_offset, 101 + 10 * i);
    EXPECT_EQ(batch->append_ms, kNow);
    EXPECT_EQ(batch->log_append_time, -1);
  }
}

TEST_F(ProducerStateTest, CallsNoBatchADuplicateThatHasOtherSequences) {
  note({.sequence = 0, .count = 3, .offset = 0});
  EXPECT_EQ(refusal({.sequence = 0, .count = 2}), ErrorKind::kOutOfOrderSequence);
  EXPECT_EQ(refusal({.sequence = 1, .count = 2}), ErrorKind::kOutOfOrderSequence);
}

TEST_F(ProducerStateTest, AnswersADuplicateWithItsLogAppendTime) {
  BatchHeader header = header_of({});
  header.attributes = batch_attribute::kLogAppendTime;
  state_.note(header, kNow);
  EXPECT_EQ(duplicate({})->log_append_time, kNow - 5);
}

TEST_F(ProducerStateTest, RefusesALowerEpoch) {
  note({.epoch = 2});
  EXPECT_EQ(refusal({.epoch = 1, .sequence = 1}), ErrorKind::kInvalidProducerEpoch);
  EXPECT_EQ(refusal({.epoch = 1, .sequence = 0}), ErrorKind::kInvalidProducerEpoch);
}

TEST_F(ProducerStateTest, StartsAHigherEpochAtSequenceZero) {
  note({.epoch = 2, .sequence = 5});
  EXPECT_EQ(refusal({.epoch = 3, .sequence = 6}), ErrorKind::kOutOfOrderSequence);
  EXPECT_TRUE(accepted({.epoch = 3, .sequence = 0}));
  note({.epoch = 3, .sequence = 0, .offset = 9});
  EXPECT_TRUE(accepted({.epoch = 3, .sequence = 1}));
  EXPECT_EQ(refusal({.epoch = 2, .sequence = 5}), ErrorKind::kInvalidProducerEpoch);
}

TEST_F(ProducerStateTest, DoesNotTakeABatchOfAnOlderEpochForADuplicate) {
  note({.epoch = 2, .sequence = 0, .offset = 0});
  note({.epoch = 2, .sequence = 1, .offset = 1});
  note({.epoch = 3, .sequence = 0, .offset = 2});
  EXPECT_TRUE(accepted({.epoch = 3, .sequence = 1}));
}

TEST_F(ProducerStateTest, WrapsSequencesAround) {
  note({.sequence = kSequenceMax, .count = 1});
  EXPECT_TRUE(accepted({.sequence = 0}));
  EXPECT_EQ(refusal({.sequence = 1}), ErrorKind::kOutOfOrderSequence);
}

TEST_F(ProducerStateTest, WrapsSequencesAroundInsideABatch) {
  note({.sequence = kSequenceMax - 9, .count = 20});
  const auto batch = duplicate({.sequence = kSequenceMax - 9, .count = 20});
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->last_sequence, 9);
  EXPECT_TRUE(accepted({.sequence = 10}));
  EXPECT_EQ(refusal({.sequence = 0}), ErrorKind::kOutOfOrderSequence);
}

TEST_F(ProducerStateTest, GoesByDeltasNotByRecordsThatAreLeft) {
  BatchHeader header = header_of({.sequence = 10, .count = 5});
  header.record_count = 1;
  state_.note(header, kNow);
  EXPECT_TRUE(accepted({.sequence = 15}));
}

TEST_F(ProducerStateTest, CountsEmptyBatches) {
  const Bytes empty = make_empty_batch(header_of({.sequence = 10, .count = 5, .offset = 50}));
  state_.note(*read_batch_header(empty), kNow);
  EXPECT_TRUE(accepted({.sequence = 15}));
  EXPECT_TRUE(duplicate({.sequence = 10, .count = 5}));
}

TEST_F(ProducerStateTest, IgnoresAnEmptyControlBatch) {
  BatchHeader header = header_of({.sequence = -1});
  header.attributes = batch_attribute::kControl | batch_attribute::kTransactional;
  header.record_count = 0;
  state_.note(header, kNow);
  EXPECT_EQ(state_.size(), 0u);
}

TEST_F(ProducerStateTest, IsNotChangedByBatchesThatItKnows) {
  for (std::int32_t i = 0; i < 8; ++i) note({.sequence = i, .offset = i});
  const Bytes before = state_.encode(100);
  for (std::int32_t i = 0; i < 8; ++i) note({.sequence = i, .offset = i}, kNow + 500);
  EXPECT_EQ(state_.encode(100), before);
}

TEST_F(ProducerStateTest, FollowsTheLogWhereRecordsAreGone) {
  note({.sequence = 0, .offset = 0});
  note({.sequence = 40, .offset = 40});
  EXPECT_TRUE(accepted({.sequence = 41}));
  note({.epoch = 0, .sequence = 3, .offset = 50});
  EXPECT_TRUE(accepted({.sequence = 4}));
}

TEST_F(ProducerStateTest, ForgetsAProducerThatIsIdleTooLong) {
  note({.producer_id = 1, .epoch = 5, .sequence = 5, .offset = 0}, kNow);
  note({.producer_id = 2, .sequence = 5, .offset = 1}, kNow + 1);
  EXPECT_FALSE(accepted({.producer_id = 1, .epoch = 5, .sequence = 0}, kNow + kExpirationMs - 1));
  EXPECT_TRUE(accepted({.producer_id = 1, .epoch = 0, .sequence = 9}, kNow + kExpirationMs));
  state_.expire(kNow + kExpirationMs);
  EXPECT_EQ(state_.size(), 1u);
  state_.expire(kNow + kExpirationMs + 1);
  EXPECT_EQ(state_.size(), 0u);
}

TEST_F(ProducerStateTest, StaysAliveByEachAppend) {
  note({.sequence = 0, .offset = 0}, kNow);
  note({.sequence = 1, .offset = 1}, kNow + 900);
  state_.expire(kNow + 1000);
  EXPECT_EQ(state_.size(), 1u);
}

TEST_F(ProducerStateTest, LetsTheOneIdleLongestGoWhenThereAreTooMany) {
  state_ = ProducerState(3, kExpirationMs);
  for (std::int32_t i = 0; i < 3; ++i) note({.producer_id = i, .sequence = 5, .offset = i});
  note({.producer_id = 0, .sequence = 6, .offset = 10});
  note({.producer_id = 9, .sequence = 5, .offset = 11});
  EXPECT_EQ(state_.size(), 3u);
  EXPECT_TRUE(accepted({.producer_id = 1, .sequence = 77}));
  EXPECT_FALSE(accepted({.producer_id = 0, .sequence = 77}));
  EXPECT_FALSE(accepted({.producer_id = 2, .sequence = 77}));
}

// ---- snapshot ------------------------------------------------------------------------------

TEST_F(ProducerStateTest, KeepsAllFiveBatchesInASnapshot) {
  for (std::int32_t i = 0; i < 5; ++i) note({.sequence = i, .offset = i});
  note({.producer_id = 8, .epoch = 4, .sequence = kSequenceMax, .count = 3, .offset = 5});
  const ProducerState copy = restored(8);
  EXPECT_EQ(copy.encode(8), state_.encode(8));
  for (std::int32_t i = 0; i < 5; ++i) {
    const auto checked = copy.check(header_of({.sequence = i}), kNow);
    ASSERT_TRUE(checked && *checked);
    EXPECT_EQ((**checked).base_offset, i);
  }
}

TEST_F(ProducerStateTest, LeavesBatchesAtOrBehindTheEndOutOfASnapshot) {
  note({.producer_id = 1, .sequence = 0, .count = 5, .offset = 0});
  note({.producer_id = 2, .sequence = 0, .count = 5, .offset = 5});
  note({.producer_id = 1, .sequence = 5, .count = 5, .offset = 10});
  note({.producer_id = 3, .sequence = 0, .count = 5, .offset = 15});
  const ProducerState copy = restored(14);
  EXPECT_EQ(copy.size(), 2u);
  const auto checked = copy.check(header_of({.producer_id = 1, .sequence = 5, .count = 5}), kNow);
  ASSERT_TRUE(checked);
  EXPECT_FALSE(*checked) << "the batch at 10 is not complete below 14";
}

TEST_F(ProducerStateTest, ReachesTheSameStateFromASnapshotAndWhatFollowed) {
  std::mt19937_64 random(3);
  SCOPED_TRACE("seed 3");
  std::vector<Sent> log;
  std::map<std::int64_t, std::int32_t> next;
  for (Offset offset = 0; log.size() < 400;) {
    Sent sent{.producer_id = static_cast<std::int64_t>(random() % 20),
              .count = 1 + static_cast<std::int32_t>(random() % 4),
              .offset = offset};
    sent.sequence = next[sent.producer_id];
    next[sent.producer_id] += sent.count;
    offset += sent.count;
    log.push_back(sent);
    note(sent);
  }
  const Offset end = log.back().offset + log.back().count;
  ProducerState full(100, kExpirationMs);
  for (std::size_t cut = 0; cut < log.size(); cut += 7) {
    ProducerState before(100, kExpirationMs);
    for (std::size_t i = 0; i < cut; ++i) before.note(header_of(log[i]), kNow);
    auto copy = ProducerState::decode(before.encode(log[cut].offset), 100, kExpirationMs);
    ASSERT_TRUE(copy);
    // Replay may begin earlier than the snapshot ends.
    for (std::size_t i = cut / 2; i < log.size(); ++i) copy->first.note(header_of(log[i]), kNow);
    ASSERT_EQ(copy->first.encode(end), state_.encode(end)) << "cut at " << cut;
  }
}

TEST_F(ProducerStateTest, KeepsNoMoreProducersOfASnapshotThanAllowed) {
  for (std::int32_t i = 0; i < 10; ++i) note({.producer_id = i, .sequence = i, .offset = i});
  const ProducerState copy = restored(10, 4);
  EXPECT_EQ(copy.size(), 4u);
  const auto last = copy.check(header_of({.producer_id = 9, .sequence = 9}), kNow);
  EXPECT_TRUE(last && *last);
}

TEST_F(ProducerStateTest, StaysWithinABudgetThatItSharesButKeepsOne) {
  const auto budget = std::make_shared<ProducerBudget>(5);
  state_.count_in(budget);
  for (std::int32_t i = 0; i < 8; ++i) note({.producer_id = i, .offset = i});
  EXPECT_EQ(budget->used(), 5);
  EXPECT_TRUE(accepted({.producer_id = 2, .sequence = 77})) << "idle longest: forgotten";
  EXPECT_TRUE(duplicate({.producer_id = 3}));
  ProducerState other(100, kExpirationMs);
  other.count_in(budget);
  for (std::int32_t i = 0; i < 3; ++i) other.note(header_of({.producer_id = i, .offset = i}), kNow);
  EXPECT_EQ(other.size(), 1u) << "its own one in place of its own one";
  note({.producer_id = 7, .sequence = 1, .offset = 10});
  EXPECT_EQ(state_.size(), 4u);
  EXPECT_EQ(budget->used(), 5);
}

TEST_F(ProducerStateTest, GivesBackWhatItForgets) {
  const auto budget = std::make_shared<ProducerBudget>(5);
  state_.count_in(budget);
  note({.producer_id = 1, .offset = 1});
  note({.producer_id = 2, .offset = 2}, kNow + kExpirationMs);
  {
    const ProducerState copy = state_;
    EXPECT_EQ(copy.size(), 2u);
    EXPECT_EQ(budget->used(), 2) << "a copy does not count";
  }
  state_.expire(kNow + kExpirationMs);
  EXPECT_EQ(budget->used(), 1);
  const ProducerState moved = std::move(state_);
  EXPECT_EQ(budget->used(), 1);
  state_ = ProducerState(100, kExpirationMs);
  state_.count_in(budget);
  note({.producer_id = 3, .offset = 3});
  EXPECT_EQ(budget->used(), 2);
  state_.clear();
  EXPECT_EQ(budget->used(), 1);
}

TEST_F(ProducerStateTest, FitsIntoABudgetThatItJoins) {
  for (std::int32_t i = 0; i < 8; ++i) note({.producer_id = i, .offset = i});
  const auto budget = std::make_shared<ProducerBudget>(5);
  state_.count_in(budget);
  EXPECT_EQ(state_.size(), 5u);
  EXPECT_TRUE(duplicate({.producer_id = 7, .offset = 7}));
}

TEST_F(ProducerStateTest, RefusesEveryTruncationOfASnapshot) {
  for (std::int32_t i = 0; i < 9; ++i) note({.producer_id = i % 3, .sequence = i, .offset = i});
  const Bytes bytes = state_.encode(9);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto decoded = ProducerState::decode(ByteView(bytes).first(length), 100, kExpirationMs);
    ASSERT_FALSE(decoded) << length;
    EXPECT_EQ(decoded.error().kind, ErrorKind::kDamaged);
  }
}

TEST_F(ProducerStateTest, RefusesEveryFlippedBitOfASnapshot) {
  for (std::int32_t i = 0; i < 9; ++i) note({.producer_id = i % 3, .sequence = i, .offset = i});
  const Bytes good = state_.encode(9);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= std::byte(1u << bit % 8);
    ASSERT_FALSE(ProducerState::decode(bytes, 100, kExpirationMs)) << "bit " << bit;
  }
}

}  // namespace
}  // namespace lastword::storage
