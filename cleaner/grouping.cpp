// SPDX-License-Identifier: Apache-2.0
#include "cleaner/grouping.h"

#include <algorithm>
#include <limits>

namespace lastword::cleaner {
namespace {

using storage::SegmentInfo;

constexpr Offset kRelativeOffsetMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kPositionMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kIndexEntryBytesMax = 12;  // of the time index, the larger one
constexpr std::int64_t kIndexEntriesSpare = 3;
constexpr std::int64_t kLargestToOthersMax = 2;

std::int64_t bytes_of(const SegmentInfo& info) {
  return static_cast<std::int64_t>(info.size_bytes);
}

/// Whether a segment that begins with `first`, ends with `last` and has `bytes` is within limits.
bool fits(const SegmentInfo& first, const SegmentInfo& last, std::int64_t bytes,
          const GroupLimits& limits) {
  if (bytes > std::min(limits.segment_bytes, kPositionMax)) return false;
  if (last.last_offset - first.base_offset > kRelativeOffsetMax) return false;
  const std::int64_t entries =
      bytes / std::max<std::int64_t>(limits.index_interval_bytes, 1) + kIndexEntriesSpare;
  // An index that is too small for even these few entries limits nothing here.
  return entries * kIndexEntryBytesMax <=
         std::max(limits.segment_index_bytes, kIndexEntriesSpare * kIndexEntryBytesMax);
}

/// How many segments from `first` on should become one; 1 if none.
std::size_t run_length(std::span<const SegmentInfo> segments, std::size_t first,
                       const GroupLimits& limits) {
  std::size_t best = 1;
  std::int64_t total = bytes_of(segments[first]);
  std::int64_t largest = total;
  for (std::size_t i = first + 1; i < segments.size(); ++i) {
    total += bytes_of(segments[i]);
    largest = std::max(largest, bytes_of(segments[i]));
    if (!fits(segments[first], segments[i], total, limits)) break;
    if (largest <= kLargestToOthersMax * (total - largest)) best = i - first + 1;
  }
  return best;
}

}  // namespace

GroupLimits GroupLimits::of(const TopicOptions& options) {
  return {options.segment_bytes, options.segment_index_bytes, options.index_interval_bytes};
}

std::vector<MergeRun> runs_to_merge(std::span<const SegmentInfo> segments,
                                    const GroupLimits& limits) {
  std::vector<MergeRun> runs;
  for (std::size_t first = 0; first < segments.size();) {
    const std::size_t count = run_length(segments, first, limits);
    if (count > 1) runs.push_back({first, count});
    first += count;
  }
  return runs;
}

bool fits_behind(const SegmentInfo& made, const SegmentInfo& next, std::int64_t next_bytes,
                 const GroupLimits& limits) {
  return fits(made, next, bytes_of(made) + next_bytes, limits);
}

}  // namespace lastword::cleaner
