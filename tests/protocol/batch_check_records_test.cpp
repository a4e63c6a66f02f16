// SPDX-License-Identifier: Apache-2.0
// The walk over the records, timestamps, and what the broker changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/protocol/batch_check_support.h"

namespace lastword {
namespace {

using namespace batch_check_support;

// ---- records -------------------------------------------------------------------------------

TEST(BatchCheck, BrokenRecordsAreNamedInEveryCodec) {
  using namespace std::string_view_literals;
  const std::string good("\x0c\0\0\0\x01\x01\0", 7);  // delta 0, null key, null value
  const std::pair<std::string_view, const char*> broken[] = {
      {"\x7e\0\0\2\x01\x01\0"sv, "length"},
      {"\x01"sv, "length"},
      {"\xff\xff\xff\xff\x7f"sv, "length"},
      {"\xff\xff\xff\xff\xff\xff\xff"sv, "length"},
      {"\x00"sv, "short"},
      {"\x02\x00"sv, "timestamp"},
      {"\x0c\0\0\2\x03\x01\0"sv, "key"},
      {"\x0c\0\0\2\x10\x01\0"sv, "key"},
      {"\x0c\0\0\2\x01\x03\0"sv, "value"},
      {"\x0c\0\0\2\x01\x10\0"sv, "value"},
      {"\x0c\0\0\2\x01\x01\x01"sv, "count of headers"},
      {"\x0c\0\0\2\x01\x01\x02"sv, "header"},
      {"\x10\0\0\2\x01\x01\x02\x01\x01"sv, "header"},
      {"\x0e\0\0\2\x01\x01\0\0"sv, "longer than its fields"},
      {"\x0c\0\0\0\x01\x01\0"sv, "offset delta"},
      {"\x0c\0\0\4\x01\x01\0"sv, "offset delta"},
      {""sv, "missing"},
  };
  for (const Codec codec : kCodecs) {
    accepted(check(with_records(good, 1, codec)));
    for (const auto& [bytes, what] : broken) {
      const auto refusal = refused(check(with_records(good + std::string(bytes), 2, codec)),
                                   ErrorKind::kInvalidRecord);
      EXPECT_NE(refusal.text.find("record 1 "), std::string::npos) << refusal.text;
      EXPECT_NE(refusal.text.find(what), std::string::npos) << refusal.text;
      EXPECT_EQ(indexes(refusal), std::vector{1});
    }
    refused(check(with_records(good + "x", 1, codec)), ErrorKind::kInvalidRecord);
  }
}

TEST(BatchCheck, RecordsThatDoNotUnpackAreCorrupt) {
  for (const std::int16_t codec :
       {std::int16_t{1}, std::int16_t{2}, std::int16_t{3}, std::int16_t{4}}) {
    refused(check(with_header(test::batch(three_records()),
                              [&](BatchHeader& h) { h.attributes = codec; })),
            ErrorKind::kCorruptBatch);
  }
}

TEST(BatchCheck, ABatchThatUnpacksToTooMuchIsRefused) {
  const std::string large(2'000'000, 'x');
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    const Bytes bytes = test::batch({.records = {{"k", large}}, .codec = codec});
    accepted(check(bytes, {.decompressed_bytes_max = 2'001'000}));
    const auto refusal =
        refused(check(bytes, {.decompressed_bytes_max = 1'000'000}), ErrorKind::kInvalidRecord);
    EXPECT_NE(refusal.text.find("limits.decompressed_bytes"), std::string::npos);
  }
}

TEST(BatchCheck, ACompactedTopicNeedsKeysAndNamesEachRecordWithoutOne) {
  for (const Codec codec : kCodecs) {
    const Bytes bytes = test::batch({.records = {{std::nullopt, "1"},
                                                 {"", "2"},
                                                 {"k", std::nullopt},
                                                 {std::nullopt, std::nullopt}},
                                     .codec = codec});
    accepted(check(bytes));
    const auto refusal = refused(check(bytes, {.key_required = true}), ErrorKind::kInvalidRecord);
    EXPECT_EQ(indexes(refusal), (std::vector{0, 3}));
    EXPECT_EQ(refusal.records[1].text, "record 3 has no key: a compacted topic needs one");
    EXPECT_NE(refusal.text.find("2 records"), std::string::npos) << refusal.text;
  }
}

TEST(BatchCheck, TheListOfBadRecordsIsBounded) {
  test::BatchSpec spec;
  spec.records.resize(kRefusedRecordsMax + 500);
  const auto refusal =
      refused(check(test::batch(spec), {.key_required = true}), ErrorKind::kInvalidRecord);
  EXPECT_EQ(refusal.records.size(), kRefusedRecordsMax);
  EXPECT_NE(refusal.text.find("1500 records"), std::string::npos);
}

// ---- timestamps ----------------------------------------------------------------------------

TEST(BatchCheck, TimestampsMustLieWithinTheBounds) {
  const BatchRules rules{.timestamp_before_max_ms = 1000, .timestamp_after_max_ms = 500};
  for (const Codec codec : kCodecs) {
    const auto at = [&](TimestampMs timestamp) {
      return check(
          test::batch({.records = {{"a", "1", kNow}, {"b", "2", timestamp}}, .codec = codec}),
          rules);
    };
    accepted(at(kNow - 1000));
    accepted(at(kNow + 500));
    accepted(at(-1));
    EXPECT_EQ(indexes(refused(at(kNow - 1001), ErrorKind::kInvalidTimestamp)), std::vector{1});
    const auto refusal = refused(at(kNow + 501), ErrorKind::kInvalidTimestamp);
    EXPECT_NE(refusal.text.find("message.timestamp.after.max.ms"), std::string::npos);
  }
}

TEST(BatchCheck, DefaultTimestampBoundsAreKafkas) {
  const auto at = [](TimestampMs timestamp, const BatchRules& rules = {}) {
    return check(test::batch({.records = {{"a", "1", timestamp}}}), rules);
  };
  accepted(at(0));
  accepted(at(std::numeric_limits<TimestampMs>::min()));
  accepted(at(kNow + 3'600'000));
  refused(at(kNow + 3'600'001), ErrorKind::kInvalidTimestamp);
  accepted(at(std::numeric_limits<TimestampMs>::max(), {.timestamp_after_max_ms = kUnlimited}));
  refused(at(std::numeric_limits<TimestampMs>::max(),
             {.timestamp_after_max_ms = kUnlimited - 1 - kNow}),
          ErrorKind::kInvalidTimestamp);
}

TEST(BatchCheck, MixedFaultsAreAllListedAndTheTimestampWins) {
  const auto refusal = refused(
      check(
          test::batch({.records = {{std::nullopt, "1"}, {"b", "2", kNow + 7'200'000}, {"c", "3"}}}),
          {.key_required = true}),
      ErrorKind::kInvalidTimestamp);
  EXPECT_EQ(indexes(refusal), (std::vector{0, 1}));
}

TEST(BatchCheck, AWrongMaximumTimestampIsCorrected) {
  for (const Codec codec : kCodecs) {
    for (const TimestampMs wrong : {TimestampMs{-1}, kNow, kNow + 86'400'000}) {
      Bytes bytes = with_header(
          test::batch(
              {.records = {{"a", "1", kNow - 5}, {"b", "2", kNow - 2}, {"c", "3", kNow - 2}},
               .codec = codec}),
          [&](BatchHeader& h) { h.max_timestamp = wrong; });
      const CheckedBatch checked = accepted(check_batch(std::span(bytes), {}, kNow));
      EXPECT_EQ(checked.header().max_timestamp, kNow - 2);
      EXPECT_EQ(checked.max_timestamp_offset_delta(), 1);
      EXPECT_EQ(*read_batch_header(bytes), checked.header()) << "in place";
      EXPECT_TRUE(crc_holds(bytes));
    }
  }
}

TEST(BatchCheck, LogAppendTimeIsStampedWhateverTheRecordsSay) {
  const BatchRules rules{.timestamp_type = TimestampType::kLogAppendTime,
                         .timestamp_before_max_ms = 10};
  for (const Codec codec : kCodecs) {
    const CheckedBatch checked = accepted(
        check(test::batch({.records = {{"a", "1", -1}, {"b", "2", kNow * 2}}, .codec = codec}),
              rules, kNow + 9));
    EXPECT_TRUE(checked.header().has(batch_attribute::kLogAppendTime));
    EXPECT_EQ(checked.max_timestamp_offset_delta(), 0);
    EXPECT_EQ(*read_batch_header(checked.bytes()), checked.header());
    for (const auto& record : test::records_of(checked.bytes()))
      EXPECT_EQ(record.timestamp, kNow + 9);
  }
}

// ---- recompression -------------------------------------------------------------------------

TEST(BatchCheck, AnotherCodecIsRecompressedAndNothingElseChanges) {
  for (const Codec from : kCodecs) {
    for (const Codec to : kCodecs) {
      test::BatchSpec spec = three_records(from);
      spec.producer_id = 9;
      spec.records[1].timestamp = kNow - 40;
      spec.records[2].headers = {{"h", "x"}};
      Bytes bytes = test::batch(spec);
      const BatchRules rules{.recompress = CompressionChoice{to, kDefaultLevel}};
      const CheckedBatch checked = accepted(check_batch(std::span(bytes), rules, kNow));
      EXPECT_EQ(checked.bytes().data() == bytes.data(), from == to);
      BatchHeader expected = *read_batch_header(bytes);
      expected.batch_length = static_cast<std::int32_t>(checked.bytes().size() - kBatchPrefixBytes);
      expected.attributes = static_cast<std::int16_t>(to);
      expected.crc = read_batch_header(checked.bytes())->crc;
      EXPECT_EQ(checked.header(), expected);
      EXPECT_EQ(test::records_of(checked.bytes()), test::records_of(bytes));
    }
  }
}

TEST(BatchCheck, TheSizeIsCheckedAgainAfterRecompression) {
  const Bytes bytes =
      test::batch({.records = {{"k", std::string(10'000, 'x')}}, .codec = Codec::kZstd});
  const BatchRules rules{.max_message_bytes = 5000, .recompress = CompressionChoice{}};
  const auto refusal = refused(check(bytes, rules), ErrorKind::kBatchTooLarge);
  EXPECT_NE(refusal.text.find("packed as none"), std::string::npos) << refusal.text;

  const BatchRules packed{.max_message_bytes = 300,
                          .recompress = CompressionChoice{Codec::kSnappy, kDefaultLevel}};
  ASSERT_LT(bytes.size(), 300u);
  refused(check(bytes, packed), ErrorKind::kBatchTooLarge);
}

TEST(BatchCheck, LogAppendTimeSurvivesRecompression) {
  const BatchRules rules{.timestamp_type = TimestampType::kLogAppendTime,
                         .recompress = CompressionChoice{Codec::kZstd, 3}};
  const CheckedBatch checked = accepted(check(test::batch(three_records()), rules, kNow + 1));
  EXPECT_EQ(checked.header().codec(), Codec::kZstd);
  EXPECT_EQ(test::records_of(checked.bytes())[2].timestamp, kNow + 1);
}

TEST(BatchRules, FollowTheTopic) {
  TopicOptions options;
  options.cleanup_policy = {.remove = true, .compact = true};
  options.max_message_bytes = 99;
  options.message_timestamp_before_max_ms = 7;
  const BatchRules plain = BatchRules::of(options, 5);
  EXPECT_TRUE(plain.key_required);
  EXPECT_EQ(plain.max_message_bytes, 99);
  EXPECT_EQ(plain.timestamp_before_max_ms, 7);
  EXPECT_EQ(plain.decompressed_bytes_max, 5u);
  EXPECT_FALSE(plain.recompress);

  options.compression_type = CompressionType::kUncompressed;
  EXPECT_EQ(BatchRules::of(options, 5).recompress->codec, Codec::kNone);
  options.compression_type = CompressionType::kZstd;
  options.compression_zstd_level = 11;
  EXPECT_EQ(BatchRules::of(options, 5).recompress->level, 11);
  options.compression_type = CompressionType::kLz4;
  EXPECT_EQ(BatchRules::of(options, 5).recompress->level, kDefaultLevel);
}

}  // namespace
}  // namespace lastword
