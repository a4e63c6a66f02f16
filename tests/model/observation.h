// SPDX-License-Identifier: Apache-2.0
// Everything that a reader can see of a log at one moment.
//
// Threads   one; the log must stand still meanwhile.
// Lifetime  owns what it says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/log.h"
#include "tests/support/batches.h"

namespace lastword::model {

struct Observation {
  TimestampMs at_ms = 0;
  std::vector<BatchHeader> batches{};             // from log start to the high watermark
  std::map<Offset, test::OwnedRecord> records{};  // those at and behind log start
  std::map<Offset, TimestampMs> horizons{};       // of stamped batches, by base offset
  std::map<Offset, TimestampMs> waiting{};        // tombstones in them: when they may go
  storage::LogView view{};

  const storage::Offsets& offsets() const { return view.offsets; }
};

/// One answer to a reader, its batches with their checksums checked.
struct Answer {
  storage::ReadPlan plan{};
  Bytes bytes{};
  std::vector<BatchHeader> batches{};
  std::vector<test::OwnedRecord> records{};
};
Result<Answer> read(const storage::Log& log, Offset from, std::uint64_t bytes_max);

/// Reads from log start to the high watermark as a reader does: on from what each answer says.
Result<Observation> observe(const storage::Log& log, TimestampMs now);

/// Asks for every offset by itself, in answers of one batch each, and for timestamps.
Result<> observe_each_offset(const storage::Log& log, const Observation& whole);

}  // namespace lastword::model
