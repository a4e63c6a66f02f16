// SPDX-License-Identifier: Apache-2.0
// Which neighbouring segments become one, so that the number of files follows the live data.
//
// Rules     A run of neighbours is merged when it fits into one segment: bytes (segment.bytes),
// offsets
//           (the last at most 2^31 − 1 behind the base), index entries (segment.index.bytes); and
//           when its largest member has at most twice the bytes of the others together. So a large
//           segment is not copied again for every small one that comes after it: small ones gather
//           beside it until they weigh half as much. What stays small is at most a run of segments
//           of which each has more than twice the bytes of all smaller ones together: a handful.
// Threads   pure functions.
// Lifetime  values.
#pragma once

#include <span>
#include <vector>

#include "config/options.h"
#include "storage/segment.h"

namespace lastword::cleaner {

struct GroupLimits {
  std::int64_t segment_bytes = kGibibyte;
  std::int64_t segment_index_bytes = 10 * kMebibyte;
  std::int64_t index_interval_bytes = 4096;

  static GroupLimits of(const TopicOptions& options);
};

/// Neighbours [first, first + count), count >= 2.
struct MergeRun {
  std::size_t first = 0;
  std::size_t count = 0;
  bool operator==(const MergeRun&) const = default;
};

/// Runs to merge, ascending, without overlap. `segments` are neighbours, ascending.
std::vector<MergeRun> runs_to_merge(std::span<const storage::SegmentInfo> segments,
                                    const GroupLimits& limits);

/// True if what `made` holds already and `next`, of which about `next_bytes` will be left, fit into
/// one segment: a pass that rewrites both anyway puts them together.
bool fits_behind(const storage::SegmentInfo& made, const storage::SegmentInfo& next,
                 std::int64_t next_bytes, const GroupLimits& limits);

}  // namespace lastword::cleaner
