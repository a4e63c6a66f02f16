// SPDX-License-Identifier: Apache-2.0
// The producer snapshot of a partition: saved, loaded, and brought up to date from batch headers.
//
// Rule      a snapshot belongs to the manifest that names its end offset; none named means that
// there
//           were no producers below the recovery point. It is never ahead of the durable end.
// Threads   under the log's append lock, or before the log is shared. Waits for the disk.
// Lifetime  free functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/environment.h"
#include "storage/manifest.h"
#include "storage/producer_state.h"
#include "storage/segment.h"

namespace lastword::storage {

/// Writes the snapshot of what ends below `end`; empty if there are no producers.
Result<std::optional<Offset>> save_producers(const Environment& env, const std::string& directory,
                                             const ProducerState& producers, Offset end);

struct ProducerSource {
  std::string name{};  // of the partition, for messages
  std::string directory{};
  const Manifest& manifest;             // snapshot, recovery point, damaged ranges
  std::vector<SegmentInfo> segments{};  // ascending
  std::uint64_t recovery_position = 0;  // of the recovery point in the last of them
  Offset end = 0;                       // nothing at or behind it counts
};

/// The snapshot with the batches behind it. Without a usable snapshot: all batches that the log
/// still has, with a line in the report.
Result<ProducerState> load_producers(const Environment& env, const ProducerSource& source);

}  // namespace lastword::storage
