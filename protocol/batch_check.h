// SPDX-License-Identifier: Apache-2.0
// What a producer's batch must fulfil before it may enter a log, and the batch that did.
//
// Purpose   every rule for an incoming batch in Kafka's order: shape, codec, size, CRC, offsets,
//           control and horizon bits, a walk over all records, keys, timestamps; recompression when
//           the topic asks for it. Pure: time and settings come in, a verdict goes out.
// Threads   reentrant; no state.
// Lifetime  a CheckedBatch points into the caller's frame unless the batch was rebuilt; the frame
//           must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/options.h"
#include "protocol/record_batch.h"

namespace lastword {

struct BatchRules {
  std::int64_t max_message_bytes = 1048588;
  bool key_required = false;  // the topic's policy contains compact
  TimestampType timestamp_type = TimestampType::kCreateTime;
  std::int64_t timestamp_before_max_ms = kUnlimited;
  std::int64_t timestamp_after_max_ms = kHourMs;
  std::optional<CompressionChoice> recompress{};  // empty: keep what came
  bool zstd_allowed = true;                       // Produce 7 and later
  std::size_t decompressed_bytes_max = 64u << 20;

  static BatchRules of(const TopicOptions& options, std::size_t decompressed_bytes_max);
};

/// A batch that may be appended: the only thing that Log::append takes.
class CheckedBatch {
 public:
  std::span<std::byte> bytes() { return owned_ ? std::span<std::byte>(*owned_) : view_; }
  ByteView bytes() const { return owned_ ? ByteView(*owned_) : ByteView(view_); }
  const BatchHeader& header() const { return header_; }
  std::int32_t tombstone_count() const { return tombstone_count_; }
  /// Delta of the first record that carries the maximum timestamp.
  std::int32_t max_timestamp_offset_delta() const { return max_timestamp_offset_delta_; }

 private:
  friend struct BatchChecker;
  friend std::variant<CheckedBatch, struct BatchRefusal> check_batch(Bytes&& records,
                                                                     const BatchRules& rules,
                                                                     TimestampMs now);
  CheckedBatch() = default;
  std::span<std::byte> view_{};
  std::optional<Bytes> owned_{};
  BatchHeader header_{};
  std::int32_t tombstone_count_ = 0;
  std::int32_t max_timestamp_offset_delta_ = 0;
};

/// Why a batch was refused; `records` names each bad record by its index (KIP-467).
struct BatchRefusal {
  struct Record {
    std::int32_t index = 0;
    std::string text{};
  };
  ErrorKind kind = ErrorKind::kInvalidRecord;
  std::string text{};
  std::vector<Record> records{};  // at most kRefusedRecordsMax
  bool unpacks_to_more = false;   // than decompressed_bytes_max
};
inline constexpr std::size_t kRefusedRecordsMax = 1000;

/// Checks `records` (a produce request's field: one batch v2) and prepares it for appending.
/// `now` is the broker's clock. May rewrite bytes of `records` in place: a wrong maximum timestamp,
/// log append time. Offsets are stamped by the log.
std::variant<CheckedBatch, BatchRefusal> check_batch(std::span<std::byte> records,
                                                     const BatchRules& rules, TimestampMs now);
/// The same for a batch of the broker's own: the result keeps the bytes.
std::variant<CheckedBatch, BatchRefusal> check_batch(Bytes&& records, const BatchRules& rules,
                                                     TimestampMs now);

}  // namespace lastword
