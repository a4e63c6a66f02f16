// SPDX-License-Identifier: Apache-2.0
// What a log remembers of idempotent producers: five batches each, so that a batch sent again is
// answered and not stored again.
//
// Rules     same epoch and sequences as a remembered batch: duplicate, answered with its offsets;
//           lower epoch: kInvalidProducerEpoch; higher epoch must start at sequence 0, else
//           kOutOfOrderSequence; same epoch: sequence must follow (wrapping 2^31-1 → 0), else
//           kOutOfOrderSequence; unknown producer: any sequence (KIP-360).
//           What is noted follows the log, whatever these rules say: it has happened.
// Threads   one at a time (the log's append lock).
// Lifetime  entries expire `expiration_ms` of broker time after their last append; beyond
//           `producers_max`, or a budget that it shares, the one idle longest goes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "protocol/record_batch.h"
#include "storage/producer_budget.h"

namespace lastword::storage {

inline constexpr std::size_t kBatchesPerProducer = 5;

struct ProducerBatch {
  std::int32_t first_sequence = 0;
  std::int32_t last_sequence = 0;
  Offset base_offset = 0;
  Offset last_offset = 0;
  TimestampMs append_ms = 0;         // broker's clock
  TimestampMs log_append_time = -1;  // as answered to the client
  bool operator==(const ProducerBatch&) const = default;
};

class ProducerState {
 public:
  ProducerState(std::int64_t producers_max, std::int64_t expiration_ms);

  /// The remembered batch if `header` is a duplicate, empty if it may be appended, or why it may
  /// not.
  Result<std::optional<ProducerBatch>> check(const BatchHeader& header, TimestampMs now) const;

  /// Notes an appended (or replayed) batch; offsets are those in `header`. Batches without a
  /// producer and replayed ones that are known already change nothing. Empty batches count
  /// (compaction kept them for this).
  void note(const BatchHeader& header, TimestampMs append_ms);

  void expire(TimestampMs now);
  void clear();
  std::size_t size() const { return producers_.size(); }

  /// From now on its producers count in `budget` (none: no limit but its own). While that is
  /// exceeded, those idle longest go, all but one. A copy does not count.
  void count_in(std::shared_ptr<ProducerBudget> budget);

  /// The snapshot of all batches that end below `end`; FORMAT.md gives its bytes.
  Bytes encode(Offset end) const;
  /// kDamaged if checksum or structure do not hold. Returns the state and its end offset.
  static Result<std::pair<ProducerState, Offset>> decode(ByteView bytes, std::int64_t producers_max,
                                                         std::int64_t expiration_ms);

 private:
  /// 208 bytes; with its nodes in both tables a producer takes about 312.
  struct Producer {
    std::int16_t epoch = -1;
    std::uint8_t count = 0;                                   // never 0 once it is known
    std::array<ProducerBatch, kBatchesPerProducer> recent{};  // of this epoch, oldest first

    std::span<const ProducerBatch> batches() const { return std::span(recent).first(count); }
    const ProducerBatch& last() const { return batches().back(); }
    void add(const ProducerBatch& batch);
  };
  static_assert(sizeof(Producer) == 208);
  using Producers = std::unordered_map<std::int64_t, Producer>;

  /// The next producer of a snapshot; nullptr, or what is wrong with it.
  const char* read_producer(Reader& in, Offset end);
  void limit();
  void forget(Producers::iterator producer);
  bool expired(const Producer& producer, TimestampMs now) const;

  std::int64_t producers_max_;
  std::int64_t expiration_ms_;
  Producers producers_{};
  std::map<Offset, std::int64_t> by_last_offset_{};  // each producer once: idle longest first
  ProducerShare share_{};
};

}  // namespace lastword::storage
