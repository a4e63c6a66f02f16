// SPDX-License-Identifier: Apache-2.0
// What removes segments or puts others in their place: retention and the cleaner.
#include <algorithm>
#include <utility>

#include "storage/log_impl.h"

namespace lastword::storage {
namespace {

/// Ranges in segments that are no longer listed.
void forget_damage(std::vector<DamagedRange>& damaged, const std::vector<SegmentInfo>& gone) {
  std::erase_if(damaged, [&](const DamagedRange& range) {
    return std::any_of(gone.begin(), gone.end(),
                       [&](const SegmentInfo& info) { return belongs_to(range, info); });
  });
}

/// Epochs that end at or before `start` say nothing about the log any more.
void forget_epochs(std::vector<LeaderEpoch>& epochs, Offset start) {
  while (epochs.size() > 1 && epochs[1].start_offset <= start) epochs.erase(epochs.begin());
  if (!epochs.empty() && epochs.front().start_offset < start) epochs.front().start_offset = start;
}

}  // namespace

Result<> Log::Impl::drop_before(Offset start) {
  std::vector<SegmentInfo> gone;
  {
    Lock append_lock(append_mutex_);
    LW_TRY(usable());
    const Offsets now = offsets();
    if (start > now.high_watermark || start < 0) {
      return Error{ErrorKind::kOffsetOutOfRange,
                   "log start of " + identity_.name + " cannot be " + std::to_string(start) +
                       ": the high watermark is " + std::to_string(now.high_watermark)};
    }
    const SegmentInfo active = committed_.writer->info();
    if (start >= now.log_end && !active.empty() && !now.fenced) LW_TRY(roll());
    Change next = change();
    auto closed = std::make_shared<SegmentList>(*next.closed);
    const auto kept = std::find_if(closed->begin(), closed->end(), [&](const SegmentPtr& segment) {
      return segment->info.last_offset >= start;
    });
    for (auto segment = closed->begin(); segment != kept; ++segment) {
      gone.push_back((*segment)->info);
    }
    closed->erase(closed->begin(), kept);
    if (start <= now.log_start && gone.empty()) return {};
    if (!gone.empty() && next.manifest.recovery_point <= gone.back().last_offset) {
      // Producers are remembered longer than their batches.
      LW_TRY(save_checkpoint());
      const Change saved = change();
      next.manifest = saved.manifest;
      next.active_row = saved.active_row;
    }
    next.closed = std::move(closed);
    next.manifest.log_start = std::max(now.log_start, start);
    forget_damage(next.manifest.damaged, gone);
    forget_epochs(next.manifest.leader_epochs, next.manifest.log_start);
    LW_TRY(commit(std::move(next)));
  }
  retire(gone);
  return {};
}

std::uint32_t Log::Impl::take_generation() {
  Lock append_lock(append_mutex_);
  return committed_.manifest.next_generation++;
}

Result<> Log::Impl::replace(const CleanedSegments& cleaned) {
  LW_CHECK(!cleaned.replaced.empty());
  std::vector<SegmentInfo> gone;
  for (const SegmentPtr& segment : cleaned.replaced) gone.push_back(segment->info);
  {
    Lock append_lock(append_mutex_);
    auto replaced = replace_locked(cleaned, gone);
    if (!replaced && replaced.error().kind != ErrorKind::kCancelled) {
      // Listed or not: that the files stay until it is known keeps both true.
      doubtful_.insert(doubtful_.end(), cleaned.made.begin(), cleaned.made.end());
    }
    if (!replaced) return replaced;
  }
  retire(gone);
  return {};
}

Result<> Log::Impl::replace_locked(const CleanedSegments& cleaned,
                                   const std::vector<SegmentInfo>& gone) {
  LW_TRY(usable());
  // Their unsynced bytes would no longer be there to scan.
  if (committed_.manifest.recovery_point <= gone.back().last_offset) {
    LW_TRY(save_checkpoint());
  }
  Change next = change();
  auto closed = std::make_shared<SegmentList>(*next.closed);
  const auto first = std::find_if(closed->begin(), closed->end(), [&](const SegmentPtr& segment) {
    return same_file(segment->info, gone.front());
  });
  const auto room = static_cast<std::size_t>(closed->end() - first);
  const bool there =
      room >= gone.size() && std::equal(gone.begin(), gone.end(), first,
                                        [](const SegmentInfo& info, const SegmentPtr& segment) {
                                          return same_file(info, segment->info);
                                        });
  const std::size_t damaged = next.manifest.damaged.size();
  forget_damage(next.manifest.damaged, gone);
  if (!there || next.manifest.damaged.size() != damaged) {
    return Error{ErrorKind::kCancelled,
                 identity_.name + ": a segment that was cleaned was removed or found damaged"};
  }
  SegmentList made;
  for (const SegmentInfo& info : cleaned.made) {
    LW_CHECK(info.base_offset >= gone.front().base_offset);
    LW_CHECK(info.last_offset <= gone.back().last_offset);
    LW_CHECK(info.generation < next.manifest.next_generation);
    made.push_back(std::make_shared<Segment>(Segment{info, identity_.directory}));
  }
  const auto behind = closed->erase(first, first + static_cast<std::ptrdiff_t>(gone.size()));
  closed->insert(behind, made.begin(), made.end());
  next.closed = std::move(closed);
  next.manifest.removed_tombstone_mark =
      std::max(next.manifest.removed_tombstone_mark, cleaned.removed_tombstone_mark);
  return commit(std::move(next));
}

Result<> Log::Impl::set_clean_end(Offset clean_end) {
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  Change next = change();
  if (next.manifest.clean_end == clean_end) return {};
  next.manifest.clean_end = clean_end;
  return commit(std::move(next));
}

/// Removes the files of segments that are no longer listed, at once or after file.delete.delay.ms.
void Log::Impl::retire(const std::vector<SegmentInfo>& gone) {
  const std::int64_t delay_ms = options()->file_delete_delay_ms;
  if (delay_ms <= 0) {
    for (const SegmentInfo& info : gone) remove_segment_files(info);
    return;
  }
  const TimestampMs due_ms = env_.clock.now_ms() + std::min(delay_ms, kUnlimited / 2);
  Lock lock(state_mutex_);
  for (const SegmentInfo& info : gone) old_.push_back({info, due_ms});
}

TimestampMs Log::Impl::remove_old_files(TimestampMs now) {
  std::vector<SegmentInfo> due;
  TimestampMs earliest = kUnlimited;
  {
    Lock lock(state_mutex_);
    std::erase_if(old_, [&](const OldSegment& old) {
      if (old.due_ms <= now) due.push_back(old.info);
      return old.due_ms <= now;
    });
    for (const OldSegment& old : old_) earliest = std::min(earliest, old.due_ms);
  }
  for (const SegmentInfo& info : due) remove_segment_files(info);
  return earliest;
}

}  // namespace lastword::storage
