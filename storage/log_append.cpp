// SPDX-License-Identifier: Apache-2.0
// Appends, and the rolls that they and the clock bring about.
#include <algorithm>
#include <utility>

#include "storage/disk_reserve.h"
#include "storage/log_impl.h"
#include "storage/producer_recovery.h"

namespace lastword::storage {
namespace {

constexpr std::uint64_t kUnsyncedBytesMax = 64u << 20;  // then a sync is wanted, also under os

TimestampMs log_append_time(const BatchHeader& header) {
  return header.has(batch_attribute::kLogAppendTime) ? header.max_timestamp : -1;
}

/// The same for a segment at each call, so that nothing needs to be kept.
std::int64_t jitter_of(const std::string& name, Offset base_offset, std::int64_t jitter_max) {
  if (jitter_max <= 0) return 0;
  std::uint64_t mixed = 1469598103934665603ull ^ static_cast<std::uint64_t>(base_offset);
  for (const char c : name) mixed = (mixed ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  mixed ^= mixed >> 29;
  return static_cast<std::int64_t>((mixed >> 1) % (static_cast<std::uint64_t>(jitter_max) + 1));
}

/// When a segment with `info` is to be closed by the clock.
TimestampMs close_due_ms(const SegmentInfo& info, const TopicOptions& options,
                         const std::string& name) {
  if (info.empty() || info.first_append_ms < 0) return kUnlimited;
  const std::int64_t jitter = jitter_of(name, info.base_offset, options.segment_jitter_ms);
  std::int64_t age_max_ms = std::max<std::int64_t>(0, options.segment_ms - jitter);
  if (options.cleanup_policy.compact) {
    age_max_ms = std::min(age_max_ms, options.max_compaction_lag_ms);
  }
  if (age_max_ms > kUnlimited - info.first_append_ms) return kUnlimited;
  return info.first_append_ms + age_max_ms;
}

}  // namespace

Result<> Log::Impl::room_for(ByteView batch) const {
  const std::string& directory = identity_.directory;
  if (!env_.reserve.whole()) {
    return Error{ErrorKind::kDiskFull,
                 "the disk is full: free space in " + directory +
                     "; writes go on when limits.disk_reserve_bytes are free again"};
  }
  if (offsets().log_end > kOffsetMax || batch.size() > static_cast<std::uint64_t>(kRelativeMax)) {
    return Error{ErrorKind::kStorage,
                 identity_.name + " cannot hold offsets beyond " + std::to_string(kOffsetMax)};
  }
  return {};
}

Result<Appended> Log::Impl::duplicate(const ProducerBatch& original) const {
  Lock lock(state_mutex_);
  return Appended{.base_offset = original.base_offset,
                  .last_offset = original.last_offset,
                  .log_append_time = original.log_append_time,
                  .log_start = state_.offsets.log_start,
                  .duplicate = true,
                  .sync_wanted = fsync() && original.last_offset >= state_.durable_end,
                  .fences = state_.offsets.fences};
}

Result<Appended> Log::Impl::append(CheckedBatch& batch) {
  Lock append_lock(append_mutex_);
  LW_TRY(writable());
  const TimestampMs now = env_.clock.now_ms();
  auto known = producers_.check(batch.header(), now);
  if (!known) return known.take_error();
  if (*known) return duplicate(**known);
  LW_TRY(room_for(batch.bytes()));
  LW_TRY(settle_manifest());

  BatchHeader header = batch.header();
  {
    Lock lock(state_mutex_);
    header.base_offset = state_.offsets.log_end;
    header.leader_epoch = state_.offsets.leader_epoch;
  }
  if (roll_wanted(header, batch.bytes().size(), now)) LW_TRY(roll());
  stamp_offset(batch.bytes(), header.base_offset, header.leader_epoch);
  const BatchFacts facts{.header = header, .tombstones = batch.tombstone_count()};
  if (auto written = committed_.writer->append(batch.bytes(), facts, now); !written) {
    Error error = written.take_error();
    if (error.kind == ErrorKind::kDiskFull) {
      error.text =
          "the disk is full: free space in " + identity_.directory + " (" + error.text + ")";
    }
    return error;
  }
  producers_.note(header, now);
  return publish_append(header, batch.bytes().size());
}

Appended Log::Impl::publish_append(const BatchHeader& header, std::uint64_t batch_bytes) {
  Lock lock(state_mutex_);
  const bool opened_segment = state_.active.empty();
  const bool first_unsynced = state_.offsets.log_end <= state_.durable_end;
  state_.writer->publish();
  state_.active = state_.writer->info();
  if (first_unsynced) state_.unsynced_since_ms = state_.active.last_append_ms;
  state_.offsets.log_end = header.last_offset() + 1;
  state_.unsynced_bytes += batch_bytes;
  state_.unsynced_records += header.record_count;
  state_.unsaved_bytes += batch_bytes;
  if (!fsync()) {
    state_.readable = state_.active;
    state_.offsets.high_watermark = state_.offsets.log_end;
  }
  const bool sync_wanted = fsync() || state_.unsynced_records >= options_->flush_messages ||
                           state_.unsynced_bytes > kUnsyncedBytesMax;
  return {.base_offset = header.base_offset,
          .last_offset = header.last_offset(),
          .log_append_time = log_append_time(header),
          .log_start = state_.offsets.log_start,
          .sync_wanted = sync_wanted,
          .fences = state_.offsets.fences,
          .opened_segment = opened_segment,
          .first_unsynced = first_unsynced};
}

/// A batch larger than segment.bytes stands alone in a segment; Kafka refuses it, but then a topic
/// whose segment.bytes was lowered would take no batch that it took before.
bool Log::Impl::roll_wanted(const BatchHeader& header, std::size_t batch_bytes,
                            TimestampMs now) const {
  const SegmentInfo& info = committed_.writer->info();
  if (info.empty()) return false;
  const auto options = this->options();
  const auto bytes_max = static_cast<std::uint64_t>(std::min(options->segment_bytes, kRelativeMax));
  return info.size_bytes + batch_bytes > bytes_max || committed_.writer->indexes_full() ||
         header.last_offset() - info.base_offset > kRelativeMax ||
         now >= close_due_ms(info, *options, identity_.name);
}

/// Under fsync a closed segment is durable, and so is the new one's place in the manifest. Under os
/// only the manifest is synced, and the recovery point stays where it is.
Result<> Log::Impl::roll() {
  LW_TRY(settle_manifest());
  if (fsync()) LW_TRY(sync_everything());
  SegmentWriter& writer = *committed_.writer;
  auto prepared = env_.reserve.with_reserve([&]() -> Result<> {
    LW_TRY(writer.trim());
    return writer.save_indexes();
  });
  if (!prepared) return prepared;
  std::optional<Offset> snapshot = committed_.manifest.producer_snapshot;
  if (fsync()) {
    auto saved = save_producers(env_, identity_.directory, producers_, offsets().log_end);
    if (!saved) return saved.take_error();
    snapshot = *saved;
  }
  return begin_segment(std::make_shared<Segment>(Segment{writer.info(), identity_.directory}),
                       snapshot);
}

Result<> Log::Impl::begin_segment(const SegmentPtr& closing, std::optional<Offset> snapshot) {
  const Offset base = offsets().log_end;
  const auto options = this->options();
  auto created = env_.reserve.with_reserve([&] {
    return SegmentWriter::create(env_, identity_.directory, {.base_offset = base},
                                 writer_options(*options));
  });
  if (!created) return created.take_error();
  if (fsync()) {
    LW_TRY((*created)->sync_data());
    LW_TRY(env_.files.sync_directory(identity_.directory));
  }
  Change next = change();
  next.writer = *std::move(created);
  next.active_row = next.writer->info();
  const auto stale_snapshot = next.manifest.producer_snapshot;
  if (fsync()) {
    next.manifest.recovery_point = base;
    next.manifest.producer_snapshot = snapshot;
  }
  auto closed = std::make_shared<SegmentList>(*next.closed);
  closed->push_back(closing);
  next.closed = std::move(closed);
  const SegmentInfo begun = next.active_row;
  auto committed = commit(std::move(next), [&](State& state) {
    if (!fsync()) state.unsynced.push_back(closing);
    if (fsync()) state.unsaved_bytes = 0;
  });
  if (!committed) {
    doubtful_.push_back(begun);
    return committed;
  }
  if (stale_snapshot && fsync() && stale_snapshot != snapshot) {
    remove_file(path_in(identity_.directory, producer_snapshot_name(*stale_snapshot)));
  }
  return {};
}

TimestampMs Log::Impl::active_close_due_ms() const {
  Lock lock(state_mutex_);
  if (state_.offsets.fenced || state_.closed_down) return kUnlimited;
  return close_due_ms(state_.active, *options_, identity_.name);
}

Result<bool> Log::Impl::close_active(std::optional<TimestampMs> if_due_at) {
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  if (committed_.writer->info().empty()) return false;
  if (if_due_at && *if_due_at < active_close_due_ms()) return false;
  LW_TRY(writable());
  LW_TRY(roll());
  return true;
}

}  // namespace lastword::storage
