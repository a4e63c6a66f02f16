// SPDX-License-Identifier: Apache-2.0
#include "protocol/record_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tests/support/batches.h"

namespace lastword {
namespace {

constexpr std::size_t kUnpackedBytesMax = 16u << 20;
constexpr Codec kCodecs[] = {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd};

Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  int high = -1;
  for (const char c : hex) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high >= 0) bytes.push_back(static_cast<std::byte>(high * 16 + digit));
    high = high >= 0 ? -1 : digit;
  }
  return bytes;
}

/// The published test vector: (k->v), and (null->w) 5 ms later with header h=null.
const Bytes kVector = from_hex(
    "0000000000000000 00000045 ffffffff 02 44fc381c 0000 00000001 0000018bcfe56800 "
    "0000018bcfe56805 ffffffffffffffff ffff ffffffff 00000002 10 00 00 00 02 6b 02 76 00 "
    "14 00 0a 02 01 02 77 02 02 68 01");

test::BatchSpec vector_spec() {
  return {.records = {{"k", "v"},
                      {.key = std::nullopt,
                       .value = "w",
                       .timestamp = test::kBatchTime + 5,
                       .headers = {{"h", std::nullopt}}}}};
}

/// The result of walking a whole batch: how many records, or the error.
Result<int> walk(ByteView batch, std::size_t bytes_max = kUnpackedBytesMax) {
  Bytes scratch;
  auto cursor = RecordCursor::open(batch, bytes_max, scratch);
  if (!cursor) return cursor.take_error();
  for (int count = 0;; ++count) {
    auto record = cursor->next();
    if (!record) return record.take_error();
    if (!*record) return count;
  }
}

Bytes with_header(Bytes batch, auto change) {
  BatchHeader header = *read_batch_header(batch);
  change(header);
  write_batch_header(header, batch);
  seal_batch(batch);
  return batch;
}

TEST(RecordBatch, WritesThePublishedBytes) { EXPECT_EQ(test::batch(vector_spec()), kVector); }

TEST(RecordBatch, ReadsThePublishedBytes) {
  const BatchHeader header = *read_batch_header(kVector);
  EXPECT_EQ(header.size_bytes(), kVector.size());
  EXPECT_EQ(header.crc, 0x44fc381cu);
  EXPECT_EQ(header.last_offset(), 1);
  EXPECT_EQ(header.max_timestamp, 1700000000005);
  EXPECT_FALSE(header.has_producer());
  EXPECT_EQ(header.delete_horizon(), std::nullopt);
  EXPECT_TRUE(plausible(header));
  EXPECT_TRUE(crc_holds(kVector));
  const std::vector<test::OwnedRecord> expected{
      {.offset = 0, .timestamp = 1700000000000, .key = "k", .value = "v"},
      {.offset = 1, .timestamp = 1700000000005, .value = "w", .headers = {{"h", std::nullopt}}}};
  EXPECT_EQ(test::records_of(kVector), expected);
}

TEST(RecordBatch, EveryHeaderFieldIsWrittenAndReadAtItsPlace) {
  BatchHeader header{.base_offset = 0x0102030405060708,
                     .batch_length = 0x11121314,
                     .leader_epoch = 0x21222324,
                     .magic = 2,
                     .crc = 0xf1f2f3f4,
                     .attributes = 0x3132,
                     .last_offset_delta = 0x41424344,
                     .base_timestamp = 0x5152535455565758,
                     .max_timestamp = 0x6162636465666768,
                     .producer_id = -0x7172737475767778,
                     .producer_epoch = -2,
                     .base_sequence = 0x01020304,
                     .record_count = 0x05060708};
  Bytes bytes(kBatchHeaderBytes);
  write_batch_header(header, bytes);
  EXPECT_EQ(read_batch_header(bytes), header);
  EXPECT_EQ(bytes[0], std::byte{0x01});
  EXPECT_EQ(bytes[60], std::byte{0x08});
  EXPECT_EQ(read_batch_header(ByteView(bytes).first(60)), std::nullopt);
}

