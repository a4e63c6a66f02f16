// SPDX-License-Identifier: Apache-2.0
// Reads: where the batches of a range of offsets lie, as runs of file bytes.
#include <algorithm>
#include <utility>

#include "storage/file_cache.h"
#include "storage/log_impl.h"
#include "storage/log_retry.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kRangesMax = 8;

// After a rebuild of indexes that could not be saved.
constexpr std::int64_t kRebuildAgainMs = kMinuteMs;
constexpr std::size_t kUnsavedRebuildsMax = 64;

/// A batch that is in no file.
class BatchInMemory : public ByteSource {
 public:
  explicit BatchInMemory(Bytes batch) : batch_(std::move(batch)) {}
  Result<std::size_t> read_at(std::uint64_t position, std::span<std::byte> into) const override {
    const ByteView left = ByteView(batch_).subspan(std::min<std::size_t>(position, batch_.size()));
    const std::size_t count = std::min(into.size(), left.size());
    std::copy_n(left.begin(), count, into.begin());
    return count;
  }
  int descriptor() const override { return -1; }

 private:
  const Bytes batch_;
};

/// The first segment that may hold a batch at or behind `from`.
template <class View>
std::size_t first_segment(const View& view, Offset from) {
  std::size_t low = 0;
  std::size_t high = view.count();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (view.info(middle).base_offset <= from ? low : high) = middle;
  }
  return low;
}

std::uint64_t share_behind(const SegmentInfo& info, Offset from) {
  if (from <= info.base_offset) return info.size_bytes;
  if (from > info.last_offset || info.empty()) return 0;
  const double part = static_cast<double>(info.last_offset - from + 1) /
                      static_cast<double>(info.last_offset - info.base_offset + 1);
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(part * static_cast<double>(info.size_bytes)));
}

}  // namespace

/// Where to cut a run: its end, and the offset behind it.
struct Log::Impl::Cut {
  std::uint64_t end = 0;
  Offset next_offset = 0;
};

Log::Impl::ReadView Log::Impl::read_view() const {
  Lock lock(state_mutex_);
  return {.closed = state_.closed,
          .readable = state_.readable,
          .damaged = state_.damaged,
          .offsets = state_.offsets};
}

std::uint64_t Log::Impl::readable_bytes(Offset from) const {
  ReadView view;
  std::uint64_t bytes = 0;
  {
    Lock lock(state_mutex_);
    if (from >= state_.offsets.high_watermark) return 0;
    view = {.closed = state_.closed, .readable = state_.readable, .damaged = {}, .offsets = {}};
    const SegmentInfo& active = state_.readable;
    bytes = active.size_bytes;
    if (from > active.base_offset) {
      const auto entry = state_.writer->offset_index().floor(from);
      const std::uint64_t before = entry ? static_cast<std::uint64_t>(entry->value) : 0;
      bytes = active.size_bytes > before ? active.size_bytes - before : 0;
    }
  }
  for (std::size_t i = first_segment(view, from); i < view.closed->size(); ++i) {
    bytes += share_behind(view.info(i), from);
  }
  return std::max<std::uint64_t>(bytes, 1);
}

Result<std::optional<IndexEntry>> Log::Impl::index_floor(const SegmentInfo& info, IndexKind kind,
                                                         std::int64_t IndexEntry::*field,
                                                         std::int64_t limit) {
  const bool by_key = field == &IndexEntry::key;
  {
    Lock lock(state_mutex_);
    if (same_file(state_.active, info)) {
      const SparseIndex& index =
          kind == IndexKind::kOffset ? state_.writer->offset_index() : state_.writer->time_index();
      return by_key ? index.floor(limit) : index.floor_value(limit);
    }
  }
  const std::string path = path_of(
      info, kind == IndexKind::kOffset ? SegmentFile::kOffsetIndex : SegmentFile::kTimeIndex);
  auto file = env_.cache.open(path);
  if (!file) return file.take_error();
  auto size_bytes = (*file)->size_bytes();
  if (!size_bytes) return size_bytes.take_error();
  return by_key ? floor_in_file(**file, *size_bytes, kind, info.base_offset, limit)
                : floor_value_in_file(**file, *size_bytes, kind, info.base_offset, limit);
}

