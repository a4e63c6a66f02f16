// SPDX-License-Identifier: Apache-2.0
// Tagged fields of our own, which EXTENSIONS.md describes for other implementers. They are sent
// only to a client that asked for them.
//
// Threads   plain data.
// Lifetime  owns what it holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/fields.h"

namespace lastword {

/// Fetch 12+ and ListOffsets 6+: asked for by a bool, answered by an int64 for each partition.
inline constexpr std::int32_t kRemovedTombstoneMarkTag = 10000;
/// Metadata 9+: asked for by a bool, answered by a PartitionStatus for each partition.
inline constexpr std::int32_t kPartitionStatusTag = 10001;

/// What a partition holds and what the cleaner did, and will do, with it. Times are the broker's
/// clock, in milliseconds.
struct PartitionStatus {
  struct Pass {
    std::int64_t at_ms = -1;  // start; -1: there was none
    std::int64_t took_ms = 0;
    std::int64_t read_bytes = 0;
    std::int64_t written_bytes = 0;
    std::int64_t records_dropped = 0;
    std::int64_t tombstones_dropped = 0;
    std::int32_t segments_rewritten = 0;

    static void fields(auto& walk) {
      walk("at_ms", &Pass::at_ms);
      walk("took_ms", &Pass::took_ms);
      walk("read_bytes", &Pass::read_bytes);
      walk("written_bytes", &Pass::written_bytes);
      walk("records_dropped", &Pass::records_dropped);
      walk("tombstones_dropped", &Pass::tombstones_dropped);
      walk("segments_rewritten", &Pass::segments_rewritten);
    }
  };

  /// A run of bytes that does not hold batches that can be trusted; reads skip it.
  struct Damage {
    std::int64_t first_offset = 0;
    std::int64_t last_offset = 0;
    std::string file{};
    std::int64_t position = 0;
    std::int64_t length = 0;

    static void fields(auto& walk) {
      walk("first_offset", &Damage::first_offset);
      walk("last_offset", &Damage::last_offset);
      walk("file", &Damage::file);
      walk("position", &Damage::position);
      walk("length", &Damage::length);
    }
  };

  std::int64_t log_start = 0;
  std::int64_t high_watermark = 0;
  std::int64_t log_end = 0;
  std::int64_t size_bytes = 0;
  std::int32_t segments = 0;
  std::int64_t records = 0;
  std::int32_t leader_epoch = 0;
  std::int64_t dirty_bytes = 0;
  std::int64_t cleanable_bytes = 0;
  std::int32_t dirty_ratio_ppm = 0;  // parts per million
  std::int64_t clean_end = 0;        // offsets below have been through a pass
  std::int64_t removed_tombstone_mark = 0;
  std::int64_t tombstones_waiting = 0;  // stamped and unstamped
  std::int64_t next_horizon_ms = -1;    // earliest moment a stamped tombstone may go; -1: none
  std::int64_t next_due_ms = -1;        // next moment that something is due; -1: none
  std::string next_due_what{};
  Pass last_pass{};
  std::string skip_reason{};        // why the cleaner leaves the log alone now; empty: it does not
  std::string quarantine_reason{};  // empty: not in quarantine
  std::int64_t quarantine_retry_ms = -1;
  std::vector<Damage> damaged{};
  bool fenced = false;        // a sync failed: no appends until the log has healed
  std::int64_t clock_ms = 0;  // the broker's clock when it answered

  static void fields(auto& walk) {
    walk("log_start", &PartitionStatus::log_start);
    walk("high_watermark", &PartitionStatus::high_watermark);
    walk("log_end", &PartitionStatus::log_end);
    walk("size_bytes", &PartitionStatus::size_bytes);
    walk("segments", &PartitionStatus::segments);
    walk("records", &PartitionStatus::records);
    walk("leader_epoch", &PartitionStatus::leader_epoch);
    walk("dirty_bytes", &PartitionStatus::dirty_bytes);
    walk("cleanable_bytes", &PartitionStatus::cleanable_bytes);
    walk("dirty_ratio_ppm", &PartitionStatus::dirty_ratio_ppm);
    walk("clean_end", &PartitionStatus::clean_end);
    walk("removed_tombstone_mark", &PartitionStatus::removed_tombstone_mark);
    walk("tombstones_waiting", &PartitionStatus::tombstones_waiting);
    walk("next_horizon_ms", &PartitionStatus::next_horizon_ms);
    walk("next_due_ms", &PartitionStatus::next_due_ms);
    walk("next_due_what", &PartitionStatus::next_due_what);
    walk("last_pass", &PartitionStatus::last_pass);
    walk("skip_reason", &PartitionStatus::skip_reason);
    walk("quarantine_reason", &PartitionStatus::quarantine_reason);
    walk("quarantine_retry_ms", &PartitionStatus::quarantine_retry_ms);
    walk("damaged", &PartitionStatus::damaged);
    walk("fenced", &PartitionStatus::fenced);
    walk("clock_ms", &PartitionStatus::clock_ms);
  }
};

}  // namespace lastword
