// SPDX-License-Identifier: Apache-2.0
// One run of recover(): what it has found so far.
//
// Parts     recovery.cpp: the frame; recovery_segments.cpp: each segment.
// Threads   one.
// Lifetime  private to storage/recovery*.cpp; refers to what recover() was given.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/clock.h"
#include "storage/recovery.h"
#include "storage/segment_scan.h"

namespace lastword::storage {

/// What makes a file with nothing in it.
inline SegmentInfo empty_segment(Offset base_offset, std::uint32_t generation = 0) {
  return {.base_offset = base_offset, .generation = generation, .last_offset = base_offset - 1};
}

class Recovery {
 public:
  Recovery(const Environment& env, const Log::Identity& identity, const TopicOptions& options)
      : env_(env), identity_(identity), directory_(identity.directory), options_(options) {}

  Result<> run();
  Recovered result() {
    return {.manifest = std::move(manifest_),
            .closed = std::move(closed_),
            .writer = std::move(writer_),
            .active_row = active_row_,
            .behind_fence = std::move(behind_fence_),
            .producers = std::move(producers_),
            .log_end = log_end_,
            .manifest_unsaved = manifest_unsaved_};
  }

 private:
  bool offsets_are_sane() const;
  Result<> refuse_orphans();
  Result<> create();
  Result<> remove_unlisted();
  Result<> open_whole();
  Result<> open_closed(const SegmentInfo& row);
  Result<> check_closed(const SegmentInfo& row, const FileStatus& status);
  Result<> rescan_closed(const SegmentInfo& row, const FileStatus& status);
  Result<> open_active(const SegmentInfo& row);
  Result<> scan_behind(const SegmentInfo& row, std::uint64_t size_bytes, const FileStatus& status);
  Result<std::unique_ptr<SegmentWriter>> resume(const SegmentInfo& row, std::uint64_t size_bytes);
  Result<> begin_segment(Offset base_offset);
  Result<> open_fenced();
  void raise_leader_epoch();
  Result<> load_producer_state();
  Result<> sync_found();
  Result<> save();
  Result<> open_behind_new_fence(Manifest listed, Error why);
  Result<std::optional<Fence>> new_fence() const;
  Result<std::uint64_t> position_of(Offset offset, const SegmentInfo& row) const;

  /// Whether whatever was acknowledged or shown was synced first.
  bool fsync_held() const {
    return env_.durability == Durability::kFsync && !env_.raise_leader_epoch;
  }
  void forget_damage(const SegmentInfo& row, std::uint64_t from);
  void note_damage(const DamagedRange& range, const SegmentInfo& row);
  void report(Severity severity, const std::string& text) const {
    env_.report(severity, identity_.name + ": " + text);
  }
  SegmentInfo with_times(SegmentInfo row, const FileStatus& status) const {
    if (row.empty() && status.size_bytes > 0) row.first_append_ms = append_time(status.created_ms);
    return row;
  }
  /// File times stand in for append times that nobody has kept; never ahead of the broker's clock.
  TimestampMs append_time(std::int64_t file_time) const {
    return std::min<TimestampMs>(file_time, env_.clock.now_ms());
  }

  const Environment& env_;
  const Log::Identity& identity_;
  const std::string& directory_;
  const TopicOptions& options_;
  Manifest manifest_{};
  std::vector<SegmentInfo> rows_{};
  SegmentList closed_{};
  std::vector<std::unique_ptr<SegmentWriter>> rescanned_{};
  std::unique_ptr<SegmentWriter> writer_{};
  SegmentInfo active_row_{};
  std::uint64_t recovery_position_ = 0;
  std::vector<SegmentInfo> behind_fence_{};
  ProducerState producers_{0, 0};
  Offset log_end_ = 0;
  bool changed_ = false;
  bool manifest_unsaved_ = false;
};

}  // namespace lastword::storage