/// The position of a batch at or before the one that holds `from`; empty if the index is missing or
/// wrong.
Result<std::optional<std::uint64_t>> Log::Impl::indexed_start(const Place& place,
                                                              const std::shared_ptr<File>& file,
                                                              Offset from) {
  const std::optional<std::uint64_t> unknown;
  const SegmentInfo& info = place.info;
  auto entry = index_floor(info, IndexKind::kOffset, &IndexEntry::key, from);
  if (!entry &&
      (entry.error().kind == ErrorKind::kNotFound || entry.error().kind == ErrorKind::kDamaged)) {
    return unknown;
  }
  if (!entry) return entry.take_error();
  if (!*entry) return std::optional<std::uint64_t>(0);
  // An index has no checksum: what it says is believed when the batch is really there.
  const auto position = static_cast<std::uint64_t>((*entry)->value);
  const auto run = run_at(*place.damaged, info, position);
  if (run && run->from != position) return std::optional(position);
  BatchWalk walk(file, {position, info.size_bytes, info.base_offset, info.last_offset});
  auto batch = walk.next();
  if (batch && *batch && (*batch)->header.last_offset() == (*entry)->key) {
    return std::optional(position);
  }
  if (!batch && batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
  return unknown;
}

/// By the index, which is built anew if it must be; 0 is always right.
Result<std::uint64_t> Log::Impl::start_near(const Place& place, const std::shared_ptr<File>& file,
                                            Offset from) {
  if (from <= place.info.base_offset) return std::uint64_t{0};
  auto start = indexed_start(place, file, from);
  if (start && !*start && !same_file(place.info, read_view().readable)) {
    Lock lock(rebuild_mutex_);
    // Whoever had the lock before may have done it.
    start = indexed_start(place, file, from);
    if (start && !*start && rebuild_indexes(place.info)) start = indexed_start(place, file, from);
  }
  if (!start) return start.take_error();
  return start->value_or(0);
}

bool Log::Impl::rebuild_indexes(const SegmentInfo& info) {
  const TimestampMs now = env_.clock.now_ms();
  std::erase_if(unsaved_rebuilds_,
                [&](const UnsavedRebuild& unsaved) { return unsaved.again_ms <= now; });
  if (std::any_of(unsaved_rebuilds_.begin(), unsaved_rebuilds_.end(),
                  [&](const UnsavedRebuild& unsaved) { return same_file(unsaved.info, info); })) {
    return false;
  }
  report(Severity::kWarning,
         "the indexes of " + path_of(info) + " are missing or wrong; building them anew");
  auto built = build_indexes(env_, {info, identity_.directory}, writer_options(*options()));
  if (built && save_indexes_of(info, **built)) return true;
  // A scan of a whole segment is too much for each read; until then they walk over its headers.
  if (unsaved_rebuilds_.size() == kUnsavedRebuildsMax) {
    unsaved_rebuilds_.erase(unsaved_rebuilds_.begin());
  }
  unsaved_rebuilds_.push_back({info, now + kRebuildAgainMs});
  return false;
}

/// Not for a segment that has left the log: nobody would remove the files again, and the folder may
/// be another topic's by now.
Result<> Log::Impl::save_indexes_of(const SegmentInfo& info, SegmentWriter& built) {
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  const SegmentList& closed = *committed_.closed;
  if (std::none_of(closed.begin(), closed.end(),
                   [&](const SegmentPtr& segment) { return same_file(segment->info, info); })) {
    return Error{ErrorKind::kCancelled, path_of(info) + " has left the log"};
  }
  return built.save_indexes();
}

/// As much of `run` as `bytes_max` takes, by index and headers; none if the first batch is too
/// large.
Result<Log::Impl::Cut> Log::Impl::cut_run(const Place& place, const std::shared_ptr<File>& file,
                                          const Run& run, std::uint64_t bytes_max) {
  if (run.to - run.from <= bytes_max) return Cut{run.to, run.next_offset};
  const std::uint64_t limit = run.from + bytes_max;
  const SegmentInfo& info = place.info;
  BatchWalk::Range range{run.from, run.to, info.base_offset, info.last_offset};
  auto entry =
      index_floor(info, IndexKind::kOffset, &IndexEntry::value, static_cast<std::int64_t>(limit));
  if (entry && *entry && static_cast<std::uint64_t>((*entry)->value) > run.from) {
    BatchWalk::Range jump = range;
    jump.from = static_cast<std::uint64_t>((*entry)->value);
    BatchWalk walk(file, jump);
    auto batch = walk.next();
    if (batch && *batch && (*batch)->header.last_offset() == (*entry)->key) range = jump;
  }
  Cut cut{range.from, 0};
  BatchWalk walk(file, range);
  for (;;) {
    auto batch = walk.next();
    if (!batch) {
      if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
      LW_TRY(handle_bad_bytes(place, file, range));
      return Error{ErrorKind::kDamaged, "read once more"};
    }
    if (!*batch) return cut;
    if ((*batch)->end() > limit) {
      if (cut.end == range.from) cut.next_offset = (*batch)->header.base_offset;
      return cut;
    }
    cut = {(*batch)->end(), (*batch)->header.last_offset() + 1};
  }
}

/// Adds what `place` holds at and behind `from` to the plan; false when the plan is full.
Result<bool> Log::Impl::read_segment(const Place& place, Offset from, const ReadLimits& limits,
                                     ReadPlan& plan) {
  const SegmentInfo& info = place.info;
  std::optional<Run> run = run_at(*place.damaged, info, 0);
  if (!run) return true;
  auto file = env_.cache.open(path_of(info));
  if (!file && file.error().kind == ErrorKind::kNotFound) {
    LW_TRY(handle_missing_file(place));
    return Error{ErrorKind::kDamaged, "read once more"};
  }
  if (!file) return file.take_error();
  auto start = start_near(place, *file, from);
  if (!start) return start.take_error();
  bool found = from <= info.base_offset;
  for (run = run_at(*place.damaged, info, *start); run;
       run = run_at(*place.damaged, info, run->to)) {
    const BatchWalk::Range range{run->from, run->to, info.base_offset, info.last_offset};
    BatchWalk walk(*file, range);
    std::optional<HeaderAt> first;
    while (!found || (plan.ranges.empty() && !first)) {
      auto batch = walk.next();
      if (!batch) {
        if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
        LW_TRY(handle_bad_bytes(place, *file, range));
        return Error{ErrorKind::kDamaged, "read once more"};
      }
      if (!*batch) break;
      first = **batch;
      found = first->header.last_offset() >= from;
    }
    if (!found) continue;
    if (first) run->from = first->position;
    const std::uint64_t left = limits.bytes_max - std::min(limits.bytes_max, plan.size_bytes);
    auto cut = cut_run(place, *file, *run, left);
    if (!cut) return cut.take_error();
    if (cut->end == run->from) {
      if (!plan.ranges.empty() || !limits.first_batch_whole || !first) return false;
      *cut = {first->end(), first->header.last_offset() + 1};
    }
    // A file that lost its end would break off an answer whose length is told already.
    auto size_bytes = (*file)->size_bytes();
    if (!size_bytes) return size_bytes.take_error();
    if (*size_bytes < cut->end) {
      LW_TRY(handle_bad_bytes(place, *file, range));
      return Error{ErrorKind::kDamaged, "read once more"};
    }
    const auto length = static_cast<std::uint32_t>(cut->end - run->from);
    auto lent = env_.cache.lend(*file);
    if (!lent) return lent.take_error();
    plan.ranges.push_back({*std::move(lent), run->from, length});
    plan.size_bytes += length;
    plan.next_offset = std::max(plan.next_offset, cut->next_offset);
    if (cut->end < run->to || plan.ranges.size() == kRangesMax) return false;
  }
  return plan.ranges.empty() || plan.size_bytes < limits.bytes_max;
}

Bytes Log::Impl::gap_batch(Offset from, Offset end, std::int32_t leader_epoch) {
  BatchHeader header;
  header.base_offset = from;
  header.last_offset_delta = static_cast<std::int32_t>(std::min(end - from, kRelativeMax) - 1);
  header.leader_epoch = leader_epoch;
  return make_empty_batch(header);
}

/// Nothing is left from `from` to the high watermark: what was there is damaged or lost. A reader
/// that got no batch would ask for it again, for ever.
void Log::Impl::plan_gap(Offset from, const ReadLimits& limits, ReadPlan& plan) const {
  if (!limits.first_batch_whole && limits.bytes_max < kBatchHeaderBytes) return;
  const Offset end = std::min(plan.offsets.high_watermark, from + kRelativeMax);
  auto batch = std::make_shared<const BatchInMemory>(gap_batch(from, end, leader_epoch_at(from)));
  plan.ranges.push_back({std::move(batch), 0, kBatchHeaderBytes});
  plan.size_bytes = kBatchHeaderBytes;
  plan.next_offset = end;
}

Result<ReadPlan> Log::Impl::read(Offset from, const ReadLimits& limits) {
  return retry<ReadPlan>([&](const ReadView& view) -> Result<ReadPlan> {
    const Offsets& offsets = view.offsets;
    if (from < offsets.log_start || from > offsets.log_end) {
      return Error{ErrorKind::kOffsetOutOfRange,
                   identity_.name + " has offsets " + std::to_string(offsets.log_start) + " to " +
                       std::to_string(offsets.log_end) + ", not " + std::to_string(from)};
    }
    ReadPlan plan{.next_offset = from, .offsets = offsets};
    if (from >= offsets.high_watermark) return plan;
    for (std::size_t i = first_segment(view, from); i < view.count(); ++i) {
      if (view.info(i).last_offset < from) continue;
      auto more = read_segment(view.place(i), from, limits, plan);
      if (!more) return more.take_error();
      if (!*more) return plan;
    }
    if (plan.ranges.empty()) plan_gap(from, limits, plan);
    return plan;
  });
}

}  // namespace lastword::storage
