// SPDX-License-Identifier: Apache-2.0
#include "server/handlers/partition_status.h"

#include "storage/file_names.h"

namespace lastword::server {

namespace {

constexpr double kPartsPerMillion = 1e6;

std::string file_name(const storage::DamagedRange& range) {
  return storage::segment_file_name(
      {.base_offset = range.segment_base_offset, .generation = range.segment_generation});
}

void add_log(PartitionStatus& status, const storage::LogView& view) {
  status.log_start = view.offsets.log_start;
  status.high_watermark = view.offsets.high_watermark;
  status.log_end = view.offsets.log_end;
  status.leader_epoch = view.offsets.leader_epoch;
  status.fenced = view.offsets.fenced;
  status.removed_tombstone_mark = view.offsets.removed_tombstone_mark;
  status.clean_end = view.clean_end;
  status.segments = static_cast<std::int32_t>(view.closed->size()) + 1;
  status.size_bytes = static_cast<std::int64_t>(view.active.size_bytes);
  status.records = view.active.records;
  for (const auto& segment : *view.closed) {
    status.size_bytes += static_cast<std::int64_t>(segment->info.size_bytes);
    status.records += segment->info.records;
  }
  for (const storage::DamagedRange& range : view.damaged) {
    status.damaged.push_back({.first_offset = range.first_offset,
                              .last_offset = range.last_offset,
                              .file = file_name(range),
                              .position = static_cast<std::int64_t>(range.position),
                              .length = static_cast<std::int64_t>(range.length_bytes)});
  }
}

void add_cleaner(PartitionStatus& status, const cleaner::PartitionReport& report) {
  status.dirty_bytes = report.dirty_bytes;
  status.cleanable_bytes = report.cleanable_bytes;
  status.dirty_ratio_ppm = static_cast<std::int32_t>(report.dirty_ratio * kPartsPerMillion);
  status.tombstones_waiting = report.tombstones_waiting;
  status.next_horizon_ms = report.next_horizon_ms;
  status.next_due_ms = report.next_due_ms;
  status.next_due_what = report.next_due_what;
  status.skip_reason = report.skip_reason;
  status.quarantine_reason = report.quarantine_reason;
  status.quarantine_retry_ms = report.quarantine_retry_ms;
  const cleaner::PassReport& pass = report.last_pass;
  status.last_pass = {.at_ms = pass.at_ms,
                      .took_ms = pass.took_ms,
                      .read_bytes = pass.read_bytes,
                      .written_bytes = pass.written_bytes,
                      .records_dropped = pass.records_dropped,
                      .tombstones_dropped = pass.tombstones_dropped,
                      .segments_rewritten = pass.segments_rewritten};
}

}  // namespace

PartitionStatus partition_status(const Context& context, const storage::Partition& partition) {
  PartitionStatus status;
  status.clock_ms = context.clock.now_ms();
  if (const auto log = partition.log()) {
    add_log(status, log->view());
  } else {
    const std::string failure = partition.failure();
    status.skip_reason = failure.empty() ? "the log is being opened" : failure;
  }
  add_cleaner(status, context.cleaner.report(partition));
  return status;
}

}  // namespace lastword::server
