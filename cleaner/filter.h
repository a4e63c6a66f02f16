// SPDX-License-Identifier: Apache-2.0
// What a pass keeps of a batch. This is compaction itself; everything else carries bytes for it.
//
// A pass knows, for each key that was written in a part of the log [first dirty, map end), the
// offset of its newest record there. It looks at every batch below map end, oldest first, and
// decides:
//
//  records    in this order, the first that applies:
//    1. A control batch is kept as it is. Its keys are no keys.
//    2. A record at or behind map end is kept: the pass knows nothing of what came after it.
//    3. A record without a key is dropped. Compacted topics refuse those; they are left from a time
//    when
//       the topic was not compacted.
//    4. A record is dropped if the map holds a newer offset for its key. This goes for values and
//       tombstones alike, whatever their horizon. A key that is not in the map was not written
//       again, and what earlier passes left of it is its newest record already.
//    5. A tombstone (null value; an empty one is a value) is dropped if its batch was stamped by an
//       earlier pass, and the horizon is at or before the start of this one. All older values of
//       its key went, durably, before the stamp did.
//    6. Everything else is kept.
//
//  horizon    A batch that keeps a tombstone, has no horizon, and ends below map end is stamped:
//  start of
//             this pass + delete.retention.ms as it is now (KIP-534). The stamp never changes
//             afterwards; it stays as long as a record does. A batch that reaches beyond map end is
//             not stamped: its tombstones may hide values that nobody looked at.
//
//  batch      Nothing dropped and nothing stamped: the same bytes, the same CRC.
//             Some records left: rewritten with the same codec (at its default level), base offset,
//             last offset, leader epoch, producer, sequence, timestamp type. The maximum timestamp
//             is that of the records that are left, or as it was under log append time. Timestamps
//             of records do not change, though deltas in a stamped batch are relative to the
//             horizon. No record left: gone. But the batch that ends at high watermark − 1 stays,
//             empty, so that every reader gets to the high watermark. (What an idempotent producer
//             needs is in the log's producer snapshot.)
//
// A pass for expired tombstones alone has no map: only rules 1, 5 and 6 apply, and nothing is
// stamped.
//
// Threads   a BatchFilter is used by one thread; no I/O.
// Lifetime  the outcome's bytes are valid until the next call.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cleaner/key_map.h"

namespace lastword::cleaner {

/// What a round knows and when it happens.
struct FilterRules {
  const KeyMap* keys = nullptr;  // null: expired tombstones alone
  Offset map_end = 0;            // the pass knows nothing of offsets at or behind it
  Offset high_watermark = 0;     // at the start of the pass
  TimestampMs pass_start = 0;
  TimestampMs horizon = 0;   // for batches that are stamped now
  bool drop_expired = true;  // false for what this very pass has stamped
  std::size_t decompressed_bytes_max = 64u << 20;
};

/// Counts over what was filtered.
struct FilterCounts {
  std::int64_t records_kept = 0;
  std::int64_t records_dropped = 0;     // all that went
  std::int64_t keyless_dropped = 0;     // among them
  std::int64_t tombstones_dropped = 0;  // among them, because their time was up
  Offset newest_expired = -1;           // the highest offset of those

  void add(const FilterCounts& other);
};

class BatchFilter {
 public:
  enum class Fate { kKept, kRewritten, kGone };
  struct Outcome {
    Fate fate = Fate::kKept;
    ByteView bytes{};             // what is to be stored; empty when gone
    BatchHeader header{};         // of those
    std::int64_t tombstones = 0;  // in those
    FilterCounts counts{};
  };

  /// `batch` is one whole batch whose CRC holds. Errors as RecordCursor says.
  Result<Outcome> filter(ByteView batch, const FilterRules& rules);

 private:
  enum class Verdict : std::uint8_t { kKeep, kSuperseded, kKeyless, kExpired };
  static constexpr std::size_t kChunkRecords = 128;

  Result<> judge(ByteView batch, const FilterRules& rules, Outcome& outcome);
  void judge_chunk(const BatchHeader& header, const FilterRules& rules, std::size_t count,
                   Outcome& outcome);
  Result<> rewrite(ByteView batch, const FilterRules& rules, bool stamp, Outcome& outcome);

  std::array<RecordView, kChunkRecords> chunk_{};
  std::array<KeyHash, kChunkRecords> hashes_{};
  std::vector<Verdict> verdicts_{};  // of all records of the batch
  Bytes scratch_{};
  Bytes rewritten_{};
};

/// Calls `each(record, hash)` for every record of the batch that has a key and lies at or behind
/// `from`, until it returns false; the answer is whether it never did. Control batches have no
/// keys.
Result<bool> for_each_key(ByteView batch, Offset from, const KeyMap& keys, Bytes& scratch,
                          std::size_t decompressed_bytes_max,
                          const std::function<bool(Offset, const KeyHash&)>& each);

/// Tombstones among the records of a batch.
Result<std::int64_t> count_tombstones(ByteView batch, std::size_t decompressed_bytes_max,
                                      Bytes& scratch);

}  // namespace lastword::cleaner
