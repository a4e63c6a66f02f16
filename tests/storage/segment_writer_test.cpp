// SPDX-License-Identifier: Apache-2.0
// What a segment says about itself is what is in its file; and a failed write leaves it as it was.
#include "storage/segment_writer.h"

#include <gtest/gtest.h>

#include "protocol/crc32c.h"
#include "storage/segment_reader.h"
#include "tests/storage/test_environment.h"
#include "tests/support/batches.h"
#include "tests/support/hex.h"

namespace lastword::storage {
namespace {

using test::batch;
using test::CallKind;
using test::TestEnvironment;

constexpr TimestampMs kAppend = 1'700'000'005'000;

class SegmentWriterTest : public testing::Test {
 protected:
  TestEnvironment test_{};
  SegmentWriterOptions options_{};
  std::unique_ptr<SegmentWriter> writer_{};

  void create(const SegmentInfo& info) {
    auto writer = SegmentWriter::create(test_.env, "p-0", info, options_);
    ASSERT_TRUE(writer) << writer.error().text;
    writer_ = std::move(*writer);
  }
  Result<std::unique_ptr<SegmentWriter>> resume(const SegmentInfo& info) {
    return SegmentWriter::resume(test_.env, "p-0", info, options_);
  }
  Result<> append(const test::BatchSpec& spec) {
    const Bytes bytes = batch(spec);
    auto done = writer_->append(bytes, facts_of(bytes), kAppend);
    writer_->publish();
    return done;
  }
  /// One record of about `size_bytes`.
  Result<> append_sized(Offset offset, std::size_t size_bytes, TimestampMs timestamp = 1) {
    return append({.base_offset = offset,
                   .records = {{"k", std::string(size_bytes, 'v')}},
                   .timestamp = timestamp});
  }
  static BatchFacts facts_of(const Bytes& bytes) {
    BatchFacts facts{*read_batch_header(bytes), 0};
    for (const auto& record : test::records_of(bytes)) facts.tombstones += record.is_tombstone();
    return facts;
  }
  Bytes content(const std::string& name = "00000000000000000000.log") const {
    return test_.files.content("p-0/" + name);
  }
};

TEST_F(SegmentWriterTest, WritesPlainBatchesUnderKafkasName) {
  create({});
  const test::BatchSpec first{.base_offset = 0, .records = {{"k", "v"}}};
  const test::BatchSpec second{.base_offset = 7, .records = {{"k", std::nullopt}}};
  ASSERT_TRUE(append(first));
  ASSERT_TRUE(append(second));
  Bytes expected = batch(first);
  test::append(expected, batch(second));
  EXPECT_EQ(content(), expected);
  EXPECT_EQ(writer_->info().size_bytes, expected.size());
  EXPECT_EQ(writer_->info().checksum, crc32c(expected));
  EXPECT_EQ(writer_->path(), "p-0/00000000000000000000.log");
}

TEST_F(SegmentWriterTest, CountsWhatItHolds) {
  create({.base_offset = 100, .generation = 3});
  EXPECT_EQ(writer_->info().last_offset, 99);
  ASSERT_TRUE(append({.base_offset = 100,
                      .records = {{"a", "1"}, {"b", std::nullopt}, {"c", std::nullopt}},
                      .timestamp = 500}));
  ASSERT_TRUE(append({.base_offset = 110, .records = {{"a", "1"}}, .timestamp = 900}));
  ASSERT_TRUE(append({.base_offset = 120,
                      .records = {{"d", std::nullopt, 800}},
                      .delete_horizon = 5000,
                      .last_offset_delta = 4}));
  ASSERT_TRUE(append({.base_offset = 130, .records = {{"a", "1", 900}}, .delete_horizon = 3000}));
  const SegmentInfo& info = writer_->info();
  EXPECT_EQ(info.generation, 3u);
  EXPECT_EQ(info.last_offset, 130);
  EXPECT_EQ(info.records, 6);
  EXPECT_EQ(info.unstamped_tombstones, 2);
  EXPECT_EQ(info.stamped_tombstones, 1);
  EXPECT_EQ(info.earliest_horizon, 5000) << "a stamped batch without tombstones does not count";
  EXPECT_EQ(info.max_timestamp, 900);
  EXPECT_EQ(info.max_timestamp_offset, 110) << "the first batch that has it";
  EXPECT_EQ(info.first_append_ms, kAppend);
  EXPECT_EQ(info.last_append_ms, kAppend);
}

TEST_F(SegmentWriterTest, KeepsTheAppendTimesItWasGiven) {
  create({.first_append_ms = 10, .last_append_ms = kAppend + 7});
  ASSERT_TRUE(append({.records = {{"k", "v"}}}));
  EXPECT_EQ(writer_->info().first_append_ms, 10);
  EXPECT_EQ(writer_->info().last_append_ms, kAppend + 7);
}

TEST_F(SegmentWriterTest, ReplacesALeftoverOfTheSameName) {
  create({});
  ASSERT_TRUE(append_sized(0, 1000));
  create({});
  EXPECT_TRUE(content().empty());
  ASSERT_TRUE(append_sized(0, 10));
  EXPECT_EQ(content().size(), writer_->info().size_bytes);
}

// ---- indexes -------------------------------------------------------------------------------

TEST_F(SegmentWriterTest, MakesAnEntryWhenMoreThanTheIntervalLiesBehindTheLast) {
  const std::size_t batch_bytes = batch({.records = {{"k", std::string(100, 'v')}}}).size();
  options_.index_interval_bytes = static_cast<std::int64_t>(2 * batch_bytes);
  create({.base_offset = 50});
  for (Offset offset = 50; offset < 60; ++offset) {
    ASSERT_TRUE(append_sized(offset, 100, 1000 + offset));
  }
  // Two batches are not more than the interval, three are.
  const auto position = [&](std::int64_t batches) {
    return batches * static_cast<std::int64_t>(batch_bytes);
  };
  EXPECT_EQ(writer_->offset_index().count(), 3u);
  EXPECT_EQ(writer_->offset_index().floor(52), std::nullopt);
  EXPECT_EQ(writer_->offset_index().floor(53), (IndexEntry{53, position(3)}));
  EXPECT_EQ(writer_->offset_index().floor(58), (IndexEntry{56, position(6)}));
  EXPECT_EQ(writer_->offset_index().last(), (IndexEntry{59, position(9)}));
  EXPECT_EQ(writer_->time_index().floor(1053), (IndexEntry{1053, 53}));
}

TEST_F(SegmentWriterTest, IndexesTheLastOffsetOfABatch) {
  options_.index_interval_bytes = 0;
  create({});
  ASSERT_TRUE(append_sized(0, 10));
  ASSERT_TRUE(append({.base_offset = 5, .records = {{"a", "1"}}, .last_offset_delta = 4}));
  EXPECT_EQ(writer_->offset_index().last()->key, 9);
}

TEST_F(SegmentWriterTest, KeepsTheLargestTimestampSoFarInTheTimeIndex) {
  options_.index_interval_bytes = 0;
  create({});
  ASSERT_TRUE(append_sized(0, 10, 50));
  ASSERT_TRUE(append_sized(1, 10, 90));
  ASSERT_TRUE(append_sized(2, 10, 70));
  ASSERT_TRUE(append_sized(3, 10, 90));
  ASSERT_TRUE(append_sized(4, 10, 91));
  EXPECT_EQ(writer_->time_index().count(), 2u);
  EXPECT_EQ(writer_->time_index().floor(90), (IndexEntry{90, 1}));
  EXPECT_EQ(writer_->time_index().last(), (IndexEntry{91, 4}));
}

TEST_F(SegmentWriterTest, ShowsNewEntriesOnlyOncePublished) {
  options_.index_interval_bytes = 0;
  create({});
  ASSERT_TRUE(append_sized(0, 10));
  const Bytes bytes = batch({.base_offset = 1, .records = {{"k", "v"}}});
  ASSERT_TRUE(writer_->append(bytes, facts_of(bytes), kAppend));
  EXPECT_EQ(writer_->offset_index().count(), 0u);
  writer_->publish();
  EXPECT_EQ(writer_->offset_index().count(), 1u);
}

TEST_F(SegmentWriterTest, SavesIndexesWithAClosingTimeEntry) {
  create({.base_offset = 5});
  ASSERT_TRUE(append_sized(5, 10, 1000));
  ASSERT_TRUE(append_sized(6, 10, 900));
  ASSERT_TRUE(writer_->save_indexes());
  EXPECT_TRUE(content("00000000000000000005.index").empty());
  EXPECT_EQ(to_hex(content("00000000000000000005.timeindex")),
            "00 00 00 00 00 00 03 e8 00 00 00 00");
  EXPECT_EQ(test_.calls.count(CallKind::kSyncData, "index"), 2u);
}

TEST_F(SegmentWriterTest, SavesEntriesThatAreNotPublished) {
  options_.index_interval_bytes = 0;
  create({});
  ASSERT_TRUE(append_sized(0, 10));
  const Bytes bytes = batch({.base_offset = 1, .records = {{"k", "v"}}});
  ASSERT_TRUE(writer_->append(bytes, facts_of(bytes), kAppend));
  ASSERT_TRUE(writer_->save_indexes());
  EXPECT_EQ(content("00000000000000000000.index").size(), 8u);
  EXPECT_EQ(writer_->offset_index().count(), 0u);
}

TEST_F(SegmentWriterTest, LeavesEmptyBatchesOutOfTheTimeIndex) {
  options_.index_interval_bytes = 0;
  create({});
  ASSERT_TRUE(append_sized(0, 10, 100));
  const Bytes empty = make_empty_batch(
      *read_batch_header(batch({.base_offset = 1, .records = {{"k", "v"}}, .timestamp = 200})));
  ASSERT_TRUE(writer_->append(empty, facts_of(empty), kAppend));
  ASSERT_TRUE(append_sized(2, 10, 50));
  ASSERT_TRUE(writer_->save_indexes());
  EXPECT_EQ(writer_->info().max_timestamp, 200);
  EXPECT_EQ(writer_->time_index().last(), (IndexEntry{100, 0}));
  EXPECT_EQ(content("00000000000000000000.timeindex").size(), 12u);
}

TEST_F(SegmentWriterTest, HasNoTimeEntriesWithoutTimestamps) {
  options_.index_interval_bytes = 0;
  create({});
  for (Offset offset = 0; offset < 3; ++offset) ASSERT_TRUE(append_sized(offset, 10, -1));
  ASSERT_TRUE(writer_->save_indexes());
  EXPECT_TRUE(content("00000000000000000000.timeindex").empty());
  EXPECT_EQ(content("00000000000000000000.index").size(), 16u);
}

TEST_F(SegmentWriterTest, SaysWhenItsIndexesAreFull) {
  options_.index_interval_bytes = 0;
  options_.index_bytes_max = 36;
  create({});
  ASSERT_TRUE(append_sized(0, 10, 1));
  ASSERT_TRUE(append_sized(1, 10, 2));
  EXPECT_FALSE(writer_->indexes_full());
  ASSERT_TRUE(append_sized(2, 10, 3));
  EXPECT_TRUE(writer_->indexes_full()) << "there must be room for the closing time entry";
  ASSERT_TRUE(writer_->save_indexes());
  EXPECT_LE(content("00000000000000000000.timeindex").size(), 36u);
}

TEST_F(SegmentWriterTest, KeepsItsIndexesSmallHoweverManyBatchesThereAre) {
  options_.index_interval_bytes = 0;
  for (const bool published : {true, false}) {
    create({.generation = published ? 0u : 1u});
    const Bytes bytes = batch({.records = {{"k", "v"}}});
    BatchFacts facts = facts_of(bytes);
    for (Offset offset = 0; offset < 300000; ++offset) {
      facts.header.base_offset = facts.header.max_timestamp = offset;
      writer_->adopt(bytes, facts, kAppend);
      if (published) writer_->publish();
    }
    writer_->publish();
    for (const SparseIndex* index : {&writer_->offset_index(), &writer_->time_index()}) {
      EXPECT_LE(index->count(), 65536u);
      EXPECT_GT(index->count(), 16384u);
      EXPECT_EQ(index->floor(1)->key, 1) << "the first stays";
      EXPECT_GT(index->last()->key, 299900);
      for (Offset offset = 100; offset < 300000; offset += 777) {
        EXPECT_GT(index->floor(offset)->key, offset - 32);
      }
    }
    ASSERT_TRUE(writer_->save_indexes());
    EXPECT_LE(
        content(published ? "00000000000000000000.timeindex" : "00000000000000000000.1.timeindex")
            .size(),
        65537u * 12);
  }
}

// ---- resume --------------------------------------------------------------------------------

TEST_F(SegmentWriterTest, GoesOnWhereItStopped) {
  options_.index_interval_bytes = 250;
  const auto append_some = [this](Offset from, Offset to) {
    for (; from < to; ++from) ASSERT_TRUE(append_sized(from, 30, 100 + from % 7 + from / 5));
  };
  create({});
  append_some(0, 20);
  ASSERT_TRUE(writer_->save_indexes());
  auto resumed = resume(writer_->info());
  ASSERT_TRUE(resumed) << resumed.error().text;
  writer_ = std::move(*resumed);
  append_some(20, 40);
  const auto stopped = std::move(writer_);

  create({.base_offset = 0, .generation = 1});
  append_some(0, 40);
  EXPECT_EQ(content("00000000000000000000.log"), content("00000000000000000000.1.log"));
  EXPECT_EQ(stopped->offset_index().encode(), writer_->offset_index().encode());
  SegmentInfo info = stopped->info();
  info.generation = 1;
  EXPECT_EQ(info, writer_->info());
}

TEST_F(SegmentWriterTest, RefusesToResumeWithIndexesOfAnother) {
  options_.index_interval_bytes = 0;
  create({});
  for (Offset offset = 0; offset < 5; ++offset) ASSERT_TRUE(append_sized(offset, 30, offset));
  const SegmentInfo early = writer_->info();
  EXPECT_EQ(resume(early).error().kind, ErrorKind::kDamaged) << "none saved";
  for (Offset offset = 5; offset < 9; ++offset) ASSERT_TRUE(append_sized(offset, 30, offset));
  ASSERT_TRUE(writer_->save_indexes());
  EXPECT_TRUE(resume(writer_->info()));
  EXPECT_EQ(resume(early).error().kind, ErrorKind::kDamaged) << "they speak of more";
  SegmentInfo longer = writer_->info();
  longer.size_bytes += 1;
  EXPECT_EQ(resume(longer).error().kind, ErrorKind::kDamaged) << "the file is shorter";
}

TEST_F(SegmentWriterTest, RebuildsEverythingFromTheFileAlone) {
  options_.index_interval_bytes = 50;
  create({.base_offset = 10});
  for (Offset offset = 10; offset < 60; ++offset)
    ASSERT_TRUE(append_sized(offset, 20, 99 - offset));
  auto resumed = resume({.base_offset = 10});
  ASSERT_TRUE(resumed);
  auto file = test_.cache.open(writer_->path());
  ASSERT_TRUE(file);
  Bytes buffer;
  SegmentReader reader(*file, SegmentReader::Range::of_segment(10, writer_->info().size_bytes),
                       buffer);
  for (auto found = reader.next(); found && *found; found = reader.next()) {
    (*resumed)->adopt((**found).bytes, {(**found).header, 0}, kAppend);
  }
  (*resumed)->publish();
  EXPECT_EQ((*resumed)->info(), writer_->info());
  EXPECT_EQ((*resumed)->offset_index().encode(), writer_->offset_index().encode());
  EXPECT_EQ((*resumed)->time_index().encode(), writer_->time_index().encode());
}

TEST_F(SegmentWriterTest, CountsDamagedBytesIntoSizeAndChecksum) {
  create({});
  ASSERT_TRUE(append_sized(0, 10));
  const Bytes junk(40, std::byte{7});
  const auto position = writer_->info().size_bytes;
  auto file = test_.cache.open(writer_->path());
  ASSERT_TRUE((*file)->write_at(position, junk));
  writer_->adopt_damage(ByteView(junk).first(15));
  writer_->adopt_damage(ByteView(junk).subspan(15));
  ASSERT_TRUE(append_sized(1, 10));
  EXPECT_EQ(writer_->info().checksum, crc32c(content()));
  EXPECT_EQ(writer_->info().size_bytes, content().size());
}

// ---- space and failures --------------------------------------------------------------------

TEST_F(SegmentWriterTest, TakesSpaceAheadInStepsAndGivesItBack) {
  create({});
  for (Offset offset = 0; offset < 200; ++offset) ASSERT_TRUE(append_sized(offset, 1000));
  EXPECT_LE(test_.calls.count(CallKind::kAllocate), 3u);
  EXPECT_GT(test_.files.space_used(), writer_->info().size_bytes);
  EXPECT_EQ(content().size(), writer_->info().size_bytes);
  ASSERT_TRUE(writer_->trim());
  EXPECT_EQ(test_.files.space_used(), writer_->info().size_bytes);
}

TEST_F(SegmentWriterTest, TakesNoMoreAheadThanASmallSegmentMayHold) {
  options_.segment_bytes = 4096;
  create({});
  ASSERT_TRUE(append_sized(0, 10));
  EXPECT_EQ(test_.files.space_used(), 4096u);
}

TEST_F(SegmentWriterTest, TakesAllSpaceAtOnceWhenAsked) {
  options_.preallocate_bytes = 1 << 20;
  create({});
  EXPECT_EQ(test_.files.space_used(), 1u << 20);
  for (Offset offset = 0; offset < 100; ++offset) ASSERT_TRUE(append_sized(offset, 1000));
  EXPECT_EQ(test_.calls.count(CallKind::kAllocate), 1u);
}

TEST_F(SegmentWriterTest, UsesTheLastRoomOfADisk) {
  create({});
  const std::size_t batch_bytes = batch({.records = {{"k", std::string(1000, 'v')}}}).size();
  test_.files.limit_space(3 * batch_bytes);
  for (Offset offset = 0; offset < 3; ++offset) ASSERT_TRUE(append_sized(offset, 1000));
  EXPECT_EQ(append_sized(3, 1000).error().kind, ErrorKind::kDiskFull);
}

TEST_F(SegmentWriterTest, IsUnchangedByAnAppendThatDoesNotFitTheDisk) {
  options_.index_interval_bytes = 0;
  create({});
  ASSERT_TRUE(append_sized(0, 100));
  ASSERT_TRUE(append_sized(1, 100));
  const SegmentInfo info = writer_->info();
  const Bytes bytes = content();
  test_.files.limit_space(test_.files.space_used());
  EXPECT_EQ(append_sized(2, 1 << 20).error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(writer_->info(), info);
  EXPECT_EQ(writer_->offset_index().count(), 1u);
  EXPECT_EQ(content(), bytes);
  test_.files.limit_space(10 << 20);
  ASSERT_TRUE(append_sized(2, 1 << 20));
  EXPECT_EQ(writer_->info().checksum, crc32c(content()));
}

TEST_F(SegmentWriterTest, CutsAWriteBackThatFailedHalfway) {
  create({});
  ASSERT_TRUE(append_sized(0, 100));
  const SegmentInfo info = writer_->info();
  test_.calls.fail_call(CallKind::kWrite, 1);
  EXPECT_EQ(append_sized(1, 100).error().kind, ErrorKind::kStorage);
  EXPECT_EQ(writer_->info(), info);
  EXPECT_EQ(content().size(), info.size_bytes);
  ASSERT_TRUE(append_sized(1, 50));
  EXPECT_EQ(content().size(), writer_->info().size_bytes);
}

TEST_F(SegmentWriterTest, CutsAWriteBackThatRanOutOfSpaceHalfway) {
  create({});
  ASSERT_TRUE(append_sized(0, 100));
  const SegmentInfo info = writer_->info();
  // As on a file system where taking space means nothing.
  auto file = test_.cache.open(writer_->path());
  ASSERT_TRUE((*file)->truncate(info.size_bytes));
  test_.files.limit_space(test_.files.space_used() + 50);
  EXPECT_EQ(append_sized(1, 100).error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(content().size(), info.size_bytes);

  test_.files.limit_space(1 << 20);
  test_.calls.clear();
  ASSERT_TRUE(append_sized(1, 100));
  EXPECT_EQ(test_.calls.count(CallKind::kAllocate), 1u) << "cutting has given the space back";
}

TEST_F(SegmentWriterTest, TrimCutsWhatLiesBehindItsData) {
  create({});
  ASSERT_TRUE(append_sized(0, 100));
  auto file = test_.cache.open(writer_->path());
  ASSERT_TRUE((*file)->write_at(writer_->info().size_bytes, Bytes(77)));
  ASSERT_TRUE(writer_->trim());
  EXPECT_EQ(content().size(), writer_->info().size_bytes);
}

// ---- write buffer --------------------------------------------------------------------------

TEST_F(SegmentWriterTest, WritesManySmallBatchesInFewCallsThroughABuffer) {
  options_.write_buffer_bytes = 64 << 10;
  create({});
  for (Offset offset = 0; offset < 1000; ++offset) ASSERT_TRUE(append_sized(offset, 100));
  ASSERT_TRUE(writer_->sync_data());
  EXPECT_LE(test_.calls.count(CallKind::kWrite), 4u);
  EXPECT_EQ(content().size(), writer_->info().size_bytes);
  EXPECT_EQ(crc32c(content()), writer_->info().checksum);
  EXPECT_EQ(test::headers_of(content()).size(), 1000u);
}

TEST_F(SegmentWriterTest, KeepsTheOrderOfBatchesLargerThanItsBuffer) {
  options_.write_buffer_bytes = 1000;
  create({});
  for (Offset offset = 0; offset < 20; ++offset) {
    const bool large = offset % 3 == 0;
    ASSERT_TRUE(append_sized(offset, large ? 5000 : 100));
    EXPECT_EQ(content().size() == writer_->info().size_bytes, large) << "not held back";
  }
  ASSERT_TRUE(writer_->trim());
  EXPECT_EQ(crc32c(content()), writer_->info().checksum);
}

TEST_F(SegmentWriterTest, LosesNothingWhenAFlushFailsAndIsRepeated) {
  options_.write_buffer_bytes = 1000;
  create({});
  test_.calls.fail_call(CallKind::kWrite, 2, ErrorKind::kDiskFull);
  Offset offset = 0;
  int failures = 0;
  while (offset < 40) {
    const SegmentInfo info = writer_->info();
    if (append_sized(offset, 100)) {
      ++offset;
    } else {
      ++failures;
      EXPECT_EQ(writer_->info(), info);
    }
  }
  ASSERT_TRUE(writer_->flush());
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(crc32c(content()), writer_->info().checksum);
  EXPECT_EQ(test::headers_of(content()).size(), 40u);
}

TEST_F(SegmentWriterTest, HoldsNoFileOpen) {
  create({});
  ASSERT_TRUE(append_sized(0, 10));
  ASSERT_TRUE(writer_->save_indexes());
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(test_.cache.create("p-0/other" + std::to_string(i)));
  }
  EXPECT_TRUE(append_sized(1, 10));
}

}  // namespace
}  // namespace lastword::storage
