// SPDX-License-Identifier: Apache-2.0
// A segment that grows: the active one of a log, or one that the cleaner makes.
//
// Purpose   writes batches, keeps the facts (SegmentInfo) and both sparse indexes in memory, writes the
//           indexes to their files when asked.
// Threads   one writer at a time (the log's append lock). The index lookups of the active segment are
//           done by readers under the log's state lock, in which publish() is called as well.
// Lifetime  the file is opened through the cache for each use; nothing is held open between.
#pragma once

#include <memory>
#include <string>

#include "storage/environment.h"
#include "storage/segment.h"
#include "storage/sparse_index.h"

namespace lastword::storage {

/// What a batch adds to the facts, as the caller knows it already.
struct BatchFacts {
  BatchHeader header{};
  std::int64_t tombstones = 0;
};

struct SegmentWriterOptions {
  std::int64_t index_interval_bytes = 4096;
  std::int64_t index_bytes_max = 10 * kMebibyte;  // each
  std::int64_t preallocate_bytes = 0;             // 0: in steps
};

class SegmentWriter {
 public:
  /// Makes the file (replacing a leftover of the same name).
  static Result<std::unique_ptr<SegmentWriter>> create(const Environment& env, std::string directory,
                                                       SegmentInfo info,
                                                       const SegmentWriterOptions& options);
  /// Goes on with an existing file, whose first info.size_bytes bytes are `info`'s; loads the indexes.
  /// kDamaged if the indexes do not belong to it (the caller rebuilds by a scan).
  static Result<std::unique_ptr<SegmentWriter>> resume(const Environment& env, std::string directory,
                                                       SegmentInfo info,
                                                       const SegmentWriterOptions& options);

  /// Takes space, writes `batch` at the end, and notes it. On failure the file is cut back and
  /// nothing changed. Runs of several batches are given one by one.
  Result<> append(ByteView batch, const BatchFacts& facts, TimestampMs append_ms);

  /// Notes a batch that is in the file already (recovery).
  void adopt(ByteView batch, const BatchFacts& facts, TimestampMs append_ms);

  Result<> sync_data();
  /// Cuts off space taken ahead and, for `size_bytes` below the present, data.
  Result<> trim();
  /// Writes both indexes to their files; with `sync` durably.
  Result<> save_indexes(bool sync);

  bool indexes_full() const;
  const SegmentInfo& info() const { return info_; }
  const SparseIndex& offset_index() const { return offset_index_; }
  const SparseIndex& time_index() const { return time_index_; }
  const std::string& directory() const { return directory_; }
  std::string path() const;

 private:
  SegmentWriter(const Environment& env, std::string directory, SegmentInfo info,
                const SegmentWriterOptions& options);
  void note(ByteView batch, const BatchFacts& facts, TimestampMs append_ms);

  const Environment& env_;
  const std::string directory_;
  const SegmentWriterOptions options_;
  SegmentInfo info_;
  SparseIndex offset_index_;
  SparseIndex time_index_;
  std::uint64_t indexed_at_bytes_ = 0;
  std::uint64_t allocated_bytes_ = 0;
};

}  // namespace lastword::storage
