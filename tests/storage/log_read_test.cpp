// SPDX-License-Identifier: Apache-2.0
// Reads: whole batches, across rolls, gaps and damage, never above the high watermark.
#include <gtest/gtest.h>

#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::DamagedRange;
using storage::ReadPlan;
using storage::SegmentFile;

class LogReadTest : public testing::Test, protected LogFixture {
 protected:
  void SetUp() override { open(); }
  ErrorKind read_error(Offset from) {
    auto read = log->read(from, {.bytes_max = 1000});
    EXPECT_FALSE(read);
    return read ? ErrorKind::kMalformed : read.error().kind;
  }
  /// `segments` closed ones of `batches` single records each, and the same in the active one.
  void fill(int segments, int batches) {
    for (int i = 0; i <= segments; ++i) {
      if (i > 0) roll();
      for (int j = 0; j < batches; ++j) append("key", std::string(40, 'v'));
    }
    sync();
  }
};

TEST_F(LogReadTest, ReadsBackWhatWasAppendedByteForByte) {
  Bytes expected;
  for (int i = 0; i < 5; ++i) {
    const BatchSpec spec{.records = {{"k", "v" + std::to_string(i)}, {"t", std::nullopt}},
                         .codec = i % 2 == 0 ? Codec::kNone : Codec::kZstd};
    auto checked = checked_batch(spec);
    ASSERT_TRUE(log->append(checked));
    const ByteView bytes = checked.bytes();
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  sync();
  EXPECT_EQ(read_all(0), expected);
}

TEST_F(LogReadTest, ShowsNothingThatIsNotDurable) {
  append("a");
  const ReadPlan nothing = plan(0);
  EXPECT_TRUE(nothing.ranges.empty());
  EXPECT_EQ(nothing.next_offset, 0);
  EXPECT_EQ(log->readable_bytes(0), 0u);
  sync();
  append("b");
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0}));
  EXPECT_EQ(plan(0).offsets.high_watermark, 1);
  EXPECT_TRUE(plan(1).ranges.empty());
}

TEST_F(LogReadTest, DamageInTheMiddleOfAFileIsToldWithItsOwnOffsets) {
  options.index_interval_bytes = 0;
  reopen();
  fill(1, 10);
  const std::size_t one = batch({.records = {{"key", std::string(40, 'v')}}}).size();
  memory.damage(path(0), 5 * one + 70, Bytes{std::byte{0x55}});     // its header is good
  memory.damage(path(0), 6 * one + 8, Bytes(20, std::byte{0x55}));  // this one's is not
  static_cast<void>(plan(5, one + one / 2));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].position, 5 * one);
  EXPECT_EQ(log->view().damaged[0].first_offset, 5);
  EXPECT_EQ(log->view().damaged[0].last_offset, 6);
  EXPECT_EQ(plan(0, 5 * one).next_offset, 5) << "a reader would stand still";
}

TEST_F(LogReadTest, RefusesOffsetsOutsideTheLog) {
  fill(1, 3);
  ASSERT_TRUE(log->drop_before(3));
  EXPECT_EQ(read_error(2), ErrorKind::kOffsetOutOfRange);
  EXPECT_EQ(read_error(7), ErrorKind::kOffsetOutOfRange);
  EXPECT_TRUE(plan(6).ranges.empty());
}

TEST_F(LogReadTest, ReadsAcrossARoll) {
  fill(3, 5);
  const ReadPlan all = plan(0);
  EXPECT_EQ(all.ranges.size(), 4u);
  EXPECT_EQ(all.next_offset, 20);
  EXPECT_EQ(records_of(bytes_of(all)).size(), 20u);
}

TEST_F(LogReadTest, EndsAtAHighWatermarkThatARollHasLeftBehind) {
  append("a");
  sync();
  append("b");
  roll();
  append("c");
  const Offset high_watermark = log->offsets().high_watermark;
  EXPECT_LT(high_watermark, 3);
  EXPECT_EQ(records().size(), static_cast<std::size_t>(high_watermark));
  EXPECT_EQ(plan(0).next_offset, high_watermark);
  for (Offset from = high_watermark; from <= 3; ++from) EXPECT_TRUE(plan(from).ranges.empty());
  roll();
  append("d");
  sync();
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 3}));
}

TEST_F(LogReadTest, GivesAtMostEightRanges) {
  fill(12, 1);
  EXPECT_EQ(plan(0).ranges.size(), 8u);
  EXPECT_EQ(plan(0).next_offset, 8);
  EXPECT_EQ(records().size(), 13u);
}

TEST_F(LogReadTest, StartsAtTheBatchThatHoldsTheOffset) {
  append({.records = {{"a", "1"}, {"b", "1"}, {"c", "1"}}});
  append({.records = {{"a", "2"}, {"b", "2"}, {"c", "2"}}});
  sync();
  EXPECT_EQ(headers_of(bytes_of(plan(2))).front().base_offset, 0);
  EXPECT_EQ(headers_of(bytes_of(plan(3))).front().base_offset, 3);
  EXPECT_EQ(headers_of(bytes_of(plan(5))).front().base_offset, 3);
}

