// SPDX-License-Identifier: Apache-2.0
// One pass over one log.
//
//   key map     the newest offset of each key in [first dirty, map end): up to the active segment,
//   or
//               until the map is full
//   copy        every closed segment below map end, oldest first, goes through the filter. As long
//   as
//               nothing goes from a segment nothing is written; at the first change what came
//               before is copied as it is, and the rest follows. Neighbours that both change become
//               one where they fit. Each group is put in place by one commit before the next begins
//   clean end   becomes map end
//   ...         the next round, from map end on, if the map was too small
//   merge       small neighbours become one (grouping.h)
//
// A crash, an error or a cancelled pass leaves the groups that were committed, and costs the work
// only. Because the oldest go first, a tombstone is stamped only after every older value of its key
// is durably gone; and it is dropped only by a later pass.
//
// Threads   one pass a log at a time, on any thread.
// Lifetime  everything that PassInput refers to outlives run_pass().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cleaner/choose.h"
#include "cleaner/cleaner.h"
#include "cleaner/key_map.h"
#include "cleaner/throttle.h"
#include "storage/log.h"

namespace lastword::cleaner {

struct PassInput {
  storage::Log& log;
  const storage::Environment& env;
  HashKey hash_key{};
  std::int64_t map_bytes_max = 0;
  std::size_t decompressed_bytes_max = 0;
  Throttle& throttle;
  std::function<bool()> cancelled{};  // asked before every batch
  std::function<bool()> wanted{};     // asked before every commit, of which there are few
};

struct PassOutcome {
  PassReport report{};
  std::size_t segments_before = 0;  // closed ones
  std::size_t segments_after = 0;
  std::int64_t keyless_dropped = 0;
  bool cancelled = false;        // by the caller, or because the log went or was cut meanwhile
  std::optional<Error> error{};  // what was committed before stays
};

/// Runs the pass that `what` calls for: up to its first_uncleanable; for PassReason::kHorizon, only
/// over segments whose earliest horizon is reached.
PassOutcome run_pass(const PassInput& input, const Cleanability& what);

/// Reads the damaged ranges of the log again and takes out those that are good now. The first that
/// still stands is the error (kDamaged).
Result<> verify_damage(const PassInput& input);

/// Reads all closed segments to their ends and lists whatever is damaged in them, so that readers
/// skip it: passes and verifications stop at the first. An error says that not all were read.
Result<> survey_damage(const PassInput& input);

}  // namespace lastword::cleaner
