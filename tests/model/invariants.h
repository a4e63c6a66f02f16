// SPDX-License-Identifier: Apache-2.0
// What must hold of one log between two observations, as functions of values.
//
// Rules     offsets      log start, high watermark, log end and mark never go back; log start moves
//                        only by retention, for records that are old enough, or by size
//           records      each one equals what was sent at its offset; none comes back
//           what lacks   only below clean end, only by a pass, and only because a newer record of
//                        its key lies below clean end, it has no key, or it is a tombstone whose
//                        stamped horizon is over (then no older value of its key is left)
//           clean part   below clean end each key stands once, and every tombstone is stamped
//           horizons     pass start + delete.retention.ms when first seen, and never changed
//           mark         behind every tombstone that went because its time was up; it moves to no
//                        other place
//           table        the newest record of each key decides what a reader ends with
//           in time      once all that is due was done: no tombstone beyond horizon and slack, no
//                        record dirty beyond max.compaction.lag.ms, none beyond retention.ms, an
//                        idle log is clean
// Threads   pure functions.
// Lifetime  values.
#pragma once

#include <string>

#include "tests/model/model.h"
#include "tests/model/observation.h"

namespace lastword::model {

/// What happened to one partition between two observations.
struct Step {
  const PartitionModel& model;
  const Observation& before;
  const Observation& after;
  bool passes = false;     // passes and retention may have run
  bool settled = false;    // all that was due was done, and nothing stood in its way
  bool restarted = false;  // unsynced records may be gone
};

/// Empty, or what is wrong.
std::string broken_invariant(const Step& step);

/// How many tombstones went because their time was up.
std::size_t expired_tombstones(const Step& step);

}  // namespace lastword::model
