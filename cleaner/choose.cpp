// SPDX-License-Identifier: Apache-2.0
#include "cleaner/choose.h"

#include <algorithm>

#include "storage/clock.h"

namespace lastword::cleaner {
namespace {

using storage::later;
using storage::LogView;
using storage::SegmentInfo;
using storage::wait_ends_ms;

constexpr std::int64_t kHorizonSlackMaxMs = 5 * kMinuteMs;
constexpr std::int64_t kIdleShare = 10;  // of the time may go into passes over an idle log

std::int64_t bytes_of(const SegmentInfo& info) {
  return static_cast<std::int64_t>(info.size_bytes);
}

/// The least over several moments, with what is due then.
struct Due {
  TimestampMs at_ms = kUnlimited;
  std::string what{};
  void at(TimestampMs moment, const char* name) {
    if (moment < at_ms) *this = {moment, name};
  }
};

/// What the walk over the closed segments finds.
struct Walk {
  TimestampMs first_append_ms = kUnlimited;  // the oldest over the cleanable part
  TimestampMs lag_ends_ms = kUnlimited;      // when the first segment held by the lag is free
  bool held_by_watermark = false;
};

bool held_by_lag(const SegmentInfo& info, std::int64_t min_lag_ms, TimestampMs now) {
  return min_lag_ms > 0 && later(std::max<TimestampMs>(info.last_append_ms, 0), min_lag_ms) > now;
}

Walk walk_closed(const LogView& view, TimestampMs now, Cleanability& result) {
  Walk walk;
  bool held = false;
  for (std::size_t i = 0; i < view.closed->size(); ++i) {
    const SegmentInfo& info = (*view.closed)[i]->info;
    const Offset end = i + 1 < view.closed->size() ? (*view.closed)[i + 1]->info.base_offset
                                                   : view.active.base_offset;
    result.earliest_horizon = std::min(result.earliest_horizon, info.earliest_horizon);
    if (info.base_offset < result.first_dirty) result.clean_bytes += bytes_of(info);
    if (end <= result.first_dirty) continue;
    result.dirty_bytes += bytes_of(info);
    if (held) continue;
    if (end > view.offsets.high_watermark) {
      held = walk.held_by_watermark = true;
    } else if (const auto lag = view.options->min_compaction_lag_ms; held_by_lag(info, lag, now)) {
      held = true;
      walk.lag_ends_ms = later(std::max<TimestampMs>(info.last_append_ms, 0), lag);
    }
    if (held) continue;
    result.first_uncleanable = end;
    result.cleanable_bytes += bytes_of(info);
    if (info.first_append_ms >= 0) {
      walk.first_append_ms = std::min(walk.first_append_ms, info.first_append_ms);
    }
  }
  return walk;
}

std::string percent(double part) { return std::to_string(static_cast<int>(part * 100)) + " %"; }

/// Why the cleanable part is not cleaned now, if there is one.
std::string why_not(const LogView& view, const Cleanability& result, const Walk& walk) {
  if (result.cleanable_bytes > 0) {
    if (view.active.empty()) return "the log is idle, and the next pass waits ten times the last";
    return "the dirty part is " + percent(result.ratio) + " of the log, " +
           "min.cleanable.dirty.ratio is " + percent(view.options->min_cleanable_dirty_ratio);
  }
  if (walk.lag_ends_ms != kUnlimited) return "min.compaction.lag.ms holds back what was written";
  if (walk.held_by_watermark) return "what was written is not durable yet";
  if (!view.active.empty()) return "what was written is in the active segment";
  return "nothing was written since the last pass";
}

}  // namespace

std::string_view reason_name(PassReason reason) {
  switch (reason) {
    case PassReason::kNone:
      return "none";
    case PassReason::kOverdue:
      return "max.compaction.lag.ms";
    case PassReason::kRatio:
      return "dirty ratio";
    case PassReason::kIdle:
      return "idle log";
    case PassReason::kHorizon:
      return "expired tombstones";
  }
  return "none";
}

std::int64_t horizon_slack_ms(const TopicOptions& options) {
  return std::min(kHorizonSlackMaxMs, options.delete_retention_ms / 10);
}

Cleanability assess(const LogView& view, const LastPass& last, TimestampMs now) {
  const TopicOptions& options = *view.options;
  Cleanability result;
  // A clean end beyond the log (it was cut by a crash) says nothing: all is dirty.
  const Offset clean_end = view.clean_end > view.offsets.log_end ? 0 : view.clean_end;
  result.first_dirty = std::max(clean_end, view.offsets.log_start);
  result.first_uncleanable = result.first_dirty;
  const Walk walk = walk_closed(view, now, result);
  result.dirty_bytes += bytes_of(view.active);
  const std::int64_t total = result.clean_bytes + result.cleanable_bytes;
  if (total > 0) {
    result.ratio = static_cast<double>(result.cleanable_bytes) / static_cast<double>(total);
  }

  if (!options.cleanup_policy.compact) {
    result.skip_reason = "cleanup.policy does not contain compact";
    return result;
  }
  if (!view.damaged.empty()) {
    result.skip_reason = "a damaged range stands in segment " +
                         std::to_string(view.damaged.front().segment_base_offset);
    return result;
  }

  Due due;
  const bool dirty = result.cleanable_bytes > 0;
  if (dirty) {
    const TimestampMs overdue_at =
        walk.first_append_ms == kUnlimited
            ? kUnlimited
            : later(later(walk.first_append_ms, options.max_compaction_lag_ms), 1);
    const TimestampMs idle_at = wait_ends_ms(last.ended_ms, kIdleShare * last.took_ms, now);
    if (overdue_at <= now) {
      result.reason = PassReason::kOverdue;
      result.overdue_ms = now - overdue_at;
    } else if (result.ratio > options.min_cleanable_dirty_ratio) {
      result.reason = PassReason::kRatio;
    } else if (view.active.empty() && idle_at <= now) {
      result.reason = PassReason::kIdle;
    }
    due.at(overdue_at, "compact");
    if (view.active.empty()) due.at(idle_at, "compact");
  }
  due.at(walk.lag_ends_ms, "compact");
  if (result.earliest_horizon != storage::kNoHorizon) {
    const TimestampMs horizon_at = later(result.earliest_horizon, horizon_slack_ms(options));
    if (horizon_at <= now) {
      if (result.reason == PassReason::kNone) result.reason = PassReason::kHorizon;
      result.overdue_ms = std::max(result.overdue_ms, now - horizon_at);
    }
    due.at(horizon_at, "drop tombstones");
  }
  if (result.reason == PassReason::kNone) {
    result.skip_reason = why_not(view, result, walk);
    result.next_due_ms = due.at_ms;
    result.next_due_what = due.what;
  } else {
    result.next_due_ms = now;
    result.next_due_what = result.reason == PassReason::kHorizon ? "drop tombstones" : "compact";
  }
  return result;
}

bool goes_first(const Cleanability& a, const Cleanability& b) {
  return a.overdue_ms == b.overdue_ms ? a.ratio > b.ratio : a.overdue_ms > b.overdue_ms;
}

std::optional<std::size_t> choose(std::span<const Cleanability> candidates) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].reason == PassReason::kNone) continue;
    if (!best || goes_first(candidates[i], candidates[*best])) best = i;
  }
  return best;
}

}  // namespace lastword::cleaner
