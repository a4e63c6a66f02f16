// SPDX-License-Identifier: Apache-2.0
#include "client/status_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "client/text.h"

namespace lastword::client {

namespace {

std::string moment(std::int64_t at_ms, std::int64_t clock_ms) {
  const std::string distance = at_ms >= clock_ms ? "in " + duration_left_text(at_ms - clock_ms)
                                                 : duration_text(clock_ms - at_ms) + " ago";
  return fmt::format("{} ({})", distance, time_text(at_ms));
}

std::string pass_text(const PartitionStatus& status) {
  const auto& pass = status.last_pass;
  if (pass.at_ms < 0) return "none yet";
  return fmt::format("{}, took {}; read {}, wrote {}; dropped {} ({}), rewrote {}",
                     moment(pass.at_ms, status.clock_ms), duration_text(pass.took_ms),
                     size_text(pass.read_bytes), size_text(pass.written_bytes),
                     count_text(pass.records_dropped, "record"),
                     count_text(pass.tombstones_dropped, "tombstone"),
                     count_text(pass.segments_rewritten, "segment"));
}

std::string not_cleaned_text(const PartitionStatus& status) {
  if (status.dirty_bytes == 0) {
    return fmt::format("nothing; all below offset {} is clean", status.clean_end);
  }
  const std::string dirty = fmt::format("{}, from offset {} on", size_text(status.dirty_bytes),
                                        std::max(status.clean_end, status.log_start));
  if (status.cleanable_bytes == 0) return dirty + "; none of it may be cleaned now";
  return dirty + fmt::format("; {} of it may be cleaned now (dirty ratio {:.2f})",
                             size_text(status.cleanable_bytes),
                             static_cast<double>(status.dirty_ratio_ppm) / 1'000'000);
}

std::string tombstones_text(const PartitionStatus& status) {
  if (status.tombstones_waiting == 0) return "none";
  const std::string waiting = fmt::format("{} waiting", status.tombstones_waiting);
  if (status.next_horizon_ms < 0) return waiting + "; no pass has stamped one yet";
  return waiting + "; the next one goes " + moment(status.next_horizon_ms, status.clock_ms);
}

std::string due_text(const PartitionStatus& status) {
  if (status.next_due_ms < 0) return "nothing";
  return status.next_due_what + " " + moment(status.next_due_ms, status.clock_ms);
}

std::string damage_text(const PartitionStatus::Damage& damage) {
  return fmt::format("offsets {} to {}: {} at position {} of {}", damage.first_offset,
                     damage.last_offset, size_text(damage.length), damage.position, damage.file);
}

using Lines = std::vector<std::pair<std::string, std::string>>;

void add_cleaning(const PartitionStatus& status, Lines& lines) {
  lines.emplace_back("not cleaned", not_cleaned_text(status));
  lines.emplace_back("last pass", pass_text(status));
  lines.emplace_back("tombstones", tombstones_text(status));
  lines.emplace_back("removed-tombstone mark", std::to_string(status.removed_tombstone_mark));
}

void add_trouble(const PartitionStatus& status, Lines& lines) {
  if (!status.quarantine_reason.empty()) {
    std::string text = status.quarantine_reason;
    if (status.quarantine_retry_ms >= 0) {
      text += "; tried again " + moment(status.quarantine_retry_ms, status.clock_ms);
    }
    lines.emplace_back("in quarantine", text);
  }
  for (const auto& damage : status.damaged) lines.emplace_back("damaged", damage_text(damage));
  if (status.fenced) {
    lines.emplace_back("fenced", "a sync failed: no writes until the disk takes one again");
  }
}

}  // namespace

Lines status_lines(const PartitionStatus& status, const std::string& policy) {
  const bool compacted = policy.find("compact") != std::string::npos;
  Lines lines{
      {"offsets",
       fmt::format("log start {}, high watermark {}, log end {}, leader epoch {}", status.log_start,
                   status.high_watermark, status.log_end, status.leader_epoch)},
      {"holds", fmt::format("{} in {}, {}", count_text(status.records, "record"),
                            count_text(status.segments, "segment"), size_text(status.size_bytes))},
  };
  if (compacted) {
    add_cleaning(status, lines);
  } else if (status.tombstones_waiting > 0) {
    lines.emplace_back("tombstones",
                       fmt::format("{}; they stay as other records do: cleanup.policy is {}",
                                   status.tombstones_waiting, policy));
  }
  lines.emplace_back("next due", due_text(status));
  if (compacted && !status.skip_reason.empty()) {
    lines.emplace_back("no pass now", status.skip_reason);
  }
  add_trouble(status, lines);
  return lines;
}

bool is_empty(const PartitionStatus& status) {
  return status.log_end == 0 && status.quarantine_reason.empty() && status.damaged.empty() &&
         !status.fenced;
}

}  // namespace lastword::client
