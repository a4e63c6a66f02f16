// SPDX-License-Identifier: Apache-2.0
// Batches that are right but for one thing, and what the check says to them.
//
// Threads   pure functions.
// Lifetime  everything owns its bytes.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/batch_check.h"
#include "tests/support/batches.h"

namespace lastword::batch_check_support {

inline constexpr TimestampMs kNow = test::kBatchTime;
inline constexpr Codec kCodecs[] = {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4,
                                    Codec::kZstd};

using Verdict = std::variant<CheckedBatch, BatchRefusal>;

inline test::BatchSpec three_records(Codec codec = Codec::kNone) {
  return {.records = {{"a", "1"}, {"b", std::nullopt}, {"c", ""}}, .codec = codec};
}

inline Verdict check(Bytes bytes, const BatchRules& rules = {}, TimestampMs now = kNow) {
  return check_batch(std::move(bytes), rules, now);
}

/// The batch with a changed header and a checksum that holds again.
inline Bytes with_header(Bytes batch, auto change) {
  BatchHeader header = *read_batch_header(batch);
  change(header);
  write_batch_header(header, batch);
  seal_batch(batch);
  return batch;
}

/// The batch around other record bytes, packed as `codec`; length and checksum hold.
inline Bytes with_records(std::string_view records, std::int32_t count, Codec codec) {
  Bytes bytes(kBatchHeaderBytes);
  EXPECT_TRUE(compress({codec, kDefaultLevel}, test::view_of(records), bytes));
  BatchHeader header{.batch_length = static_cast<std::int32_t>(bytes.size() - kBatchPrefixBytes),
                     .attributes = static_cast<std::int16_t>(codec),
                     .last_offset_delta = count - 1,
                     .base_timestamp = kNow,
                     .max_timestamp = kNow,
                     .record_count = count};
  write_batch_header(header, bytes);
  seal_batch(bytes);
  return bytes;
}

inline CheckedBatch accepted(Verdict verdict) {
  if (const auto* refusal = std::get_if<BatchRefusal>(&verdict)) {
    throw std::runtime_error("refused: " + refusal->text);
  }
  return std::get<CheckedBatch>(std::move(verdict));
}

inline BatchRefusal refused(Verdict verdict, ErrorKind kind) {
  if (std::holds_alternative<CheckedBatch>(verdict)) throw std::runtime_error("was accepted");
  auto refusal = std::get<BatchRefusal>(std::move(verdict));
  EXPECT_EQ(refusal.kind, kind) << refusal.text;
  EXPECT_FALSE(refusal.text.empty());
  return refusal;
}

inline std::vector<std::int32_t> indexes(const BatchRefusal& refusal) {
  std::vector<std::int32_t> all;
  for (const auto& record : refusal.records) all.push_back(record.index);
  return all;
}

}  // namespace lastword::batch_check_support
