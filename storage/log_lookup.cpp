// SPDX-License-Identifier: Apache-2.0
// Lookups by timestamp and by leader epoch.
#include <algorithm>
#include <utility>

#include "storage/file_cache.h"
#include "storage/log_impl.h"
#include "storage/log_retry.h"

namespace lastword::storage {

/// The first record with a timestamp of at least `at` and an offset of at least `from`.
struct Log::Impl::RecordWanted {
  TimestampMs at = 0;
  Offset from = 0;
  bool exact = false;    // the timestamp itself, not a later one
  bool largest = false;  // instead: the first record with the largest timestamp of all
};

Result<TimestampOffset> Log::Impl::find_in_batch(const Place& place,
                                                 const std::shared_ptr<File>& file,
                                                 const HeaderAt& batch,
                                                 const RecordWanted& wanted) {
  Bytes bytes(batch.header.size_bytes());
  auto read = file->read_at(batch.position, bytes);
  if (!read) return read.take_error();
  Bytes scratch;
  auto cursor = *read == bytes.size() && crc_holds(bytes)
                    ? RecordCursor::open(bytes, kBatchBytesMax, scratch)
                    : Result<RecordCursor>(Error{ErrorKind::kDamaged, "checksum"});
  TimestampOffset best;
  while (cursor) {
    auto record = cursor->next();
    if (!record || !*record) break;
    const TimestampMs timestamp = (*record)->timestamp;
    if ((*record)->offset < wanted.from || timestamp < wanted.at || timestamp <= best.timestamp) {
      continue;
    }
    if (wanted.exact && timestamp != wanted.at) continue;
    best = {timestamp, (*record)->offset, batch.header.leader_epoch};
    if (!wanted.largest) break;
  }
  if (cursor || cursor.error().kind != ErrorKind::kDamaged) return best;
  LW_TRY(handle_bad_bytes(
      place, file,
      {batch.position, place.info.size_bytes, batch.header.base_offset, place.info.last_offset}));
  return Error{ErrorKind::kDamaged, "read once more"};
}

/// What is wanted, in one segment; offset -1 if it is not there.
Result<TimestampOffset> Log::Impl::find_in_segment(const Place& place, const RecordWanted& wanted) {
  const SegmentInfo& info = place.info;
  TimestampOffset best;
  if (!run_at(*place.damaged, info, 0)) return best;
  auto file = env_.cache.open(path_of(info));
  if (!file && file.error().kind == ErrorKind::kNotFound) {
    LW_TRY(handle_missing_file(place));
    return Error{ErrorKind::kDamaged, "read once more"};
  }
  if (!file) return file.take_error();
  Offset from = std::max(wanted.from, info.base_offset);
  if (wanted.at > 0) {
    // All batches before this one are older. A missing index only means a longer way.
    auto entry = index_floor(info, IndexKind::kTime, &IndexEntry::key, wanted.at - 1);
    if (entry && *entry) from = std::max(from, std::min((*entry)->value, info.last_offset));
  }
  auto start = start_near(place, *file, from);
  if (!start) return start.take_error();
  for (auto run = run_at(*place.damaged, info, *start); run;
       run = run_at(*place.damaged, info, run->to)) {
    const BatchWalk::Range range{run->from, run->to, info.base_offset, info.last_offset};
    BatchWalk walk(*file, range);
    for (;;) {
      auto batch = walk.next();
      if (!batch) {
        if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
        LW_TRY(handle_bad_bytes(place, *file, range));
        return Error{ErrorKind::kDamaged, "read once more"};
      }
      if (!*batch) break;
      const BatchHeader& header = (*batch)->header;
      if (header.max_timestamp < wanted.at || header.last_offset() < wanted.from ||
          header.record_count == 0 || header.max_timestamp <= best.timestamp) {
        continue;
      }
      auto found = find_in_batch(place, *file, **batch, wanted);
      if (!found) return found;
      if (found->offset < 0) continue;
      if (!wanted.largest) return found;
      best = *found;
    }
  }
  return best;
}

Result<TimestampOffset> Log::Impl::find_timestamp(TimestampMs at) {
  return retry<TimestampOffset>([&](const ReadView& view) -> Result<TimestampOffset> {
    const RecordWanted wanted{.at = at, .from = view.offsets.log_start};
    for (std::size_t i = 0; i < view.count(); ++i) {
      const SegmentInfo& info = view.info(i);
      if (info.max_timestamp < at || info.last_offset < wanted.from) continue;
      auto found = find_in_segment(view.place(i), wanted);
      if (!found || found->offset >= 0) return found;
    }
    return TimestampOffset{};
  });
}

/// Segments with the largest timestamp first. Where that one belongs to an empty batch, or lies
/// below log start, the segment is searched for its largest that is left.
Result<TimestampOffset> Log::Impl::find_max_timestamp() {
  return retry<TimestampOffset>([&](const ReadView& view) -> Result<TimestampOffset> {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < view.count(); ++i) {
      const SegmentInfo& info = view.info(i);
      if (info.max_timestamp >= 0 && info.last_offset >= view.offsets.log_start) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return view.info(a).max_timestamp > view.info(b).max_timestamp;
    });
    TimestampOffset best;
    for (const std::size_t i : order) {
      const TimestampMs most = view.info(i).max_timestamp;
      if (best.timestamp > most) break;
      if (best.timestamp == most && best.offset < view.info(i).base_offset) continue;
      RecordWanted wanted{.at = most, .from = view.offsets.log_start, .exact = true};
      auto found = find_in_segment(view.place(i), wanted);
      if (found && found->offset < 0) {
        wanted = {.at = 0, .from = view.offsets.log_start, .largest = true};
        found = find_in_segment(view.place(i), wanted);
      }
      if (!found) return found;
      const bool better = found->timestamp > best.timestamp ||
                          (found->timestamp == best.timestamp && found->offset < best.offset);
      if (found->offset >= 0 && better) best = *found;
    }
    return best;
  });
}

std::int32_t Log::Impl::leader_epoch_at(Offset offset) const {
  Lock lock(state_mutex_);
  if (offset < state_.offsets.log_start || offset >= state_.offsets.log_end) return -1;
  std::int32_t epoch = -1;
  for (const LeaderEpoch& entry : *state_.leader_epochs) {
    if (entry.start_offset <= offset) epoch = entry.epoch;
  }
  return epoch;
}

Log::EpochEnd Log::Impl::end_of_epoch(std::int32_t epoch) const {
  Lock lock(state_mutex_);
  const auto& epochs = *state_.leader_epochs;
  if (epoch < 0 || epochs.empty() || epoch > epochs.back().epoch) return {};
  if (epoch == epochs.back().epoch) return {epoch, state_.offsets.high_watermark};
  EpochEnd end{epoch, -1};
  for (const LeaderEpoch& entry : epochs) {
    if (entry.epoch > epoch) {
      end.end_offset = entry.start_offset;
      break;
    }
    end.epoch = entry.epoch;
  }
  return end;
}

}  // namespace lastword::storage
