// SPDX-License-Identifier: Apache-2.0
// How each segment is opened, by what the manifest says of it and what its file shows.
#include <algorithm>
#include <utility>

#include "storage/batch_walk.h"
#include "storage/file_cache.h"
#include "storage/recovery_run.h"

namespace lastword::storage {
namespace {

/// What a scan from the front starts with.
SegmentInfo without_facts(const SegmentInfo& info) {
  SegmentInfo start = empty_segment(info.base_offset, info.generation);
  start.first_append_ms = info.first_append_ms;
  return start;
}

}  // namespace

Result<> Recovery::open_whole() {
  for (std::size_t i = 0; i + 1 < rows_.size(); ++i) LW_TRY(open_closed(rows_[i]));
  LW_TRY(open_active(rows_.back()));
  // What the manifest knows to be on disk, or below log start, may be lost, but its offsets are
  // used.
  const Offset reached = std::max(manifest_.recovery_point, manifest_.log_start);
  if (log_end_ < reached) {
    report(Severity::kError, "the log ends at offset " + std::to_string(log_end_) +
                                 ", but offsets below " + std::to_string(reached) +
                                 " were used; it goes on there");
    if (!writer_->info().empty()) {
      closed_.push_back(std::make_shared<Segment>(Segment{writer_->info(), directory_}));
      rescanned_.push_back(std::move(writer_));
    }
    LW_TRY(begin_segment(reached));
    log_end_ = reached;
  }
  if (env_.raise_leader_epoch) raise_leader_epoch();
  changed_ = changed_ || manifest_.recovery_point != log_end_;
  return load_producer_state();
}

void Recovery::raise_leader_epoch() {
  auto& epochs = manifest_.leader_epochs;
  const std::int32_t next = epochs.empty() ? 0 : epochs.back().epoch + 1;
  while (!epochs.empty() && epochs.back().start_offset >= log_end_) epochs.pop_back();
  epochs.push_back({next, log_end_});
  changed_ = true;
}

Result<> Recovery::open_closed(const SegmentInfo& row) {
  auto status = env_.files.status(segment_path(directory_, row));
  if (!status) return status.take_error();
  return row.last_offset >= manifest_.recovery_point ? rescan_closed(row, *status)
                                                     : check_closed(row, *status);
}

/// Below the recovery point: nothing is read unless bytes are missing, and nothing is cut.
Result<> Recovery::check_closed(const SegmentInfo& row, const FileStatus& status) {
  closed_.push_back(std::make_shared<Segment>(Segment{row, directory_}));
  if (status.exists && status.size_bytes == row.size_bytes) return {};
  const std::string path = segment_path(directory_, row);
  if (status.exists && status.size_bytes > row.size_bytes) {
    auto file = env_.cache.open(path);
    if (!file) return file.take_error();
    return (*file)->truncate(row.size_bytes);
  }
  DamagedRange lost = damage_of_all(row);
  if (status.exists) {
    auto file = env_.cache.open(path);
    if (!file) return file.take_error();
    BatchWalk walk(*file, {0, status.size_bytes, row.base_offset, row.last_offset});
    for (auto batch = walk.next(); batch && *batch; batch = walk.next()) {
      lost.first_offset = (*batch)->header.last_offset() + 1;
    }
    lost.position = walk.position();
    lost.length_bytes -= walk.position();
  }
  note_damage(lost, row);
  return {};
}

/// At or above the recovery point (durability os): only what is good counts.
Result<> Recovery::rescan_closed(const SegmentInfo& row, const FileStatus& status) {
  changed_ = true;
  const std::string path = segment_path(directory_, row);
  forget_damage(row, 0);
  if (!status.exists) {
    report(Severity::kError, path + " is missing; it was not known to be on disk");
    return {};
  }
  auto writer =
      SegmentWriter::resume(env_, directory_, without_facts(row), writer_options(options_));
  if (!writer) return writer.take_error();
  auto scanned = scan_segment(env_, **writer,
                              {.to = std::min(status.size_bytes, row.size_bytes),
                               .last_offset = row.last_offset,
                               .append_ms = row.last_append_ms});
  if (!scanned) return scanned.take_error();
  for (const DamagedRange& range : scanned->damaged) note_damage(range, row);
  if ((*writer)->info().size_bytes < row.size_bytes) {
    report(Severity::kError, path + ": lost what was behind position " +
                                 std::to_string((*writer)->info().size_bytes) + ", offsets " +
                                 std::to_string((*writer)->info().last_offset + 1) + " to " +
                                 std::to_string(row.last_offset));
  }
  LW_TRY((*writer)->trim());
  if ((*writer)->info().empty()) {
    env_.cache.drop(path);
    return env_.files.remove(path);
  }
  closed_.push_back(std::make_shared<Segment>(Segment{(*writer)->info(), directory_}));
  rescanned_.push_back(std::move(*writer));
  return {};
}

Result<> Recovery::open_active(const SegmentInfo& row) {
  active_row_ = row;
  recovery_position_ = row.size_bytes;
  const std::string path = segment_path(directory_, row);
  auto status = env_.files.status(path);
  if (!status) return status.take_error();
  if (!status->exists) {
    changed_ = true;
    if (!row.empty()) {
      report(Severity::kError, path + " is missing: lost offsets " +
                                   std::to_string(row.base_offset) + " to " +
                                   std::to_string(row.last_offset));
    }
    forget_damage(row, 0);
    LW_TRY(begin_segment(row.base_offset));
    log_end_ = row.base_offset;
    return {};
  }
  auto writer = resume(with_times(row, *status), std::min(status->size_bytes, row.size_bytes));
  if (!writer) return writer.take_error();
  writer_ = std::move(*writer);
  LW_TRY(scan_behind(row, status->size_bytes, *status));
  log_end_ = writer_->info().last_offset + 1;
  return {};
}

/// A writer that stands where the facts of `row` end; from its indexes, or from the bytes when
/// these are of no use or fewer than there should be.
Result<std::unique_ptr<SegmentWriter>> Recovery::resume(const SegmentInfo& row,
                                                        std::uint64_t size_bytes) {
  if (size_bytes == row.size_bytes) {
    auto writer = SegmentWriter::resume(env_, directory_, row, writer_options(options_));
    if (writer || writer.error().kind != ErrorKind::kDamaged) return writer;
    report(Severity::kWarning, writer.error().text + "; building them anew");
  } else {
    report(Severity::kError, segment_path(directory_, row) + " has " + std::to_string(size_bytes) +
                                 " bytes; " + std::to_string(row.size_bytes) +
                                 " were on disk: lost what is missing");
  }
  changed_ = true;
  auto writer =
      SegmentWriter::resume(env_, directory_, without_facts(row), writer_options(options_));
  if (!writer) return writer;
  auto scanned = scan_segment(env_, **writer,
                              {.to = size_bytes,
                               .last_offset = row.last_offset,
                               .append_ms = row.last_append_ms,
                               .keep_tail = true});
  if (!scanned) return scanned.take_error();
  for (const DamagedRange& range : scanned->damaged) note_damage(range, row);
  return writer;
}

/// Above the recovery point: what lies behind the last good batch is cut. A power cut may leave
/// good batches behind others that did not reach the disk; none of these was acknowledged.
Result<> Recovery::scan_behind(const SegmentInfo& row, std::uint64_t size_bytes,
                               const FileStatus& status) {
  const std::uint64_t from = writer_->info().size_bytes;
  if (size_bytes <= from) return {};
  changed_ = true;
  forget_damage(row, from);
  auto scanned = scan_segment(env_, *writer_,
                              {.to = size_bytes,
                               .last_offset = row.base_offset + kRelativeMax,
                               .append_ms = append_time(status.modified_ms),
                               .end_at_holes = fsync_held()});
  if (!scanned) return scanned.take_error();
  for (const DamagedRange& range : scanned->damaged) note_damage(range, row);
  if (scanned->torn_bytes > 0) {
    report(Severity::kWarning, writer_->path() + ": cut " + std::to_string(scanned->torn_bytes) +
                                   " bytes behind the last good batch, at position " +
                                   std::to_string(writer_->info().size_bytes) +
                                   "; the log ends at offset " +
                                   std::to_string(writer_->info().last_offset + 1));
  }
  return writer_->trim();
}

Result<> Recovery::begin_segment(Offset base_offset) {
  changed_ = true;
  auto writer =
      SegmentWriter::create(env_, directory_, empty_segment(base_offset), writer_options(options_));
  if (!writer) return writer.take_error();
  writer_ = std::move(*writer);
  return {};
}

/// Stands at the durable end; Log::heal() copies what lies behind.
Result<> Recovery::open_fenced() {
  const Fence fence = *manifest_.fence;
  std::size_t fenced = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].base_offset <= fence.durable_end) fenced = i;
  }
  for (std::size_t i = 0; i < fenced; ++i) LW_TRY(open_closed(rows_[i]));
  behind_fence_.assign(rows_.begin() + static_cast<std::ptrdiff_t>(fenced) + 1, rows_.end());
  // Only the last row says where the recovery point lies in its file.
  const bool facts_fit = behind_fence_.empty() && rows_[fenced].size_bytes <= fence.position;
  const SegmentInfo row = facts_fit ? rows_[fenced] : without_facts(rows_[fenced]);
  active_row_ = row;
  recovery_position_ = row.size_bytes;
  auto status = env_.files.status(segment_path(directory_, row));
  if (!status) return status.take_error();
  if (!status->exists) {
    return Error{ErrorKind::kDamaged,
                 segment_path(directory_, row) + " is missing, and a sync of it had failed before"};
  }
  auto writer = resume(with_times(row, *status), std::min(status->size_bytes, row.size_bytes));
  if (!writer) return writer.take_error();
  writer_ = std::move(*writer);
  auto scanned = scan_segment(env_, *writer_,
                              {.to = std::min(status->size_bytes, fence.position),
                               .last_offset = fence.durable_end - 1,
                               .append_ms = append_time(status->modified_ms),
                               .keep_tail = true});
  if (!scanned) return scanned.take_error();
  for (const DamagedRange& range : scanned->damaged) note_damage(range, row);
  log_end_ = fence.durable_end;
  if (env_.raise_leader_epoch) {
    raise_leader_epoch();
    manifest_unsaved_ = true;
  }
  // What is appended below it would be in no key map.
  manifest_.clean_end = std::min(manifest_.clean_end, log_end_);
  return load_producer_state();
}

}  // namespace lastword::storage
