// SPDX-License-Identifier: Apache-2.0
// Making things durable: syncs, what a failed one does, checkpoints, the last save at close.
#include <algorithm>
#include <utility>

#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/log_impl.h"
#include "storage/producer_recovery.h"

namespace lastword::storage {
namespace {

// How much a start after an unclean stop has to scan. Under os a checkpoint costs syncs that nobody
// else asks for, and memory bandwidth brings the next one soon.
constexpr std::uint64_t kCheckpointBytes = 64u << 20;
constexpr std::uint64_t kCheckpointBytesOs = 256u << 20;

}  // namespace

Log::Impl::SyncPoint Log::Impl::sync_point() const {
  Lock lock(state_mutex_);
  return {.closed = state_.unsynced,
          .active = state_.active,
          .end = state_.offsets.log_end,
          .bytes = state_.unsynced_bytes,
          .records = state_.unsynced_records,
          .at_ms = env_.clock.now_ms(),
          .needed = state_.offsets.log_end > state_.durable_end};
}

Result<> Log::Impl::sync_file(const std::string& path) {
  auto file = env_.cache.open(path);
  if (!file) return file.take_error();
  Lock lock(data_sync_mutex_);
  if (sync_failed_) return Error{ErrorKind::kFenced, "an earlier sync of " + path + " failed"};
  auto synced = (*file)->sync_data();
  if (synced) return {};
  sync_failed_ = true;
  return Error{ErrorKind::kFenced, synced.error().text};
}

Result<> Log::Impl::sync_files(const SyncPoint& point) {
  for (const SegmentPtr& segment : point.closed) {
    auto synced = sync_file(path_of(segment->info));
    // A pass has replaced it, by segments that are synced.
    if (!synced && synced.error().kind != ErrorKind::kNotFound) return synced;
  }
  return point.active.empty() ? Result<>() : sync_file(path_of(point.active));
}

/// A roll may have published more meanwhile; a fence holds the durable end where it is.
Result<> Log::Impl::publish_durable(const SyncPoint& point) {
  Lock lock(state_mutex_);
  if (state_.offsets.fenced) {
    return Error{ErrorKind::kFenced, identity_.name + ": a sync failed"};
  }
  std::erase_if(state_.unsynced, [&](const SegmentPtr& segment) {
    return std::find(point.closed.begin(), point.closed.end(), segment) != point.closed.end();
  });
  if (point.end <= state_.durable_end) return {};
  state_.durable_end = point.end;
  state_.durable = point.active;
  state_.unsynced_bytes -= std::min(state_.unsynced_bytes, point.bytes);
  state_.unsynced_records -= std::min(state_.unsynced_records, point.records);
  state_.unsynced_since_ms = point.at_ms;
  if (fsync()) {
    state_.readable = point.active;
    state_.offsets.high_watermark = point.end;
  }
  return {};
}

TimestampMs Log::Impl::flush_due_ms() const {
  Lock lock(state_mutex_);
  const bool waiting = !fsync() && state_.offsets.log_end > state_.durable_end;
  if (!waiting || state_.offsets.fenced || state_.closed_down) return kUnlimited;
  if (options_->flush_ms == kUnlimited) return kUnlimited;
  return wait_ends_ms(state_.unsynced_since_ms, options_->flush_ms, env_.clock.now_ms());
}

Result<Offsets> Log::Impl::sync() {
  Lock sync_lock(sync_mutex_);
  LW_TRY(writable());
  const SyncPoint point = sync_point();
  if (point.needed) {
    if (auto synced = sync_files(point); !synced) {
      if (synced.error().kind != ErrorKind::kFenced) return synced.take_error();
      report(Severity::kError, synced.error().text);
      Lock append_lock(append_mutex_);
      fence();
      return synced.take_error();
    }
    LW_TRY(publish_durable(point));
  }
  bool checkpoint_due = false;
  {
    Lock lock(state_mutex_);
    checkpoint_due = state_.unsaved_bytes >= (fsync() ? kCheckpointBytes : kCheckpointBytesOs);
  }
  if (checkpoint_due) {
    Lock append_lock(append_mutex_);
    // The data is durable whatever becomes of this: the next start only has more to scan.
    if (auto saved = save_checkpoint(); !saved) {
      if (saved.error().kind == ErrorKind::kFenced) return saved.take_error();
      report(Severity::kWarning, "checkpoint failed: " + saved.error().text);
    }
  }
  return offsets();
}

/// For those who hold the append lock, behind whom nothing can come.
Result<> Log::Impl::sync_everything() {
  const SyncPoint point = sync_point();
  if (!point.needed) return {};
  if (auto synced = sync_files(point); !synced) {
    if (synced.error().kind == ErrorKind::kFenced) {
      report(Severity::kError, synced.error().text);
      fence();
    }
    return synced;
  }
  return publish_durable(point);
}

void Log::Impl::fence() {
  Change next = change();
  Offset durable_end = 0;
  Offset log_end = 0;
  {
    Lock lock(state_mutex_);
    if (state_.offsets.fenced) return;
    state_.offsets.fenced = true;
    ++state_.offsets.fences;
    durable_end = state_.durable_end;
    log_end = state_.offsets.log_end;
    next.manifest.fence = Fence{state_.durable_end, durable_segment(state_).size_bytes};
  }
  report(Severity::kError, "a sync failed: no writes until the offsets from " +
                               std::to_string(durable_end) + " to " + std::to_string(log_end) +
                               " are copied to a new file");
  // Whether or not it can be written down now, each later manifest tells of it.
  adopt(std::move(next), {});
  manifest_in_doubt_ = true;
  static_cast<void>(settle_fence());
}

/// A process that ends before the manifest tells of the fence leaves a start that believes what it
/// finds.
Result<> Log::Impl::settle_fence() {
  auto settled = settle_manifest();
  if (settled) return {};
  report(Severity::kError, "the fence could not be written down: " + settled.error().text);
  return Error{ErrorKind::kFenced, settled.error().text};
}

Result<> Log::Impl::save_checkpoint() {
  LW_TRY(writable());
  LW_TRY(sync_everything());
  SegmentWriter& writer = *committed_.writer;
  LW_TRY(env_.reserve.with_reserve([&] { return writer.save_indexes(); }));
  const Offset end = offsets().log_end;
  auto snapshot = save_producers(env_, identity_.directory, producers_, end);
  if (!snapshot) return snapshot.take_error();
  const auto stale = committed_.manifest.producer_snapshot;
  Change next = change();
  next.manifest.producer_snapshot = *snapshot;
  next.manifest.recovery_point = end;
  next.active_row = writer.info();
  LW_TRY(commit(std::move(next), [](State& state) { state.unsaved_bytes = 0; }));
  if (stale && stale != *snapshot) {
    remove_file(path_in(identity_.directory, producer_snapshot_name(*stale)));
  }
  return {};
}

Result<> Log::Impl::checkpoint() {
  Lock sync_lock(sync_mutex_);
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  // Under fsync each roll has done it.
  const Manifest& manifest = committed_.manifest;
  if (manifest.recovery_point >= committed_.writer->info().base_offset) return {};
  return save_checkpoint();
}

Result<> Log::Impl::close() {
  Lock sync_lock(sync_mutex_);
  Lock append_lock(append_mutex_);
  if (!usable()) return {};
  Result<> saved;
  SegmentWriter& writer = *committed_.writer;
  const Offsets now = offsets();
  const bool unchanged = !manifest_in_doubt_ && committed_.active_row == writer.info() &&
                         committed_.manifest.recovery_point == now.log_end;
  // A fenced log is left as the manifest says: the next start heals it.
  if (now.fenced) {
    saved = settle_fence();
  } else {
    saved = env_.reserve.with_reserve([&] { return writer.trim(); });
    if (saved && !unchanged) saved = save_checkpoint();
  }
  producers_.clear();
  Lock lock(state_mutex_);
  state_.closed_down = true;
  return saved;
}

}  // namespace lastword::storage
