// SPDX-License-Identifier: Apache-2.0
#include "storage/batch_walk.h"

#include <utility>

namespace lastword::storage {

BatchWalk::BatchWalk(std::shared_ptr<const ByteSource> file, const Range& range)
    : file_(std::move(file)), range_(range), position_(range.from) {}

Result<ByteView> BatchWalk::header_bytes() {
  const std::uint64_t window_end = window_position_ + window_bytes_;
  if (position_ < window_position_ || position_ + kBatchHeaderBytes > window_end) {
    const std::uint64_t wanted = std::min<std::uint64_t>(window_.size(), range_.to - position_);
    auto read =
        file_->read_at(position_, std::span(window_).first(static_cast<std::size_t>(wanted)));
    if (!read) return read.take_error();
    window_position_ = position_;
    window_bytes_ = *read;
  }
  const auto skipped = static_cast<std::size_t>(position_ - window_position_);
  return ByteView(window_).subspan(skipped, window_bytes_ - skipped);
}

Result<std::optional<HeaderAt>> BatchWalk::next() {
  if (position_ >= range_.to) return std::optional<HeaderAt>();
  auto bytes = header_bytes();
  if (!bytes) return bytes.take_error();
  const auto header = read_batch_header(*bytes);
  if (!header || !plausible(*header) || header->size_bytes() > range_.to - position_ ||
      header->base_offset < range_.first_offset || header->last_offset() > range_.last_offset) {
    return Error{ErrorKind::kDamaged, "no batch at position " + std::to_string(position_)};
  }
  const HeaderAt found{*header, position_};
  position_ = found.end();
  range_.first_offset = header->last_offset() + 1;
  return std::optional(found);
}

std::optional<Run> run_at(const std::vector<DamagedRange>& damaged, const SegmentInfo& info,
                          std::uint64_t position) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const DamagedRange& range : damaged) {
      if (!belongs_to(range, info) || position < range.position) continue;
      if (position - range.position >= range.length_bytes) continue;
      position = range.position + range.length_bytes;
      moved = true;
    }
  }
  if (position >= info.size_bytes) return std::nullopt;
  Run run{position, info.size_bytes, info.last_offset + 1};
  for (const DamagedRange& range : damaged) {
    if (!belongs_to(range, info) || range.length_bytes == 0) continue;
    if (range.position <= position || range.position >= run.to) continue;
    run.to = range.position;
    run.next_offset = range.first_offset;
  }
  return run;
}

}  // namespace lastword::storage