TEST_F(LogReadTest, CutsAtWholeBatchesAndGivesTheFirstWholeIfItIsAskedTo) {
  fill(1, 4);
  const std::size_t one = batch({.records = {{"key", std::string(40, 'v')}}}).size();
  for (std::uint64_t bytes_max = 0; bytes_max < 9 * one; ++bytes_max) {
    SCOPED_TRACE(bytes_max);
    const ReadPlan some = plan(0, bytes_max);
    const std::uint64_t expected = std::max<std::uint64_t>(1, bytes_max / one);
    EXPECT_EQ(some.size_bytes, std::min<std::uint64_t>(expected, 8) * one);
    EXPECT_EQ(some.next_offset, static_cast<Offset>(some.size_bytes / one));
  }
  auto strict = log->read(0, {.bytes_max = one - 1, .first_batch_whole = false});
  ASSERT_TRUE(strict);
  EXPECT_TRUE(strict->ranges.empty());
  EXPECT_EQ(strict->next_offset, 0);
}

TEST_F(LogReadTest, FindsEveryOffsetByTheIndex) {
  options.index_interval_bytes = 200;
  reopen();
  fill(2, 40);
  for (Offset from = 0; from < 120; ++from) {
    SCOPED_TRACE(from);
    const auto headers = headers_of(bytes_of(plan(from, 500)));
    ASSERT_FALSE(headers.empty());
    EXPECT_EQ(headers.front().base_offset, from);
  }
}

TEST_F(LogReadTest, ReadsOnWhenAnIndexFileIsMissingOrWrong) {
  options.index_interval_bytes = 200;
  reopen();
  fill(1, 40);
  const auto right = memory.content(path(0, 0, SegmentFile::kOffsetIndex));
  ASSERT_GT(right.size(), 24u);
  Bytes wrong = right;  // each position is a little beside a batch
  for (std::size_t i = 7; i < wrong.size(); i += 8) wrong[i] ^= std::byte{1};
  memory.damage(path(0, 0, SegmentFile::kOffsetIndex), 0, wrong);
  EXPECT_EQ(offsets_read(30).front(), 30);
  EXPECT_EQ(memory.content(path(0, 0, SegmentFile::kOffsetIndex)), right);
  ASSERT_TRUE(memory.remove(path(0, 0, SegmentFile::kOffsetIndex)));
  cache->drop(path(0, 0, SegmentFile::kOffsetIndex));
  EXPECT_EQ(offsets_read(30).front(), 30);
  EXPECT_EQ(memory.content(path(0, 0, SegmentFile::kOffsetIndex)), right);
}

TEST_F(LogReadTest, SkipsADamagedBatchAndWritesTheDamageDown) {
  options.index_interval_bytes = 200;
  reopen();
  fill(1, 30);
  const std::size_t one = batch({.records = {{"key", std::string(40, 'v')}}}).size();
  memory.damage(path(0), 10 * one + 16, Bytes{std::byte{9}});  // magic
  std::vector<Offset> expected;
  for (Offset offset = 0; offset < 60; ++offset) {
    if (offset != 10) expected.push_back(offset);
  }
  // A read by small steps looks at each header; the first that does finds it.
  std::vector<Offset> found;
  for (const OwnedRecord& record : records_of(read_all(0, one))) found.push_back(record.offset);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(offsets_read(10).front(), 11);
  const auto damaged = log->view().damaged;
  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_EQ(damaged[0].position, 10 * one);
  EXPECT_EQ(damaged[0].length_bytes, one);
  EXPECT_EQ(damaged[0].first_offset, 10);
  EXPECT_EQ(damaged[0].last_offset, 10);
  EXPECT_TRUE(reported("offsets 10 to 10 may be lost"));
  reopen();
  EXPECT_EQ(log->view().damaged, damaged);
  EXPECT_EQ(offsets_read(), expected);
}

TEST_F(LogReadTest, FindsTheDamageAlsoWhenALengthLeadsAstray) {
  fill(1, 10);
  const std::size_t one = batch({.records = {{"key", std::string(40, 'v')}}}).size();
  // The length of batch 3 now leads into the middle of batch 4.
  memory.damage(path(0), 3 * one + 11, Bytes{std::byte(one - 12 + 30)});
  EXPECT_EQ(headers_of(bytes_of(plan(5, one))).front().base_offset, 5);
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].position, 3 * one);
  EXPECT_EQ(log->view().damaged[0].last_offset, 3);
}

TEST_F(LogReadTest, ARepairedRangeIsReadAgain) {
  fill(1, 3);
  const std::size_t one = batch({.records = {{"key", std::string(40, 'v')}}}).size();
  const DamagedRange range{.segment_base_offset = 0,
                           .position = one,
                           .length_bytes = one,
                           .first_offset = 1,
                           .last_offset = 1};
  ASSERT_TRUE(log->add_damage(range));
  ASSERT_TRUE(log->add_damage(range));
  EXPECT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 2, 3, 4, 5}));
  ASSERT_TRUE(log->remove_damage(range));
  EXPECT_EQ(records().size(), 6u);
}

