// SPDX-License-Identifier: Apache-2.0
// Writes what a pass keeps of one or more neighbouring segments into new ones.
//
// Purpose   makes files when there is something to write, begins another where a segment's limits
// are
//           reached, ends them so that the log may list them: trimmed, indexed, synced. Writes may
//           use the disk reserve: a full disk stops producers, not the cleaner.
// Threads   one.
// Lifetime  what was made is removed again with the object, unless keep() was called.
#pragma once

#include <memory>
#include <vector>

#include "cleaner/grouping.h"
#include "storage/log.h"
#include "storage/segment_writer.h"

namespace lastword::cleaner {

class Output {
 public:
  Output(storage::Log& log, const storage::Environment& env, const TopicOptions& options);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The batches that follow come from `source`.
  void from(const storage::SegmentInfo& source) { source_ = source; }
  Result<> append(ByteView batch, const storage::BatchFacts& facts);

  /// Bytes so far.
  std::int64_t size_bytes() const { return size_bytes_; }
  /// The segment that is being written; null before the first batch.
  const storage::SegmentInfo* current() const { return writer_ ? &writer_->info() : nullptr; }

  /// Ends the last segment and returns all, durable with their names.
  Result<std::vector<storage::SegmentInfo>> finish();
  /// The files belong to the log now, or it must find out itself whether they do.
  void keep() { kept_ = true; }

 private:
  bool is_full(const BatchHeader& header) const;
  Result<> begin(const BatchHeader& header);
  Result<> end_segment();

  storage::Log& log_;
  const storage::Environment& env_;
  const TopicOptions options_;
  storage::SegmentInfo source_{};
  std::unique_ptr<storage::SegmentWriter> writer_{};
  std::vector<storage::SegmentInfo> made_{};  // the one being written included, as it was begun
  std::int64_t size_bytes_ = 0;
  bool kept_ = false;
};

}  // namespace lastword::cleaner
