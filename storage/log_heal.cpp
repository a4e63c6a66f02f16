// SPDX-License-Identifier: Apache-2.0
// Going on after a failed sync.
//
// Rule      what lies behind the durable end is not trusted where it is: the page cache may call
// pages
//           clean that never reached the disk. It is read once more, checked, written to a new file
//           and synced there; the first bad batch ends the copy.
#include <algorithm>
#include <utility>

#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/log_impl.h"
#include "storage/producer_recovery.h"

namespace lastword::storage {

Result<Offsets> Log::Impl::heal() {
  Lock sync_lock(sync_mutex_);
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  if (!offsets().fenced) return offsets();
  LW_TRY(settle_fence());
  LW_TRY(heal_locked());
  return offsets();
}

/// The listed segment that holds the durable end, up to it; without facts where the durable end is
/// its beginning. What a roll closed, or a pass or retention took away, was durable to its own
/// end.
SegmentInfo Log::Impl::durable_segment(const State& state) {
  const auto holds_end = [&](const SegmentInfo& info) {
    return info.base_offset <= state.durable_end;
  };
  SegmentInfo last{.base_offset = state.durable_end};
  for (const SegmentPtr& segment : *state.closed) {
    if (holds_end(segment->info)) last = segment->info;
  }
  if (holds_end(state.active)) last = state.active;
  if (same_file(last, state.durable)) return state.durable;
  return {.base_offset = last.base_offset,
          .generation = last.generation,
          .last_offset = last.base_offset - 1};
}

/// The fenced segment from its durable position, and all that lie behind it.
std::vector<Log::Impl::Source> Log::Impl::sources_behind(const SegmentInfo& durable) const {
  std::vector<Source> sources;
  const bool earlier_run = offsets().fences == 0;
  const auto consider = [&](const SegmentInfo& info) {
    if (same_file(info, durable)) {
      sources.push_back({info, durable.size_bytes, earlier_run});
    } else if (info.base_offset > durable.base_offset) {
      sources.push_back({info, 0, earlier_run});
    }
  };
  for (const SegmentPtr& segment : *committed_.closed) consider(segment->info);
  consider(committed_.writer->info());
  for (const SegmentInfo& info : committed_.behind_fence) consider(info);
  return sources;
}

/// True if the whole source was good.
Result<bool> Log::Impl::copy_behind(const Source& source, SegmentWriter& into) {
  auto file = env_.cache.open(path_of(source.info));
  if (!file && file.error().kind == ErrorKind::kNotFound) return false;
  if (!file) return file.take_error();
  auto size_bytes = (*file)->size_bytes();
  if (!size_bytes) return size_bytes.take_error();
  // Too late rather than too early: retention and lags go by it.
  TimestampMs append_ms = std::max(source.info.last_append_ms, source.info.first_append_ms);
  if (source.times_from_file) {
    auto status = env_.files.status(path_of(source.info));
    if (!status) return status.take_error();
    append_ms = std::max(append_ms, status->modified_ms);
  }
  Bytes buffer;
  Bytes scratch;
  const Offset from = std::max(into.info().last_offset + 1, source.info.base_offset);
  SegmentReader reader(*file,
                       {.from = std::min(source.from, *size_bytes),
                        .to = std::min<std::uint64_t>(*size_bytes, kRelativeMax),
                        .first_offset = from,
                        .last_offset = into.info().base_offset + kRelativeMax},
                       buffer);
  for (;;) {
    auto batch = reader.next();
    if (!batch) {
      if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
      report(Severity::kError,
             path_of(source.info) + ": " + batch.error().text + ": what lies behind is lost");
      return false;
    }
    if (!*batch) return true;
    const BatchHeader& header = (*batch)->header;
    if (into.info().size_bytes + header.size_bytes() > static_cast<std::uint64_t>(kRelativeMax)) {
      return false;
    }
    LW_TRY(into.append((*batch)->bytes, facts_of(header, (*batch)->bytes, scratch), append_ms));
    into.note_first_append(source.info.first_append_ms);
  }
}

/// Offsets that readers have seen (durability os) are not used again: an empty batch stands for
/// them.
Result<> Log::Impl::fill_up_to(Offset end, SegmentWriter& into) {
  const Offset from = into.info().last_offset + 1;
  if (from >= end) return {};
  const Bytes batch = gap_batch(from, end, offsets().leader_epoch);
  const auto written = read_batch_header(batch);
  LW_CHECK(written.has_value());
  report(Severity::kError,
         "lost offsets " + std::to_string(from) + " to " + std::to_string(end - 1));
  return into.append(batch, {.header = *written, .tombstones = 0}, env_.clock.now_ms());
}

Result<> Log::Impl::heal_locked() {
  State before;
  {
    Lock lock(state_mutex_);
    before = state_;
  }
  before.durable = durable_segment(before);
  const auto options = this->options();
  const std::uint32_t generation = committed_.manifest.next_generation++;
  const std::vector<Source> sources = sources_behind(before.durable);
  bool whole = true;
  auto copied = env_.reserve.with_reserve([&]() -> Result<std::unique_ptr<SegmentWriter>> {
    auto writer = SegmentWriter::create(
        env_, identity_.directory, {.base_offset = before.durable_end, .generation = generation},
        writer_options(*options));
    if (!writer) return writer;
    whole = true;
    for (const Source& source : sources) {
      auto good = copy_behind(source, **writer);
      if (!good) return good.take_error();
      whole = whole && *good;
      if (!whole) break;
    }
    return writer;
  });
  if (copied) {
    std::shared_ptr<SegmentWriter> writer = *std::move(copied);
    const SegmentInfo made = writer->info();
    auto done = finish_heal(before, std::move(writer), whole);
    if (done) return done;
    if (manifest_in_doubt_) {
      doubtful_.push_back(made);
    } else {
      remove_segment_files(made);
    }
    return Error{ErrorKind::kFenced, done.error().text};
  }
  remove_segment_files({.base_offset = before.durable_end, .generation = generation});
  return Error{ErrorKind::kFenced, copied.error().text};
}

/// After what was lost they are what the durable part and the copy give.
Result<ProducerState> Log::Impl::producers_of(const Change& healed) const {
  ProducerSource source{.name = identity_.name,
                        .directory = identity_.directory,
                        .manifest = committed_.manifest,
                        .end = healed.active_row.last_offset + 1};
  for (const SegmentPtr& segment : *healed.closed) source.segments.push_back(segment->info);
  source.segments.push_back(healed.active_row);
  return load_producers(env_, source);
}

/// The file ends at its durable end from now on; its indexes are built again when they are asked
/// for.
void Log::Impl::remove_behind(const Source& source) {
  if (source.from == 0) return remove_segment_files(source.info);
  auto file = env_.cache.open(path_of(source.info));
  if (file) static_cast<void>((*file)->truncate(source.from));  // else the next start does it
  remove_file(path_of(source.info, SegmentFile::kOffsetIndex));
  remove_file(path_of(source.info, SegmentFile::kTimeIndex));
}

Result<> Log::Impl::finish_heal(const State& before, std::shared_ptr<SegmentWriter> writer,
                                bool whole) {
  LW_TRY(env_.reserve.with_reserve(
      [&] { return fill_up_to(before.offsets.high_watermark, *writer); }));
  LW_TRY(writer->sync_data());
  LW_TRY(env_.reserve.with_reserve([&] { return writer->save_indexes(); }));
  LW_TRY(env_.files.sync_directory(identity_.directory));
  writer->publish();
  const SegmentInfo active = writer->info();
  const Offset end = active.last_offset + 1;

  Change next = change();
  auto closed = std::make_shared<SegmentList>();
  for (const SegmentPtr& segment : *next.closed) {
    if (segment->info.base_offset < before.durable.base_offset) closed->push_back(segment);
  }
  if (!before.durable.empty()) {
    closed->push_back(std::make_shared<Segment>(Segment{before.durable, identity_.directory}));
  }
  const auto sources = sources_behind(before.durable);
  std::erase_if(next.manifest.damaged, [&](const DamagedRange& range) {
    return std::any_of(sources.begin(), sources.end(), [&](const Source& source) {
      return belongs_to(range, source.info) && range.position >= source.from;
    });
  });
  next.closed = std::move(closed);
  next.writer = writer;
  next.active_row = active;
  next.behind_fence.clear();
  next.manifest.fence.reset();
  next.manifest.recovery_point = end;

  const bool known = whole && end == before.offsets.log_end && before.offsets.fences > 0;
  auto producers = known ? Result<ProducerState>(producers_) : producers_of(next);
  if (!producers) return producers.take_error();
  auto snapshot = save_producers(env_, identity_.directory, *producers, end);
  if (!snapshot) return snapshot.take_error();
  const auto stale = committed_.manifest.producer_snapshot;
  next.manifest.producer_snapshot = *snapshot;

  LW_TRY(commit(std::move(next), [&](State& state) {
    state.durable = state.readable = state.active;
    state.durable_end = end;
    state.offsets.high_watermark = state.offsets.log_end = end;
    state.offsets.fenced = false;
    state.unsynced.clear();
    state.unsynced_bytes = state.unsaved_bytes = 0;
    state.unsynced_records = 0;
  }));
  producers_ = *std::move(producers);
  producers_.count_in(env_.producer_budget);
  {
    Lock lock(data_sync_mutex_);
    sync_failed_ = false;
  }
  report(Severity::kWarning, "goes on at offset " + std::to_string(end) + " after a failed sync" +
                                 (whole ? "; nothing is lost" : ""));
  for (const Source& source : sources) remove_behind(source);
  if (stale && stale != *snapshot) {
    remove_file(path_in(identity_.directory, producer_snapshot_name(*stale)));
  }
  return {};
}

}  // namespace lastword::storage
