// SPDX-License-Identifier: Apache-2.0
// What a Log keeps in memory, as plain values: what is published, what a commit changes, what one
// look at it takes along.
//
// Threads   plain data; log_impl.h says which lock guards which.
// Lifetime  private to storage/log*.cpp. Lists are shared and never change.
#pragma once

#include <memory>
#include <vector>

#include "storage/log.h"
#include "storage/segment_writer.h"

namespace lastword::storage {

using LogDamageList = std::vector<DamagedRange>;

/// What readers see, all of one moment.
struct LogState {
  std::shared_ptr<const SegmentList> closed{};
  std::shared_ptr<SegmentWriter> writer{};  // only its published indexes may be looked at
  SegmentInfo active{};                     // as written
  SegmentInfo readable{};                   // the active segment below the high watermark
  SegmentInfo durable{};  // the segment with the durable end, up to it; the active one under fsync
  Offset durable_end = 0;
  Offsets offsets{};
  Offset clean_end = 0;
  std::shared_ptr<const LogDamageList> damaged{};
  std::shared_ptr<const std::vector<LeaderEpoch>> leader_epochs{};
  std::vector<SegmentPtr> unsynced{};  // closed without a sync (durability os)
  std::uint64_t unsynced_bytes = 0;    // appended since the last sync
  std::int64_t unsynced_records = 0;
  TimestampMs unsynced_since_ms = -1;  // not before it was the oldest that is not durable appended
  std::uint64_t unsaved_bytes = 0;     // appended since the last checkpoint
  bool closed_down = false;
};

/// Everything that one manifest write changes, before it does.
struct LogChange {
  Manifest manifest{};  // without the segments
  std::shared_ptr<const SegmentList> closed{};
  std::shared_ptr<SegmentWriter> writer{};
  SegmentInfo active_row{};
  std::vector<SegmentInfo> behind_fence{};
};

/// Up to where one sync makes things durable.
struct LogSyncPoint {
  std::vector<SegmentPtr> closed{};
  SegmentInfo active{};
  Offset end = 0;
  std::uint64_t bytes = 0;
  std::int64_t records = 0;
  TimestampMs at_ms = -1;
  bool needed = false;
};

/// A segment to read from, with what a reader must know of it.
struct LogPlace {
  SegmentInfo info{};
  std::shared_ptr<const LogDamageList> damaged{};
};
struct LogReadView {
  std::shared_ptr<const SegmentList> closed{};
  SegmentInfo readable{};
  std::shared_ptr<const LogDamageList> damaged{};
  Offsets offsets{};
  std::size_t count() const { return closed->size() + 1; }
  const SegmentInfo& info(std::size_t i) const {
    return i < closed->size() ? (*closed)[i]->info : readable;
  }
  LogPlace place(std::size_t i) const { return {info(i), damaged}; }
};

}  // namespace lastword::storage
