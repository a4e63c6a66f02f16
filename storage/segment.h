// SPDX-License-Identifier: Apache-2.0
// What is known of a segment without opening it: a row of the manifest.
//
// Threads   plain data; a Segment is immutable once shared.
// Lifetime  a SegmentPtr may outlive its place in the log; its file may then be gone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "protocol/record_batch.h"

namespace lastword::storage {

inline constexpr TimestampMs kNoHorizon = std::numeric_limits<TimestampMs>::max();

/// Facts of one segment; for the active one, as of the recovery point.
struct SegmentInfo {
  Offset base_offset = 0;
  std::uint32_t generation = 0;
  std::uint64_t size_bytes = 0;
  Offset last_offset = -1;  // of the last batch; base_offset - 1 when there is none
  std::int64_t records = 0;
  std::int64_t stamped_tombstones = 0;
  std::int64_t unstamped_tombstones = 0;
  TimestampMs earliest_horizon = kNoHorizon;  // over the batches with stamped tombstones
  TimestampMs max_timestamp = -1;             // over batches, empty ones included
  Offset max_timestamp_offset = -1;           // last offset of the first batch that holds it
  TimestampMs first_append_ms = -1;           // broker's clock; -1 when nothing was appended
  TimestampMs last_append_ms = -1;
  std::uint32_t checksum = 0;  // CRC-32C of the whole file

  bool empty() const { return size_bytes == 0; }
  /// What retention.ms goes by: record timestamps, but none ahead of its append; without
  /// timestamps the append time.
  TimestampMs retention_timestamp() const {
    return max_timestamp < 0 ? last_append_ms : std::min(max_timestamp, last_append_ms);
  }
  bool operator==(const SegmentInfo&) const = default;
};

/// A closed segment.
struct Segment {
  SegmentInfo info{};
  /// Paths of its files; see file_names.h.
  std::string directory{};
};
using SegmentPtr = std::shared_ptr<const Segment>;
using SegmentList = std::vector<SegmentPtr>;

/// A run of bytes that does not hold a good batch, skipped by readers.
struct DamagedRange {
  Offset segment_base_offset = 0;
  std::uint32_t segment_generation = 0;
  std::uint64_t position = 0;
  std::uint64_t length_bytes = 0;
  Offset first_offset = 0;  // of the offsets that may be lost: [first_offset, last_offset]
  Offset last_offset = 0;
  bool operator==(const DamagedRange&) const = default;
};

inline bool same_file(const SegmentInfo& a, const SegmentInfo& b) {
  return a.base_offset == b.base_offset && a.generation == b.generation;
}
inline bool belongs_to(const DamagedRange& range, const SegmentInfo& info) {
  return range.segment_base_offset == info.base_offset &&
         range.segment_generation == info.generation;
}
/// All of a segment, as when its file is missing.
inline DamagedRange damage_of_all(const SegmentInfo& info) {
  return {.segment_base_offset = info.base_offset,
          .segment_generation = info.generation,
          .length_bytes = info.size_bytes,
          .first_offset = info.base_offset,
          .last_offset = std::max(info.base_offset, info.last_offset)};
}

struct LeaderEpoch {
  std::int32_t epoch = 0;
  Offset start_offset = 0;
  bool operator==(const LeaderEpoch&) const = default;
};

}  // namespace lastword::storage
