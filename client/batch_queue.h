// SPDX-License-Identifier: Apache-2.0
// What a producer has yet to send: records gather in one open batch a partition; closed batches
// wait in line, in the order in which they were closed.
//
// Purpose   the part of the producer that knows no connection.
// Threads   one at a time.
// Lifetime  owns everything.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "client/record.h"
#include "protocol/compression.h"

namespace lastword::client {

/// A closed batch on its way to one partition.
struct OutgoingBatch {
  std::int32_t partition = 0;
  Bytes bytes{};
  std::vector<std::uint64_t> numbers{};  // of its records, as Producer::send counts them
  std::int32_t base_sequence = -1;       // -1: none yet
  std::chrono::steady_clock::time_point created{};
  bool outcome_unknown = false;  // was sent, and the answer was lost
};

class BatchQueue {
 public:
  struct Limits {
    std::size_t batch_bytes_max = 256 * 1024;  // before packing
    std::chrono::milliseconds linger{20};      // how long a batch stays open for more records
    CompressionChoice compression{};
  };
  explicit BatchQueue(const Limits& limits) : limits_(limits) {}

  /// Adds a record; closes the partition's batch first if it would get too large. True if that
  /// closed one. The Error is that of the codec.
  Result<bool> add(std::int32_t partition, const Record& record, std::uint64_t number);
  /// Closes the batches that have been open for the linger time.
  Result<> close_overdue(std::chrono::steady_clock::time_point now);
  Result<> close_all();

  /// The closed batches, oldest first.
  std::deque<OutgoingBatch>& ready() { return ready_; }
  bool empty() const { return ready_.empty() && open_.empty(); }

 private:
  struct Open {
    BatchBuilder builder;
    std::vector<std::uint64_t> numbers{};
    std::chrono::steady_clock::time_point created{};
  };
  Result<> close(std::map<std::int32_t, Open>::iterator open);

  const Limits limits_;
  std::map<std::int32_t, Open> open_{};
  std::deque<OutgoingBatch> ready_{};
  Bytes headers_{};
};

/// The same records in two batches without numbers of a producer, for a broker that finds the one
/// too large. `batch` holds at least two records.
Result<std::vector<OutgoingBatch>> split(const OutgoingBatch& batch, CompressionChoice compression);

/// Sets who produced the batch and where it stands in the line of that producer's batches.
void stamp_producer(OutgoingBatch& batch, std::int64_t producer_id, std::int16_t producer_epoch);

}  // namespace lastword::client