TEST(RecordBatch, KeepsNullApartFromEmptyInEveryCodec) {
  for (const Codec codec : kCodecs) {
    const Bytes bytes = test::batch({.base_offset = 40,
                                     .records = {{"", ""}, {std::nullopt, std::nullopt}, {"k", ""}},
                                     .codec = codec});
    EXPECT_EQ(read_batch_header(bytes)->codec(), codec);
    const auto records = test::records_of(bytes);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].key, "");
    EXPECT_EQ(records[0].value, "");
    EXPECT_FALSE(records[0].is_tombstone());
    EXPECT_EQ(records[1].key, std::nullopt);
    EXPECT_TRUE(records[1].is_tombstone());
    EXPECT_EQ(records[2].offset, 42);
  }
}

TEST(RecordBatch, RandomRecordsComeBackAsTheyWere) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto text = [&random]() -> std::optional<std::string> {
    if (random() % 5 == 0) return std::nullopt;
    return std::string(random() % (random() % 9 == 0 ? 20'000 : 200), static_cast<char>(random()));
  };
  for (const Codec codec : kCodecs) {
    test::BatchSpec spec{.base_offset = 1000, .codec = codec};
    std::vector<test::OwnedRecord> expected;
    std::int32_t delta = -1;
    for (int i = 0; i < 200; ++i) {
      delta += 1 + static_cast<std::int32_t>(random() % 3);
      const TimestampMs timestamp = random() % 2 == 0 ? static_cast<TimestampMs>(random()) : i;
      test::Record record{.key = text(), .value = text(), .timestamp = timestamp};
      record.offset_delta = delta;
      for (auto n = random() % 3; n > 0; --n) record.headers.emplace_back("header", text());
      expected.push_back(
          {spec.base_offset + delta, timestamp, record.key, record.value, record.headers});
      spec.records.push_back(std::move(record));
    }
    EXPECT_EQ(test::records_of(test::batch(spec)), expected) << codec_name(codec);
  }
}

TEST(RecordBatch, LogAppendTimeReplacesRecordTimestamps) {
  const Bytes bytes = test::batch({.records = {{"a", "1", 5}, {"b", "2", 6}},
                                   .timestamp = 999,
                                   .attributes = batch_attribute::kLogAppendTime});
  for (const auto& record : test::records_of(bytes)) EXPECT_EQ(record.timestamp, 999);
}

TEST(RecordBatch, AStampedBatchKeepsRecordTimestamps) {
  const TimestampMs horizon = test::kBatchTime + 86'400'000;
  const Bytes bytes =
      test::batch({.records = {{"a", std::nullopt}, {"b", "2", test::kBatchTime - 1}},
                   .delete_horizon = horizon});
  EXPECT_EQ(read_batch_header(bytes)->delete_horizon(), horizon);
  EXPECT_EQ(read_batch_header(bytes)->max_timestamp, test::kBatchTime);
  const auto records = test::records_of(bytes);
  EXPECT_EQ(records[0].timestamp, test::kBatchTime);
  EXPECT_EQ(records[1].timestamp, test::kBatchTime - 1);
}

TEST(RecordBatch, GapsAreReadAsTheyAre) {
  test::BatchSpec spec{
      .base_offset = 100, .records = {{"a", "1"}, {"b", "2"}}, .last_offset_delta = 9};
  spec.records[0].offset_delta = 3;
  spec.records[1].offset_delta = 7;
  const Bytes bytes = test::batch(spec);
  EXPECT_TRUE(plausible(*read_batch_header(bytes)));
  EXPECT_EQ(read_batch_header(bytes)->last_offset(), 109);
  const auto records = test::records_of(bytes);
  EXPECT_EQ(records[0].offset, 103);
  EXPECT_EQ(records[1].offset, 107);
}

TEST(RecordBatch, AnEmptyBatchKeepsWhatReadersAndProducersNeed) {
  const Bytes full =
      test::batch({.base_offset = 7,
                   .records = {{"a", "1"}, {"b", std::nullopt}},
                   .codec = Codec::kZstd,
                   .producer_id = 12,
                   .producer_epoch = 3,
                   .base_sequence = 44,
                   .attributes = batch_attribute::kTransactional | batch_attribute::kControl |
                                 batch_attribute::kLogAppendTime,
                   .leader_epoch = 5,
                   .delete_horizon = 1});
  BatchHeader expected = *read_batch_header(full);
  const Bytes bytes = make_empty_batch(expected);
  ASSERT_EQ(bytes.size(), kBatchHeaderBytes);
  const BatchHeader header = *read_batch_header(bytes);
  expected.batch_length = 49;
  expected.record_count = 0;
  expected.base_timestamp = -1;
  expected.attributes =
      batch_attribute::kTransactional | batch_attribute::kControl | batch_attribute::kLogAppendTime;
  expected.crc = header.crc;
  EXPECT_EQ(header, expected);
  EXPECT_EQ(header.last_sequence(), 45);
  EXPECT_TRUE(crc_holds(bytes));
  EXPECT_TRUE(plausible(header));
  EXPECT_EQ(*walk(bytes), 0);
}

TEST(RecordBatch, AnEmptyBatchIsNotUnpackedWhateverItsCodec) {
  for (std::int16_t codec = 1; codec <= 4; ++codec) {
    const Bytes bytes = with_header(make_empty_batch({.last_offset_delta = 3}),
                                    [&](BatchHeader& header) { header.attributes = codec; });
    EXPECT_EQ(*walk(bytes), 0);
  }
}

TEST(RecordBatch, StampingAnOffsetLeavesTheChecksumRight) {
  Bytes bytes = kVector;
  stamp_offset(bytes, 123456789012, 17);
  EXPECT_TRUE(crc_holds(bytes));
  EXPECT_EQ(read_batch_header(bytes)->base_offset, 123456789012);
  EXPECT_EQ(read_batch_header(bytes)->leader_epoch, 17);
  EXPECT_EQ(test::records_of(bytes)[1].offset, 123456789013);
}

TEST(RecordBatch, SequencesWrapAsKafkasDo) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ((BatchHeader{.last_offset_delta = 4, .base_sequence = 10}).last_sequence(), 14);
  EXPECT_EQ((BatchHeader{.last_offset_delta = 0, .base_sequence = kMost}).last_sequence(), kMost);
  EXPECT_EQ((BatchHeader{.last_offset_delta = 1, .base_sequence = kMost}).last_sequence(), 0);
  EXPECT_EQ((BatchHeader{.last_offset_delta = 10, .base_sequence = kMost - 3}).last_sequence(), 6);
  EXPECT_EQ((BatchHeader{.last_offset_delta = 10, .base_sequence = -1}).last_sequence(), -1);
}

