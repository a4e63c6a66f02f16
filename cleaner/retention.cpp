// SPDX-License-Identifier: Apache-2.0
#include "cleaner/retention.h"

namespace lastword::cleaner {
namespace {

using storage::later;
using storage::LogView;
using storage::SegmentInfo;

/// Closed segments and, unless it is empty, the active one, oldest first, each with its upper
/// bound.
struct Candidate {
  const SegmentInfo* info;
  Offset end_offset;  // the next segment's base, or the log's end
};

std::vector<Candidate> candidates(const LogView& view) {
  std::vector<Candidate> all;
  all.reserve(view.closed->size() + 1);
  for (const auto& segment : *view.closed) {
    if (!all.empty()) all.back().end_offset = segment->info.base_offset;
    all.push_back({&segment->info, view.active.base_offset});
  }
  if (!view.active.empty()) all.push_back({&view.active, view.offsets.log_end});
  return all;
}

std::int64_t bytes_of(const SegmentInfo& info) {
  return static_cast<std::int64_t>(info.size_bytes);
}

std::size_t below_log_start(const LogView& view, const std::vector<Candidate>& all) {
  std::size_t gone = 0;
  // The active segment stays: log start reaches its end only through the rules below.
  while (gone < view.closed->size() && all[gone].end_offset <= view.offsets.log_start) ++gone;
  return gone;
}

std::size_t beyond_size(const LogView& view, const std::vector<Candidate>& all, std::size_t gone) {
  const std::int64_t bytes_kept = view.options->retention_bytes;
  if (bytes_kept < 0) return gone;
  std::int64_t excess = -bytes_kept;
  for (std::size_t i = gone; i < all.size(); ++i) excess += bytes_of(*all[i].info);
  while (gone < all.size() && excess >= bytes_of(*all[gone].info) &&
         all[gone].end_offset <= view.offsets.high_watermark) {
    excess -= bytes_of(*all[gone].info);
    ++gone;
  }
  return gone;
}

TimestampMs expires_at(const SegmentInfo& info, std::int64_t retention_ms) {
  return later(later(info.retention_timestamp(), retention_ms), 1);
}

std::vector<FutureTimestamp> future_timestamps(const std::vector<Candidate>& all) {
  std::vector<FutureTimestamp> future;
  for (const Candidate& candidate : all) {
    const SegmentInfo& info = *candidate.info;
    if (info.max_timestamp > info.last_append_ms) {
      future.push_back({info.base_offset, info.max_timestamp, info.last_append_ms});
    }
  }
  return future;
}

}  // namespace

RetentionVerdict apply_retention(const LogView& view, TimestampMs now) {
  RetentionVerdict verdict;
  const std::vector<Candidate> all = candidates(view);
  std::size_t gone = below_log_start(view, all);
  if (view.options->cleanup_policy.remove) {
    gone = beyond_size(view, all, gone);
    const std::int64_t retention_ms = view.options->retention_ms;
    if (retention_ms >= 0) {
      verdict.future = future_timestamps(all);
      while (gone < all.size() && expires_at(*all[gone].info, retention_ms) <= now &&
             all[gone].end_offset <= view.offsets.high_watermark) {
        ++gone;
      }
      if (gone < all.size()) {
        const TimestampMs due = expires_at(*all[gone].info, retention_ms);
        // What is due and held by the high watermark is looked at again by interval, not by clock.
        if (due > now) verdict.next_due_ms = due;
      }
    }
  }
  if (gone > 0) {
    verdict.log_start = std::max(view.offsets.log_start, all[gone - 1].end_offset);
  }
  return verdict;
}

std::string describe(const FutureTimestamp& future, const std::string& log_name) {
  return log_name + ": segment " + std::to_string(future.segment_base_offset) +
         " holds a record with timestamp " + std::to_string(future.timestamp) + ", " +
         std::to_string(future.timestamp - future.appended_ms) +
         " ms ahead of its append; retention.ms counts from the append (lower "
         "message.timestamp.after.max.ms to refuse such records)";
}

}  // namespace lastword::cleaner