TEST_F(LogReadTest, GoesOnBehindASegmentWhoseFileIsGone) {
  fill(2, 3);
  ASSERT_TRUE(memory.remove(path(3)));
  cache->drop(path(3));
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2, 6, 7, 8}));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].first_offset, 3);
  EXPECT_EQ(log->view().damaged[0].last_offset, 5);
}

TEST_F(LogReadTest, AReaderGetsPastDamageAtTheEndByABatchWithoutRecords) {
  fill(1, 5);
  const std::size_t one = batch({.records = {{"key", std::string(40, 'v')}}}).size();
  memory.damage(path(5), 3 * one + 16, Bytes(2 * one - 16, std::byte{9}));
  EXPECT_EQ(records_of(read_all(0, one)).size(), 8u);
  const ReadPlan gap = plan(8);
  const auto headers = headers_of(bytes_of(gap));
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].base_offset, 8);
  EXPECT_EQ(headers[0].last_offset(), 9);
  EXPECT_EQ(headers[0].record_count, 0);
  EXPECT_EQ(headers[0].leader_epoch, 0);
  EXPECT_TRUE(crc_holds(bytes_of(gap)));
  EXPECT_EQ(gap.next_offset, 10);
  EXPECT_EQ(plan(9, 0).next_offset, 10) << "also when bytes are short";
  auto strict = log->read(9, {.bytes_max = 60, .first_batch_whole = false});
  ASSERT_TRUE(strict);
  EXPECT_TRUE(strict->ranges.empty()) << "but not beyond a strict limit";
  EXPECT_TRUE(plan(10).ranges.empty());
}

TEST_F(LogReadTest, AFileThatLostItsEndIsReadAsFarAsItGoes) {
  for (int i = 0; i < 4; ++i) append("k");
  roll();
  append("k");
  sync();
  const std::uint64_t one = memory.content(path(0)).size() / 4;
  ASSERT_TRUE((*memory.open(path(0), storage::OpenMode::kReadWrite))->truncate(2 * one + 10));
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 4}));
  ASSERT_EQ(log->view().damaged.size(), 1u);
  EXPECT_EQ(log->view().damaged[0].first_offset, 2);
  EXPECT_EQ(log->view().damaged[0].last_offset, 3);
}

TEST_F(LogReadTest, AReaderGetsPastALostFileInFrontOfAnEmptyOne) {
  fill(1, 3);
  roll();
  ASSERT_TRUE(memory.remove(path(3)));
  cache->drop(path(3));
  EXPECT_EQ(offsets_read(), (std::vector<Offset>{0, 1, 2}));
  EXPECT_EQ(plan(3).next_offset, 6);
  EXPECT_EQ(plan(3, 0).next_offset, 6);
  EXPECT_EQ(headers_of(bytes_of(plan(4))).front().last_offset(), 5);
  append("behind it");
  sync();
  EXPECT_EQ(headers_of(bytes_of(plan(4, 0))).front().base_offset, 6);
}

TEST_F(LogReadTest, EstimatesZeroBytesOnlyWhereThereIsNothing) {
  options.index_interval_bytes = 200;
  reopen();
  fill(2, 20);
  append("not synced");
  std::uint64_t before = kUnlimited;
  for (Offset from = 0; from < 60; ++from) {
    const std::uint64_t bytes = log->readable_bytes(from);
    EXPECT_GT(bytes, 0u) << from;
    EXPECT_LE(bytes, before) << from;
    before = bytes;
  }
  EXPECT_EQ(log->readable_bytes(60), 0u);
  EXPECT_EQ(log->readable_bytes(0), read_all(0).size());
}

TEST_F(LogReadTest, ReadersFinishOnFilesThatWereDropped) {
  fill(2, 3);
  const ReadPlan before = plan(0);
  ASSERT_TRUE(log->drop_before(9));
  EXPECT_EQ(records_of(bytes_of(before)).size(), 9u);
}

TEST_F(LogReadTest, AnswersClosedOnceItIsClosed) {
  fill(1, 3);
  const ReadPlan before = plan(0);
  close();
  EXPECT_EQ(read_error(0), ErrorKind::kClosed);
  EXPECT_EQ(append_error({.records = {{"k", "v"}}}), ErrorKind::kClosed);
  EXPECT_EQ(log->sync().error().kind, ErrorKind::kClosed);
  EXPECT_EQ(log->drop_before(1).error().kind, ErrorKind::kClosed);
  EXPECT_EQ(log->close_active().error().kind, ErrorKind::kClosed);
  EXPECT_TRUE(log->close());
  EXPECT_EQ(records_of(bytes_of(before)).size(), 6u);
}

}  // namespace
}  // namespace lastword::test
