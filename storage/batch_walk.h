// SPDX-License-Identifier: Apache-2.0
// Walks the headers of the batches in a part of a segment, without reading their records.
//
// Purpose   fetches and lookups find where a batch starts with a few small reads; SegmentReader is
// for
//           those who need the bytes and their CRC.
// Threads   one user at a time. Waits for the disk.
// Lifetime  the file is held open.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "protocol/byte_source.h"
#include "storage/segment.h"

namespace lastword::storage {

struct HeaderAt {
  BatchHeader header{};
  std::uint64_t position = 0;
  std::uint64_t end() const { return position + header.size_bytes(); }
};

class BatchWalk {
 public:
  struct Range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    Offset first_offset = 0;  // batches with other offsets are damage
    Offset last_offset = 0;
  };
  BatchWalk(std::shared_ptr<const ByteSource> file, const Range& range);

  /// The next batch that lies wholly in the range; empty at its end. kDamaged, with position()
  /// where it was, if the header there cannot be one of this segment.
  Result<std::optional<HeaderAt>> next();
  std::uint64_t position() const { return position_; }

 private:
  static constexpr std::size_t kWindowBytes = 4096;
  Result<ByteView> header_bytes();

  std::shared_ptr<const ByteSource> file_;
  Range range_;
  std::uint64_t position_;
  std::array<std::byte, kWindowBytes> window_{};
  std::uint64_t window_position_ = 0;
  std::size_t window_bytes_ = 0;
};

/// A run of bytes of a segment between its damaged ranges.
struct Run {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  Offset next_offset = 0;  // behind its last batch, as far as that is known without reading
};
/// The first run of `info` at or behind `position`; empty if there is none below info.size_bytes.
std::optional<Run> run_at(const std::vector<DamagedRange>& damaged, const SegmentInfo& info,
                          std::uint64_t position);

}  // namespace lastword::storage
