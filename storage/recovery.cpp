// SPDX-License-Identifier: Apache-2.0
#include "storage/recovery.h"

#include <algorithm>
#include <set>
#include <utility>

#include "storage/batch_walk.h"
#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/producer_recovery.h"
#include "storage/recovery_run.h"

namespace lastword::storage {

Result<> Recovery::run() {
  auto manifest = load_manifest(env_, directory_);
  if (!manifest && manifest.error().kind == ErrorKind::kNotFound) return create();
  if (!manifest) return manifest.take_error();
  manifest_ = std::move(*manifest);
  if (manifest_.topic_id != identity_.topic_id) {
    return Error{ErrorKind::kDamaged,
                 directory_ + " belongs to another topic id; bring the folder of " +
                     identity_.name + " back, or move this one away to begin anew"};
  }
  rows_ = std::move(manifest_.segments);
  manifest_.segments.clear();
  if (rows_.empty()) return Error{ErrorKind::kDamaged, directory_ + ": no segment is listed"};
  if (!offsets_are_sane()) {
    return Error{ErrorKind::kDamaged,
                 directory_ + ": the manifest has offsets that no log reaches"};
  }
  LW_TRY(remove_unlisted());
  if (manifest_.fence) return open_fenced();
  Manifest listed = manifest_;
  LW_TRY(open_whole());
  if (!changed_) return {};
  if (auto synced = sync_found(); !synced) {
    return open_behind_new_fence(std::move(listed), synced.take_error());
  }
  return save();
}

/// Far from where adding to one would overflow.
bool Recovery::offsets_are_sane() const {
  Offset largest = std::max(manifest_.log_start, manifest_.recovery_point);
  if (manifest_.fence) largest = std::max(largest, manifest_.fence->durable_end);
  for (const SegmentInfo& row : rows_) {
    largest = std::max(largest, row.last_offset);
    if (row.last_offset - row.base_offset > kRelativeMax) return false;
  }
  return largest <= kOffsetMax;
}

/// No crash leaves records without a manifest: somebody took it away, and may bring it back.
Result<> Recovery::refuse_orphans() {
  auto names = env_.files.list(directory_);
  if (!names) return names.take_error();
  for (const std::string& name : *names) {
    const auto segment = parse_segment_file_name(name);
    if (!segment || segment->file != SegmentFile::kLog) continue;
    const auto status = env_.files.status(path_in(directory_, name));
    if (!status || status->size_bytes == 0) continue;
    return Error{ErrorKind::kDamaged, directory_ + " holds " + name +
                                          " but no manifest; bring the manifest back, or " +
                                          "move the folder away to begin anew"};
  }
  return {};
}

Result<> Recovery::create() {
  LW_TRY(env_.files.create_directories(directory_));
  LW_TRY(refuse_orphans());
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
  return save_manifest(env_, directory_, whole);
}

Result<> Recovery::remove_unlisted() {
  auto names = env_.files.list(directory_);
  if (!names) return names.take_error();
  std::set<std::pair<Offset, std::uint32_t>> listed;
  for (const SegmentInfo& row : rows_) listed.emplace(row.base_offset, row.generation);
  bool manifest_is_durable = false;
  for (const std::string& name : *names) {
    const auto segment = parse_segment_file_name(name);
    const auto snapshot = parse_producer_snapshot_name(name);
    const bool stray = (segment && !listed.contains({segment->base_offset, segment->generation})) ||
                       (snapshot && manifest_.producer_snapshot != snapshot) ||
                       is_temporary_name(name);
    if (!stray) continue;
    // A process may have died between renaming the manifest and syncing the folder. Strays tell of
    // it; were they removed first, a power cut could bring back the manifest that lists them.
    if (!std::exchange(manifest_is_durable, true)) LW_TRY(env_.files.sync_directory(directory_));
    const std::string path = path_in(directory_, name);
    env_.cache.drop(path);
    LW_TRY(env_.files.remove(path));
  }
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
Result<> Recovery::sync_found() {
  for (const auto& writer : rescanned_) LW_TRY(writer->sync_data());
  return writer_->sync_data();
}

Result<> Recovery::save() {
  for (const auto& writer : rescanned_) LW_TRY(writer->save_indexes());
  LW_TRY(writer_->save_indexes());
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
  LW_TRY(save_manifest(env_, directory_, whole));
  if (stale && stale != *snapshot) {
    LW_TRY(env_.files.remove(path_in(directory_, producer_snapshot_name(*stale))));
  }
  return {};
}

/// Nothing that was found may be believed where it is: begins anew in front of it. The log holds
/// the fence from the beginning, so that it counts even if it cannot be written down.
Result<> Recovery::open_behind_new_fence(Manifest listed, Error why) {
  const auto fence = new_fence();
  if (!fence) return Error(fence.error());
  if (!*fence) return why;
  report(Severity::kError, why.text + ": nothing at or behind offset " +
                               std::to_string((*fence)->durable_end) + " is trusted in place");
  manifest_ = std::move(listed);
  manifest_.fence = **fence;
  manifest_unsaved_ = true;
  closed_.clear();
  rescanned_.clear();
  return open_fenced();
}

/// At the recovery point or, if that lies in front of it, at the first file whose bytes were
/// scanned; empty if none of the listed ones was.
Result<std::optional<Fence>> Recovery::new_fence() const {
  const auto scanned = [&](const SegmentInfo& row) {
    return same_file(writer_->info(), row) ||
           std::any_of(rescanned_.begin(), rescanned_.end(),
                       [&](const auto& writer) { return same_file(writer->info(), row); });
  };
  const auto row = std::find_if(rows_.begin(), rows_.end(), scanned);
  if (row == rows_.end()) return std::optional<Fence>();
  const Offset recovery_point = manifest_.recovery_point;
  if (row->base_offset > recovery_point) return std::optional(Fence{row->base_offset, 0});
  // Only the last row says where the recovery point lies in its file.
  if (row + 1 == rows_.end()) return std::optional(Fence{recovery_point, row->size_bytes});
  const auto position = position_of(recovery_point, *row);
  if (!position) return Error(position.error());
  return std::optional(Fence{recovery_point, *position});
}

/// Of the first batch that ends at or behind `offset`, or behind the last one.
Result<std::uint64_t> Recovery::position_of(Offset offset, const SegmentInfo& row) const {
  auto file = env_.cache.open(segment_path(directory_, row));
  if (!file) return file.take_error();
  const auto size_bytes = (*file)->size_bytes();
  if (!size_bytes) return Error(size_bytes.error());
  Bytes buffer;
  SegmentReader reader(
      *file,
      SegmentReader::Range::of_segment(row.base_offset, std::min(*size_bytes, row.size_bytes)),
      buffer);
  for (;;) {
    auto batch = reader.next();
    if (batch && !*batch) return reader.position();
    if (batch && (*batch)->header.last_offset() >= offset) return (*batch)->position;
    if (batch) continue;
    if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
    if (auto skipped = reader.skip_damage(); !skipped) return skipped;
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
