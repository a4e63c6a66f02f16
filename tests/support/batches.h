// SPDX-License-Identifier: Apache-2.0
// One-line batches for all tests, and what is in them again.
//
// Purpose   test::batch({.base_offset = 5, .records = {{"k", "v"}, {"k", std::nullopt}}})
// Threads   pure functions.
// Lifetime  everything owns its bytes. What cannot be built or read throws std::runtime_error,
//           which fails the test with its text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/batch_check.h"
#include "protocol/record_batch.h"

namespace lastword::test {

inline constexpr TimestampMs kBatchTime = 1'700'000'000'000;

/// A record by value. A null value is a tombstone.
struct Record {
  std::optional<std::string> key{};
  std::optional<std::string> value{};
  std::optional<TimestampMs> timestamp{};      // empty: the batch's
  std::optional<std::int32_t> offset_delta{};  // empty: one more than the record before
  std::vector<std::pair<std::string, std::optional<std::string>>> headers{};
};

struct BatchSpec {
  Offset base_offset = 0;
  std::vector<Record> records{};
  Codec codec = Codec::kNone;
  TimestampMs timestamp = kBatchTime;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = 0;  // this and the next only with a producer id
  std::int32_t base_sequence = 0;
  std::int16_t attributes = 0;  // beside the codec and the horizon
  std::int32_t leader_epoch = -1;
  std::optional<TimestampMs> delete_horizon{};
  std::optional<std::int32_t> last_offset_delta{};  // empty: that of the last record
};

/// The encoded batch, as a producer would send it, or as a pass would leave it.
Bytes batch(const BatchSpec& spec);

/// The batch after a produce check with lenient limits, which it must pass. With the log append
/// time bit set in `attributes`, as in a topic of that type at the time of `spec.timestamp`.
CheckedBatch checked_batch(const BatchSpec& spec);
CheckedBatch checked_batch(const BatchSpec& spec, const BatchRules& rules, TimestampMs now);
/// Limits that let every well-formed batch pass.
BatchRules lenient_rules();

/// A record that was read, with its offset and timestamp.
struct OwnedRecord {
  Offset offset = 0;
  TimestampMs timestamp = 0;
  std::optional<std::string> key{};
  std::optional<std::string> value{};
  std::vector<std::pair<std::string, std::optional<std::string>>> headers{};
  bool is_tombstone() const { return !value.has_value(); }
  bool operator==(const OwnedRecord&) const = default;
};

/// Every record, and every header, of batches that follow one another. Each checksum must hold.
std::vector<OwnedRecord> records_of(ByteView batches);
std::vector<BatchHeader> headers_of(ByteView batches);

Bytes to_bytes(std::string_view text);
std::string to_text(ByteView bytes);
ByteView view_of(std::string_view text);
void append(Bytes& out, ByteView more);

}  // namespace lastword::test
