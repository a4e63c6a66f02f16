// SPDX-License-Identifier: Apache-2.0
// Reads the batches of one segment from front to back, checking each.
//
// Purpose   the cleaner, recovery and lookups by time walk a file with it; fetches do not, they
// send
//           pages unseen.
// Threads   one user at a time. Waits for the disk.
// Lifetime  holds the file open; a batch view is valid until the next call.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

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
    // Batches with other offsets are damage: give the segment's where they are known, because the
    // CRC does not cover a batch's base offset.
    Offset first_offset = 0;
    Offset last_offset = std::numeric_limits<Offset>::max();
    /// The last write may be torn: bytes that begin as the next batch and claim more than there is
    /// are its beginning, and no batch is looked for in them.
    bool may_be_torn = false;

    /// The first `to` bytes of the segment that begins at `base_offset`, and the offsets that may
    /// be in it.
    static Range of_segment(Offset base_offset, std::uint64_t to);
  };
  /// `buffer` is reused. It grows beyond the read-ahead only for a batch whose CRC holds.
  SegmentReader(std::shared_ptr<const ByteSource> file, Range range, Bytes& buffer);

  /// The next batch whose header is plausible, whose CRC holds and whose offsets ascend; empty at
  /// the end of the range. kDamaged when the bytes at position() are none (the text says why, the
  /// caller adds the file's name): then skip_damage() goes on.
  Result<std::optional<BatchAt>> next();

  /// Where the next batch starts, or the damage lies.
  std::uint64_t position() const { return position_; }

  /// Looks behind position() for the next place at which a good batch with a higher offset starts;
  /// goes there and returns it, or the end of the range if there is none. Where the damaged batch's
  /// own length leads to a good batch that is the place: a value inside it may look like a batch.
  /// A torn tail ends the range, see Range::may_be_torn.
  Result<std::uint64_t> skip_damage();

 private:
  std::uint64_t left(std::uint64_t position) const { return range_.to - position; }
  bool follows(const BatchHeader& header) const;
  bool fits(const BatchHeader& header, std::uint64_t position) const;
  Result<ByteView> peek(std::uint64_t position, std::size_t bytes_wanted);
  Result<bool> crc_holds_at(const BatchHeader& header, std::uint64_t position);
  Result<std::uint64_t> follow_lengths();
  Result<std::uint64_t> search();
  std::optional<BatchHeader> find_header(std::uint64_t& at, std::uint64_t end) const;
  Error damaged(const std::string& reason) const;

  std::shared_ptr<const ByteSource> file_;
  Range range_;
  Bytes& buffer_;
  std::uint64_t position_;
  std::uint64_t buffer_position_;  // of buffer_[0] in the file
  std::size_t buffered_bytes_ = 0;
  Offset last_offset_;
};

}  // namespace lastword::storage
