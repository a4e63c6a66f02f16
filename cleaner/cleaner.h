// SPDX-License-Identifier: Apache-2.0
// Everything that is due by the clock, for all logs: closing idle segments, retention, compaction,
// tombstone expiry, old files; and what was done, per partition.
//
// Purpose   run_due() is the whole of it as one step: tests call it with time moved by hand.
// start() runs
//           it on threads of its own: one scheduler that sleeps until the next moment at which
//           something is due (at most cleaner.interval_ms), and cleaner.threads that run passes.
// Threads   any thread may call any member. report() and wake_by() never block.
// Lifetime  ends (stop()) before the TopicStore does. stop() lets a pass end at its next batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/options.h"
#include "storage/topic_store.h"

namespace lastword::cleaner {

/// One pass over one log.
struct PassReport {
  TimestampMs at_ms = -1;  // start, broker's clock; -1: never
  std::int64_t took_ms = 0;
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  std::int64_t records_dropped = 0;     // superseded, keyless and expired ones
  std::int64_t tombstones_dropped = 0;  // expired ones among them
  std::int32_t segments_rewritten = 0;
  std::int32_t rounds = 0;  // parts that the key map's memory asked for
};

/// What a person wants to know of one partition.
struct PartitionReport {
  PassReport last_pass{};
  std::int64_t dirty_bytes = 0;
  std::int64_t cleanable_bytes = 0;
  double dirty_ratio = 0;
  std::int64_t tombstones_waiting = 0;  // stamped and not, closed segments and active one
  TimestampMs next_horizon_ms = -1;     // the earliest; -1: none
  TimestampMs next_due_ms = -1;         // -1: nothing is planned
  std::string
      next_due_what{};  // "close the active segment", "compact", "drop tombstones", "retention"
  std::string skip_reason{};  // why no pass now; empty when one is due or running
  std::string quarantine_reason{};
  TimestampMs quarantine_retry_ms = -1;
};

class Cleaner {
 public:
  /// `store` outlives the cleaner. `retained` is told of each log whose start moved or whose
  /// records went (so that the server can wake what waits on it); called without locks.
  Cleaner(storage::TopicStore& store, const BrokerOptions& options,
          std::function<void(const storage::PartitionPtr&)> changed);
  ~Cleaner();

  /// Does all that is due at this moment, on the calling thread, until nothing more is; returns the
  /// next moment at which something is (kUnlimited: nothing planned).
  TimestampMs run_due();

  void start();
  void stop();

  /// Something new may be due at `at_ms` (broker's clock); wakes the scheduler if it sleeps longer.
  void wake_by(TimestampMs at_ms);

  /// Settings of a reloaded file; takes effect at the next look.
  void set_options(const BrokerOptions& options);

  PartitionReport report(const storage::Partition& partition) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastword::cleaner
