// SPDX-License-Identifier: Apache-2.0
// What passes, and the rules for the header in their order; records are in
// batch_check_records_test.cpp.
#include "protocol/batch_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/protocol/batch_check_support.h"

namespace lastword {
namespace {

using namespace batch_check_support;

// ---- what passes ---------------------------------------------------------------------------

TEST(BatchCheck, AGoodBatchPassesUntouched) {
  for (const Codec codec : kCodecs) {
    Bytes bytes = test::batch(three_records(codec));
    const Bytes before = bytes;
    const CheckedBatch checked = accepted(check_batch(std::span(bytes), {}, kNow));
    EXPECT_EQ(bytes, before);
    EXPECT_EQ(checked.bytes().data(), bytes.data()) << "not copied";
    EXPECT_EQ(checked.header(), *read_batch_header(before));
    EXPECT_EQ(checked.tombstone_count(), 1);
    EXPECT_EQ(checked.max_timestamp_offset_delta(), 0);
  }
}

TEST(BatchCheck, ABatchGivenAwayIsKept) {
  CheckedBatch checked = accepted(check(test::batch(three_records())));
  const CheckedBatch moved = std::move(checked);
  EXPECT_EQ(test::records_of(moved.bytes()).size(), 3u);
}

TEST(BatchCheck, TheBaseOffsetIsLeftToTheLog) {
  Bytes bytes = test::batch(three_records());
  stamp_offset(bytes, 77, 3);
  accepted(check(bytes));
}

TEST(BatchCheck, RecordsWithHeadersAndAnIdempotentProducerPass) {
  test::BatchSpec spec = three_records(Codec::kLz4);
  spec.records[0].headers = {{"trace", "1"}, {"", std::nullopt}};
  spec.producer_id = 0;
  accepted(check(test::batch(spec)));
}

// ---- header rules, in order ----------------------------------------------------------------

TEST(BatchCheck, NothingOrLessThanAHeaderIsRefused) {
  refused(check({}), ErrorKind::kInvalidRecord);
  for (std::size_t size = 1; size < kBatchHeaderBytes; ++size) {
    Bytes bytes = test::batch(three_records());
    bytes.resize(size);
    refused(check(bytes), ErrorKind::kCorruptBatch);
  }
}

TEST(BatchCheck, EveryTruncationIsRefused) {
  for (const Codec codec : kCodecs) {
    const Bytes whole = test::batch(three_records(codec));
    for (std::size_t size = kBatchHeaderBytes; size < whole.size(); ++size) {
      refused(check(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
              ErrorKind::kInvalidRecord);
    }
  }
}

TEST(BatchCheck, EveryChangedByteUnderTheChecksumIsRefused) {
  for (const Codec codec : kCodecs) {
    const Bytes whole = test::batch(three_records(codec));
    for (std::size_t at = 8; at < whole.size(); ++at) {
      if (at >= 12 && at < 16) continue;  // the leader epoch, which the broker writes
      for (const int bit : {0, 3, 7}) {
        Bytes bytes = whole;
        bytes[at] ^= static_cast<std::byte>(1 << bit);
        EXPECT_TRUE(std::holds_alternative<BatchRefusal>(check(bytes))) << at;
      }
    }
  }
}

TEST(BatchCheck, ExactlyOneBatchIsAsked) {
  Bytes bytes = test::batch(three_records());
  test::append(bytes, test::batch(three_records()));
  refused(check(bytes), ErrorKind::kInvalidRecord);
}

TEST(BatchCheck, OldFormatsAreRefused) {
  for (std::int8_t magic : {std::int8_t{0}, std::int8_t{1}, std::int8_t{3}, std::int8_t{-1}}) {
    const auto refusal = refused(
        check(with_header(test::batch(three_records()), [&](BatchHeader& h) { h.magic = magic; })),
        ErrorKind::kInvalidRecord);
    EXPECT_NE(refusal.text.find("format " + std::to_string(magic)), std::string::npos);
  }
}

TEST(BatchCheck, CodecsThatAreNotOfferedAreRefused) {
  for (std::int16_t codec = 5; codec < 8; ++codec) {
    refused(check(with_header(test::batch(three_records()),
                              [&](BatchHeader& h) { h.attributes = codec; })),
            ErrorKind::kUnsupportedCompression);
  }
  const BatchRules old_produce{.zstd_allowed = false};
  refused(check(test::batch(three_records(Codec::kZstd)), old_produce),
          ErrorKind::kUnsupportedCompression);
  accepted(check(test::batch(three_records(Codec::kLz4)), old_produce));
}

TEST(BatchCheck, TheSizeLimitCoversTheWholeBatch) {
  const Bytes bytes = test::batch(three_records());
  const std::int64_t size = std::ssize(bytes);
  accepted(check(bytes, {.max_message_bytes = size}));
  const auto refusal =
      refused(check(bytes, {.max_message_bytes = size - 1}), ErrorKind::kBatchTooLarge);
  EXPECT_NE(refusal.text.find("max.message.bytes"), std::string::npos);
}

TEST(BatchCheck, SizeComesBeforeChecksumAndCodecBeforeBoth) {
  Bytes bytes = test::batch(three_records());
  bytes.back() ^= std::byte{1};
  refused(check(bytes), ErrorKind::kCorruptBatch);
  refused(check(bytes, {.max_message_bytes = 70}), ErrorKind::kBatchTooLarge);
  bytes[22] = std::byte{7};
  refused(check(bytes, {.max_message_bytes = 70}), ErrorKind::kUnsupportedCompression);
}

TEST(BatchCheck, CountsMustAgree) {
  const auto with_counts = [](std::int32_t count, std::int32_t last_delta) {
    return check(with_header(test::batch(three_records()), [&](BatchHeader& h) {
      h.record_count = count;
      h.last_offset_delta = last_delta;
    }));
  };
  for (const auto& [count, delta] :
       {std::pair{0, -1},
        {0, 2},
        {-3, 2},
        {3, 3},
        {2, 2},
        {3, -1},
        {std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}}) {
    refused(with_counts(count, delta), ErrorKind::kInvalidRecord);
  }
  refused(with_counts(2, 1), ErrorKind::kInvalidRecord);  // one record is left over
  EXPECT_EQ(indexes(refused(with_counts(4, 3), ErrorKind::kInvalidRecord)), std::vector{3});
  refused(check(make_empty_batch({.last_offset_delta = 0})), ErrorKind::kInvalidRecord);
}

TEST(BatchCheck, BitsOfTheBrokerAreRefused) {
  const auto with_bit = [](int bit) {
    return check(with_header(test::batch(three_records()), [&](BatchHeader& h) {
      h.attributes = static_cast<std::int16_t>(1 << bit);
      h.producer_id = h.producer_epoch = 0;
      h.base_sequence = 0;
    }));
  };
  refused(with_bit(3), ErrorKind::kInvalidTimestamp);
  EXPECT_NE(
      refused(with_bit(4), ErrorKind::kInvalidRecord).text.find("transactions are not offered"),
      std::string::npos);
  EXPECT_NE(refused(with_bit(5), ErrorKind::kInvalidRecord).text.find("control"),
            std::string::npos);
  EXPECT_NE(refused(with_bit(6), ErrorKind::kInvalidRecord).text.find("horizon"),
            std::string::npos);
  for (int bit = 7; bit < 16; ++bit) refused(with_bit(bit), ErrorKind::kInvalidRecord);
}

TEST(BatchCheck, AProducerIdNeedsSequenceAndEpoch) {
  const auto with_producer = [](std::int64_t id, std::int16_t epoch, std::int32_t sequence) {
    return check(with_header(test::batch(three_records()), [&](BatchHeader& h) {
      h.producer_id = id;
      h.producer_epoch = epoch;
      h.base_sequence = sequence;
    }));
  };
  accepted(with_producer(0, 0, 0));
  accepted(with_producer(-1, -1, -1));
  refused(with_producer(5, 0, -1), ErrorKind::kInvalidRecord);
  refused(with_producer(5, -1, 0), ErrorKind::kInvalidRecord);
}

}  // namespace
}  // namespace lastword
