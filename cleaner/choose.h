// SPDX-License-Identifier: Apache-2.0
// Which log is compacted next, and why another is not, as functions of values.
//
// Words     first dirty      clean end, but not below log start: where the last pass ended
//           cleanable part   closed segments from first dirty up to the first that is held back: by
//                            the high watermark, or by an append within min.compaction.lag.ms
//           ratio            cleanable bytes / all closed bytes up to there
// Reasons   overdue   a cleanable segment was begun more than max.compaction.lag.ms ago
//           ratio     the ratio is above min.cleanable.dirty.ratio (strictly)
//           idle      the active segment is closed and nothing came since, so nothing better comes
//           by
//                     waiting: the ratio holds nothing back. Such passes take a tenth of the time
//                     at most: the next waits ten times as long as the last took
//           horizon   the delete horizon of a tombstone is over. Neighbours share a pass: it may be
//                     late by min(5 min, delete.retention.ms / 10)
// Threads   pure functions.
// Lifetime  values.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "storage/log.h"

namespace lastword::cleaner {

enum class PassReason { kNone, kOverdue, kRatio, kIdle, kHorizon };
std::string_view reason_name(PassReason reason);

/// When the last pass over the log ended, and what it took; broker's clock.
struct LastPass {
  TimestampMs ended_ms = -1;
  std::int64_t took_ms = 0;
};

/// One log at one moment.
struct Cleanability {
  Offset first_dirty = 0;
  Offset first_uncleanable = 0;  // >= first_dirty; a segment's base, or first_dirty
  std::int64_t clean_bytes = 0;
  std::int64_t cleanable_bytes = 0;
  std::int64_t dirty_bytes = 0;  // cleanable, held back, and active
  double ratio = 0;
  TimestampMs earliest_horizon = storage::kNoHorizon;
  PassReason reason = PassReason::kNone;
  std::int64_t overdue_ms = -1;          // by how much max lag or a horizon is; -1: neither is
  std::string skip_reason{};             // empty when there is a reason for a pass
  TimestampMs next_due_ms = kUnlimited;  // when a pass may become due without another append
  std::string next_due_what{};
};

Cleanability assess(const storage::LogView& view, const LastPass& last, TimestampMs now);

/// True if `a` goes before `b`: those first that are overdue, by max.compaction.lag.ms or by the
/// horizon of a tombstone, the longest of them foremost; then the dirtiest.
bool goes_first(const Cleanability& a, const Cleanability& b);

/// Index of the one to clean; empty if none has a reason.
std::optional<std::size_t> choose(std::span<const Cleanability> candidates);

/// How late a pass for tombstones may be.
std::int64_t horizon_slack_ms(const TopicOptions& options);

}  // namespace lastword::cleaner
