// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery.h"

#include <algorithm>
#include <set>
#include <utility>

#include "storage/batch_walk.h"
#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/producer_recovery.h"
#include "storage/segment_scan.h"

namespace lastword::storage {
namespace {

/// What makes a file with nothing in it.
SegmentInfo empty_segment(Offset base_offset, std::uint32_t generation = 0) {
  return {.base_offset = base_offset, .generation = generation, .last_offset = base_offset - 1};
}

/// What a scan from the front starts with.
SegmentInfo without_facts(const SegmentInfo& info) {
  SegmentInfo start = empty_segment(info.base_offset, info.generation);
  start.first_append_ms = info.first_append_ms;
  return start;
}

class Recovery {
 public:
  Recovery(const Environment& env, const Log::Identity& identity, const TopicOptions& options)
      : env_(env), identity_(identity), directory_(identity.directory), options_(options) {}

  Result<> run() {
    auto manifest = load_manifest(env_, directory_);
    if (!manifest && manifest.error().kind == ErrorKind::kNotFound) return create();
    if (!manifest) return manifest.take_error();
    manifest_ = std::move(*manifest);
    if (manifest_.topic_id != identity_.topic_id) {
      return Error{ErrorKind::kDamaged, directory_ + " belongs to another topic id"};
    }
    rows_ = std::move(manifest_.segments);
    manifest_.segments.clear();
    if (rows_.empty()) return Error{ErrorKind::kDamaged, directory_ + ": no segment is listed"};
    LW_TRY(remove_unlisted());
    LW_TRY(manifest_.fence ? open_fenced() : open_whole());
    LW_TRY(load_producer_state());
    return manifest_.fence || !changed_ ? Result<>() : save();
  }

  Recovered result() {
    return {.manifest = std::move(manifest_),
            .closed = std::move(closed_),
            .writer = std::move(writer_),
            .active_row = active_row_,
            .behind_fence = std::move(behind_fence_),
            .producers = std::move(producers_),
            .log_end = log_end_};
  }