TEST(RecordBatch, OnlyPossibleHeadersArePlausible) {
  const BatchHeader good{.batch_length = 49, .last_offset_delta = 4, .record_count = 5};
  EXPECT_TRUE(plausible(good));
  const auto implausible = [&good](auto change) {
    BatchHeader header = good;
    change(header);
    return !plausible(header);
  };
  constexpr auto kMost = std::numeric_limits<Offset>::max();
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.magic = 1; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.batch_length = 48; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.batch_length = -1; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.batch_length = 1 << 30; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.attributes = 5; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.last_offset_delta = -1; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.record_count = -1; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.record_count = 6; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.base_offset = -1; }));
  EXPECT_TRUE(implausible([](BatchHeader& h) { h.base_offset = kMost - 2; }));
}

TEST(RecordBatch, ACountThatIsNotTheContentsIsAnError) {
  for (const Codec codec : kCodecs) {
    const Bytes bytes =
        test::batch({.records = {{"a", "1"}, {"b", "2"}, {"c", "3"}}, .codec = codec});
    for (const std::int32_t count : {0, 1, 2, 4, 1'000'000}) {
      const auto result = walk(with_header(bytes, [&](BatchHeader& header) {
        header.record_count = count;
        header.last_offset_delta = 1'000'000;
      }));
      ASSERT_FALSE(result) << count;
      EXPECT_EQ(result.error().kind, ErrorKind::kInvalidRecord);
    }
  }
}

