// SPDX-License-Identifier: Apache-2.0
// Reads what a segment file holds and tells a SegmentWriter: facts and indexes from the bytes
// alone.
//
// Purpose   recovery, healing and the rebuilding of indexes share it.
// Threads   reentrant; waits for the disk.
// Lifetime  free functions.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "storage/environment.h"
#include "storage/file_names.h"
#include "storage/segment_reader.h"
#include "storage/segment_writer.h"

namespace lastword::storage {

std::string segment_path(const std::string& directory, const SegmentInfo& info,
                         SegmentFile file = SegmentFile::kLog);

/// The most that a segment may hold: positions and offsets relative to its base are 31 bits.
inline constexpr std::int64_t kRelativeMax = 2147483647;
/// The most that an offset may be: no sum of two overflows.
inline constexpr Offset kOffsetMax = std::numeric_limits<Offset>::max() / 2;

SegmentWriterOptions writer_options(const TopicOptions& options);

/// What the log's facts need of a batch; looks into the records. A batch that does not unpack
/// counts as one with a tombstone, so that a pass will look at it.
BatchFacts facts_of(const BatchHeader& header, ByteView batch, Bytes& scratch);

struct Scan {
  std::uint64_t to = 0;        // scan [info().size_bytes, to)
  Offset last_offset = 0;      // batches beyond are damage
  TimestampMs append_ms = -1;  // of all; where the first one's is known, info() says so already
  bool keep_tail = false;      // bytes behind the last good batch are damage, not torn
  /// Damage with a hole in it is where the file ends: no sync covered it, nor what lies behind.
  bool end_at_holes = false;
};

struct Scanned {
  std::vector<DamagedRange> damaged{};  // behind each of them follows a good batch, or keep_tail
  std::uint64_t torn_bytes = 0;         // behind the last good batch
};

/// Lets `writer` adopt what is good in its file. Fails only if the file cannot be read.
Result<Scanned> scan_segment(const Environment& env, SegmentWriter& writer, const Scan& scan);

/// A writer with the indexes of a closed segment, from its bytes; save_indexes() puts them in
/// place.
Result<std::unique_ptr<SegmentWriter>> build_indexes(const Environment& env, const Segment& segment,
                                                     const SegmentWriterOptions& options);

}  // namespace lastword::storage
