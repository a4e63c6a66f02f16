// SPDX-License-Identifier: Apache-2.0
#include "client/status_text.h"

#include <spdlog/fmt/fmt.h>

#include "client/text.h"

namespace lastword::client {

namespace {

std::string moment(std::int64_t at_ms, std::int64_t clock_ms) {
  const std::string distance = at_ms >= clock_ms ? "in " + duration_text(at_ms - clock_ms)
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

}  // namespace

std::vector<std::pair<std::string, std::string>> status_lines(const PartitionStatus& status) {
  std::vector<std::pair<std::string, std::string>> lines{
      {"offsets",
       fmt::format("log start {}, high watermark {}, log end {}, leader epoch {}", status.log_start,
                   status.high_watermark, status.log_end, status.leader_epoch)},
      {"holds", fmt::format("{} in {}, {}", count_text(status.records, "record"),
                            count_text(status.segments, "segment"), size_text(status.size_bytes))},
      {"clean below", fmt::format("offset {}; dirty {} ({:.1f} %), of it {} may be cleaned now",
                                  status.clean_end, size_text(status.dirty_bytes),
                                  static_cast<double>(status.dirty_ratio_ppm) / 10'000,
                                  size_text(status.cleanable_bytes))},
      {"last pass", pass_text(status)},
      {"tombstones", tombstones_text(status)},
      {"removed-tombstone mark", std::to_string(status.removed_tombstone_mark)},
      {"next due", due_text(status)},
  };
  if (!status.skip_reason.empty()) lines.emplace_back("no pass now", status.skip_reason);
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
  return lines;
}

}  // namespace lastword::client
