// SPDX-License-Identifier: Apache-2.0
// Reads the batches of one segment from front to back, checking each.
//
// Purpose   the cleaner, recovery and lookups by time walk a file with it; fetches do not, they send
//           pages unseen.
// Threads   one user at a time. Waits for the disk.
// Lifetime  holds the file open; a batch view is valid until the next call.
#pragma once

#include <memory>
#include <optional>

#include "storage/environment.h"
#include "storage/segment.h"

namespace lastword::storage {

struct BatchAt {
  BatchHeader header{};
  ByteView bytes{};
  std::uint64_t position = 0;
};

class SegmentReader {
 public:
  struct Range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;  // bytes at and behind it are not looked at
  };
  /// `buffer` is reused and grows to the largest batch (kBatchBytesMax at most).
  SegmentReader(std::shared_ptr<const ByteSource> file, Range range, Bytes& buffer);

  /// The next batch whose header is plausible, whose CRC holds and whose offsets ascend; empty at the
  /// end of the range. kDamaged when the bytes at position() are none: then skip_damage() goes on.
  Result<std::optional<BatchAt>> next();

  /// Where the next batch starts, or the damage lies.
  std::uint64_t position() const { return position_; }

  /// Looks for the next place at which a good batch with a higher offset starts; returns its
  /// position, or the end of the range if there is none.
  Result<std::uint64_t> skip_damage();

 private:
  Result<> fill(std::size_t bytes_wanted);

  std::shared_ptr<const ByteSource> file_;
  Range range_;
  Bytes& buffer_;
  std::uint64_t position_;
  std::uint64_t buffer_position_;  // of buffer_[0] in the file
  std::size_t buffered_bytes_ = 0;
  Offset last_offset_ = -1;
};

}  // namespace lastword::storage
