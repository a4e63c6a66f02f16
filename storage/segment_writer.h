// SPDX-License-Identifier: Apache-2.0
// A segment that grows: the active one of a log, or one that the cleaner makes.
//
// Purpose   writes batches, keeps the facts (SegmentInfo) and both sparse indexes in memory, writes
//           the indexes to their files when asked. An index that reaches kIndexEntriesMax loses
//           every second entry and goes on at twice the distance.
// Threads   one writer at a time (the log's append lock). Readers look into the indexes of the
// active
//           segment under the log's state lock; only publish() changes what they see, so it is
//           called with that lock held. Everything else may wait for the disk and is called
//           without.
// Lifetime  the file is opened through the cache for each use; nothing is held open between.
#pragma once

#include <memory>
#include <string>
#include <vector>

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
  std::int64_t preallocate_bytes = 0;             // taken at once; 0: in growing steps
  std::int64_t segment_bytes = kGibibyte;         // steps take no space beyond it
  std::size_t write_buffer_bytes = 0;             // 0: append() writes at once
};

class SegmentWriter {
 public:
  /// Makes the file (replacing a leftover of the same name). `info` says base offset and
  /// generation; append times that it holds are kept.
  static Result<std::unique_ptr<SegmentWriter>> create(const Environment& env,
                                                       std::string directory, SegmentInfo info,
                                                       const SegmentWriterOptions& options);
  /// Goes on with an existing file, whose first info.size_bytes bytes are `info`'s; loads the
  /// indexes. kDamaged if file or indexes do not belong to it; the caller then resumes with an
  /// empty `info`, for which no index is read, and gives what a scan finds to adopt().
  static Result<std::unique_ptr<SegmentWriter>> resume(const Environment& env,
                                                       std::string directory, SegmentInfo info,
                                                       const SegmentWriterOptions& options);

  /// Takes space, writes `batch` at the end (or keeps it for the next flush()), and notes it. On
  /// failure the file is cut back and nothing changed, so that the call may be repeated. Runs of
  /// several batches are given one by one. The last offset must be at most base + 2^31 - 1 and the
  /// position below 2^31: the log rolls before.
  Result<> append(ByteView batch, const BatchFacts& facts, TimestampMs append_ms);

  /// Notes a batch that is in the file already, at info().size_bytes (recovery); read it with a
  /// SegmentReader::Range of this segment, which lets no impossible offset through.
  void adopt(ByteView batch, const BatchFacts& facts, TimestampMs append_ms);

  /// For batches that were appended to another segment before: the first of them then.
  void note_first_append(TimestampMs append_ms);
  /// Notes bytes there that are no batch: a damaged range, whole or piece by piece.
  void adopt_damage(ByteView bytes);

  /// Shows what append() and adopt() have added to the indexes. Never blocks.
  void publish();

  /// Writes what write_buffer_bytes held back. On failure nothing is lost: it may be repeated.
  Result<> flush();
  /// flush(), then fdatasync.
  Result<> sync_data();
  /// flush(), then cuts off what lies behind info().size_bytes: space taken ahead, and data.
  Result<> trim();
  /// Writes both indexes to their files, with what is not published yet and Kafka's closing entry
  /// of the time index (the largest timestamp). Each file is replaced whole and durably: a shorter
  /// index looks like a good one.
  Result<> save_indexes();

  /// True if one more entry would not fit index_bytes_max.
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
  void note_in_indexes(const BatchHeader& header, std::uint64_t position);
  void widen_interval();
  Result<> write(ByteView bytes);
  Result<> take_space(File& file, std::uint64_t end);
  Result<> load_indexes();
  std::string path_of_index(IndexKind kind) const;

  const Environment& env_;
  const std::string directory_;
  const SegmentWriterOptions options_;
  SegmentInfo info_;
  SparseIndex offset_index_;
  SparseIndex time_index_;
  std::vector<IndexEntry> offset_entries_{};  // not published yet
  std::vector<IndexEntry> time_entries_{};    // not published yet
  IndexEntry largest_timestamp_{-1, -1};  // and last offset of its batch; of batches with records
  std::uint64_t interval_bytes_;          // that of the options, until an index grows too large
  std::uint64_t indexed_at_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;  // info_.size_bytes less what buffer_ holds
  std::uint64_t allocated_bytes_ = 0;
  Bytes buffer_{};
};

}  // namespace lastword::storage
