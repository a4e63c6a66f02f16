// SPDX-License-Identifier: Apache-2.0
// What retention removes from the front of a log, as a function of values.
//
// Rules     three criteria, in this order, each working on what the one before left:
//             log start   a segment that lies wholly below log start goes, under every policy;
//             size        the oldest go while what stays is still at least retention.bytes: the log
//                         never dips below it, and may stay above it by less than one segment;
//             time        a segment goes when now − its timestamp > retention.ms (strictly), where
//             a
//                         timestamp ahead of its append counts as the append time.
//           Size and time hold only where cleanup.policy contains delete. Always a prefix of the
//           log, only below the high watermark; the active segment may go too, unless it is empty.
// Threads   pure functions.
// Lifetime  values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/log.h"

namespace lastword::cleaner {

/// A segment that holds a record dated ahead of its append.
struct FutureTimestamp {
  Offset segment_base_offset = 0;
  TimestampMs timestamp = 0;
  TimestampMs appended_ms = 0;
};

struct RetentionVerdict {
  std::optional<Offset> log_start{};      // where the log shall start; empty: nothing goes
  TimestampMs next_due_ms = kUnlimited;   // when the time rule next has something to do
  std::vector<FutureTimestamp> future{};  // under the time rule only
};

RetentionVerdict apply_retention(const storage::LogView& view, TimestampMs now);

/// The warning for one of them: names topic, segment, timestamp, and the remedy.
std::string describe(const FutureTimestamp& future, const std::string& log_name);

}  // namespace lastword::cleaner
