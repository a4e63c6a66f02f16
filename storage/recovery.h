// SPDX-License-Identifier: Apache-2.0
// Brings a partition's folder into a state that a log can go on from.
//
// Steps     manifest; what it does not list is removed; closed segments are looked at (below the
//           recovery point only their size, above it every byte); the active one is scanned from
//           the recovery point, its torn tail cut; producer state; and all that is made durable.
// Threads   before the log is shared. Waits for the disk.
// Lifetime  a free function.
#pragma once

#include <memory>
#include <vector>

#include "storage/log.h"
#include "storage/segment_writer.h"

namespace lastword::storage {

struct Recovered {
  Manifest manifest{};  // without the segments
  SegmentList closed{};
  std::unique_ptr<SegmentWriter> writer{};
  SegmentInfo active_row{};                 // the active segment as the manifest lists it
  std::vector<SegmentInfo> behind_fence{};  // segments behind the fenced one
  ProducerState producers;
  Offset log_end = 0;
  bool manifest_unsaved = false;  // of a fenced log: the one on disk does not tell all of it
};

/// Makes the partition if there is none. Running it again after a failure or a crash is safe. With
/// a fence, in the manifest or because a sync of what was found has failed, the writer stands at
/// the durable end, and what lies behind is untouched.
Result<Recovered> recover(const Environment& env, const Log::Identity& identity,
                          const TopicOptions& options);

}  // namespace lastword::storage
