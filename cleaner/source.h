// SPDX-License-Identifier: Apache-2.0
// Reads the segments of a log for a pass: every batch is checked, damage is listed and named.
//
// Purpose   where a pass can be cancelled, slowed down and counted; what turns bad bytes into a
//           damaged range of the log and an error that says file, position and offsets.
// Threads   one.
// Lifetime  a batch is valid until the function that was given it returns.
#pragma once

#include <cstdint>
#include <functional>

#include "cleaner/compact.h"
#include "storage/segment_reader.h"

namespace lastword::cleaner {

class Source {
 public:
  explicit Source(const PassInput& input) : input_(input) {}

  /// Calls `each` for the batches in the first `to` bytes of the segment, until it returns false.
  /// kCancelled when the pass is, or the segment has left the log; kDamaged for bytes that are no
  /// batch and batches that do not parse.
  Result<> for_each_batch(const storage::SegmentPtr& segment, std::uint64_t to,
                          const std::function<Result<bool>(const storage::BatchAt&)>& each);

  /// Reads the whole segment, goes on behind what is no batch, and lists all of it.
  Result<> list_all_damage(const storage::SegmentPtr& segment);

  std::int64_t read_bytes() const { return read_bytes_; }
  void add_read_bytes(std::int64_t bytes) { read_bytes_ += bytes; }
  /// For whoever unpacks batches.
  Bytes& scratch() { return scratch_; }

 private:
  Result<> may_go_on() const;
  void count(const storage::BatchAt& batch);
  Error damaged(const storage::SegmentPtr& segment, storage::SegmentReader& reader,
                const Error& why);
  Result<storage::DamagedRange> list_damage(const storage::SegmentInfo& info,
                                            storage::SegmentReader& reader);
  Result<std::shared_ptr<storage::File>> open(const storage::SegmentPtr& segment);

  const PassInput& input_;
  Bytes buffer_{};
  Bytes scratch_{};
  std::int64_t read_bytes_ = 0;
  Offset last_good_ = -1;  // last offset of the last batch that was read
};

}  // namespace lastword::cleaner