TEST(RecordBatch, OffsetsMustAscendWithinTheBatch) {
  const std::size_t second_delta_at = kBatchHeaderBytes + 9 + 3;
  for (const int zigzag : {0 /* again 0 */, 1 /* -1 */, 4 /* 2, beyond the last */}) {
    Bytes bytes = kVector;
    ASSERT_EQ(bytes[second_delta_at], std::byte{2});
    bytes[second_delta_at] = static_cast<std::byte>(zigzag);
    const auto result = walk(bytes);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kInvalidRecord);
  }
}

TEST(RecordBatch, WhatIsNoBatchIsRefused) {
  EXPECT_EQ(walk({}).error().kind, ErrorKind::kCorruptBatch);
  for (std::size_t size = 0; size < kVector.size(); ++size) {
    EXPECT_EQ(walk(ByteView(kVector).first(size)).error().kind, ErrorKind::kCorruptBatch);
  }
  const auto changed = [](auto change) { return walk(with_header(kVector, change)).error().kind; };
  EXPECT_EQ(changed([](BatchHeader& h) { h.magic = 1; }), ErrorKind::kCorruptBatch);
  EXPECT_EQ(changed([](BatchHeader& h) { h.batch_length = -12; }), ErrorKind::kCorruptBatch);
  EXPECT_EQ(changed([](BatchHeader& h) { h.attributes = 6; }), ErrorKind::kUnsupportedCompression);
  EXPECT_EQ(changed([](BatchHeader& h) { h.attributes = 4; }), ErrorKind::kCorruptBatch);
  EXPECT_EQ(changed([](BatchHeader& h) { h.record_count = -1; }), ErrorKind::kInvalidRecord);
}

TEST(RecordBatch, ALargeScratchIsGivenBack) {
  const Bytes bytes =
      test::batch({.records = {{"k", std::string(kLargeOutputBytes, 'x')}}, .codec = Codec::kZstd});
  Bytes scratch;
  {
    auto cursor = RecordCursor::open(bytes, kUnpackedBytesMax, scratch);
    ASSERT_TRUE(cursor);
    EXPECT_EQ((*cursor->next())->value->size(), kLargeOutputBytes);
  }
  EXPECT_LE(scratch.capacity(), kLargeOutputBytes);
  EXPECT_EQ(walk(bytes, 1000).error().kind, ErrorKind::kInvalidRecord);
}

TEST(RecordBatch, AnyChangedByteIsWalkedSafely) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const Codec codec : kCodecs) {
    test::BatchSpec spec = vector_spec();
    spec.codec = codec;
    const Bytes whole = test::batch(spec);
    for (int i = 0; i < 20'000; ++i) {
      Bytes bytes = whole;
      for (auto changes = 1 + random() % 3; changes > 0; --changes) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      static_cast<void>(walk(bytes));
    }
  }
}

TEST(RecordHeaders, RoundTripAndRefuseWhatDoesNotParse) {
  const std::vector<HeaderView> pairs{{test::view_of("a"), test::view_of("1")},
                                      {test::view_of(""), std::nullopt}};
  Bytes bytes;
  write_record_headers(pairs, bytes);
  const auto read = read_record_headers(bytes);
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ(test::to_text((*read)[0].key), "a");
  EXPECT_FALSE((*read)[1].value.has_value());
  EXPECT_TRUE(read_record_headers({})->empty());
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_record_headers(ByteView(bytes).first(size))) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(read_record_headers(bytes));
  EXPECT_FALSE(read_record_headers(from_hex("02 01 01"))) << "null key";
  EXPECT_FALSE(read_record_headers(from_hex("01"))) << "negative count";
  EXPECT_FALSE(read_record_headers(from_hex("feffffff0f"))) << "a count of two thousand million";
}

}  // namespace
}  // namespace lastword