 private:
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
  Result<> load_producer_state();
  Result<> save();
  void write_fence();

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
};

Result<> Recovery::create() {
  LW_TRY(env_.files.create_directories(directory_));
  manifest_ = Manifest{};
  manifest_.topic_id = identity_.topic_id;
  LW_TRY(remove_unlisted());
  LW_TRY(begin_segment(0));
  LW_TRY(writer_->sync_data());
  LW_TRY(env_.files.sync_directory(directory_));
  LW_TRY(env_.files.sync_directory(parent_directory(directory_)));
  active_row_ = writer_->info();
  producers_ = ProducerState(env_.producer_ids_max, env_.producer_id_expiration_ms);
  Manifest whole = manifest_;
  whole.segments = {active_row_};
  return save_manifest(env_, directory_, whole, true);
}

Result<> Recovery::remove_unlisted() {
  auto names = env_.files.list(directory_);
  if (!names) return names.take_error();
  std::set<std::pair<Offset, std::uint32_t>> listed;
  for (const SegmentInfo& row : rows_) listed.emplace(row.base_offset, row.generation);
  for (const std::string& name : *names) {
    const auto segment = parse_segment_file_name(name);
    const auto snapshot = parse_producer_snapshot_name(name);
    const bool stray = (segment && !listed.contains({segment->base_offset, segment->generation})) ||
                       (snapshot && manifest_.producer_snapshot != snapshot) ||
                       is_temporary_name(name);
    if (!stray) continue;
    const std::string path = path_in(directory_, name);
    env_.cache.drop(path);
    LW_TRY(env_.files.remove(path));
  }
  return {};
}

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
  if (env_.raise_leader_epoch) {
    auto& epochs = manifest_.leader_epochs;
    const std::int32_t next = epochs.empty() ? 0 : epochs.back().epoch + 1;
    if (!epochs.empty() && epochs.back().start_offset >= log_end_) epochs.pop_back();
    epochs.push_back({next, log_end_});
    changed_ = true;
  }
  changed_ = changed_ || manifest_.recovery_point != log_end_;
  return {};
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
  DamagedRange lost{.segment_base_offset = row.base_offset,
                    .segment_generation = row.generation,
                    .length_bytes = row.size_bytes,
                    .first_offset = row.base_offset,
                    .last_offset = std::max(row.base_offset, row.last_offset)};
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

/// Above the recovery point: what lies behind the last good batch is cut.
Result<> Recovery::scan_behind(const SegmentInfo& row, std::uint64_t size_bytes,
                               const FileStatus& status) {
  const std::uint64_t from = writer_->info().size_bytes;
  if (size_bytes <= from) return {};
  changed_ = true;
  forget_damage(row, from);
  auto scanned = scan_segment(env_, *writer_,
                              {.to = size_bytes,
                               .last_offset = row.base_offset + kRelativeMax,
                               .append_ms = append_time(status.modified_ms)});
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
  return {};
}

Result<> Recovery::load_producer_state() {
  ProducerSource source{.name = identity_.name,
                        .directory = directory_,
                        .manifest = manifest_,
                        .recovery_position = recovery_position_,
                        .end = log_end_};
  for (const SegmentPtr& segment : closed_) source.segments.push_back(segment->info);
  source.segments.push_back(writer_->info());
  if (!same_file(writer_->info(), active_row_)) source.recovery_position = 0;
  auto producers = load_producers(env_, source);
  if (!producers) return producers.take_error();
  producers_ = std::move(*producers);
  return {};
}

/// Readable at start means synced at start.
Result<> Recovery::save() {
  const bool sync = env_.durability == Durability::kFsync;
  for (const auto& writer : rescanned_) {
    LW_TRY(writer->sync_data());
    LW_TRY(writer->save_indexes(sync));
  }
  if (auto synced = writer_->sync_data(); !synced) {
    write_fence();
    return synced;
  }
  LW_TRY(writer_->save_indexes(sync));
  auto snapshot = save_producers(env_, directory_, producers_, log_end_);
  if (!snapshot) return snapshot.take_error();
  LW_TRY(env_.files.sync_directory(directory_));
  const auto stale = manifest_.producer_snapshot;
  manifest_.producer_snapshot = *snapshot;
  manifest_.recovery_point = log_end_;
  active_row_ = writer_->info();
  Manifest whole = manifest_;
  for (const SegmentPtr& segment : closed_) whole.segments.push_back(segment->info);
  whole.segments.push_back(active_row_);
  LW_TRY(save_manifest(env_, directory_, whole, true));
  if (stale && stale != *snapshot) {
    LW_TRY(env_.files.remove(path_in(directory_, producer_snapshot_name(*stale))));
  }
  return {};
}

/// The next attempt must not believe what it reads behind the recovery point: a copy of it will be
/// synced instead.
void Recovery::write_fence() {
  auto saved = load_manifest(env_, directory_);
  if (!saved || saved->segments.back().base_offset > saved->recovery_point) return;
  saved->fence = Fence{saved->recovery_point, saved->segments.back().size_bytes};
  if (auto done = save_manifest(env_, directory_, *saved, true); !done) {
    report(Severity::kError, "the fence could not be written down: " + done.error().text);
  }
}

void Recovery::forget_damage(const SegmentInfo& row, std::uint64_t from) {
  const auto gone = std::erase_if(manifest_.damaged, [&](const DamagedRange& range) {
    return belongs_to(range, row) && range.position >= from;
  });
  changed_ = changed_ || gone > 0;
}

void Recovery::note_damage(const DamagedRange& range, const SegmentInfo& row) {
  const bool known = std::any_of(
      manifest_.damaged.begin(), manifest_.damaged.end(), [&](const DamagedRange& other) {
        return belongs_to(other, row) && other.position <= range.position &&
               other.position + other.length_bytes >= range.position + range.length_bytes;
      });
  if (known) return;
  changed_ = true;
  std::erase_if(manifest_.damaged, [&](const DamagedRange& other) {
    return belongs_to(other, row) && other.position >= range.position &&
           other.position + other.length_bytes <= range.position + range.length_bytes;
  });
  manifest_.damaged.push_back(range);
  report(Severity::kError, segment_path(directory_, row) + ": no good batch at position " +
                               std::to_string(range.position) + ", " +
                               std::to_string(range.length_bytes) + " bytes: offsets " +
                               std::to_string(range.first_offset) + " to " +
                               std::to_string(range.last_offset) + " may be lost");
}

}  // namespace

Result<Recovered> recover(const Environment& env, const Log::Identity& identity,
                          const TopicOptions& options) {
  // Whatever a start writes may need the room that is kept back.
  return env.reserve.with_reserve([&]() -> Result<Recovered> {
    Recovery recovery(env, identity, options);
    if (auto done = recovery.run(); !done) return done.take_error();
    return recovery.result();
  });
}

}  // namespace lastword::storage
