// SPDX-License-Identifier: Apache-2.0
// What the cleaner does, without the question on which thread: one look at everything that is due,
// and one pass over the log that needs it most.
//
// Threads   any thread may call any member. look() is for one thread at a time; run_next_pass()
// runs on
//           several, never two on one log. mutex_ guards what is remembered, never across I/O.
// Lifetime  ends before the TopicStore does.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cleaner/compact.h"
#include "cleaner/partition_state.h"
#include "cleaner/retention.h"
#include "cleaner/throttle.h"
#include "storage/mutex.h"
#include "storage/topic_store.h"

namespace lastword::cleaner {

class Work {
 public:
  using Changed = std::function<void(const storage::PartitionPtr&)>;
  Work(storage::TopicStore& store, const BrokerOptions& options, Changed changed);

  struct Look {
    TimestampMs next_due_ms = kUnlimited;  // later than the look; passes that may run now left out
    bool pass_wanted = false;
  };
  /// Heals fenced logs, closes idle segments, applies retention, syncs by flush.ms, removes old
  /// files and forgotten producers, opens logs that failed before, refills the disk reserve; says
  /// when the next of all that is due, and lists the passes that are wanted.
  Look look();

  /// Runs the pass that the last look found to be needed most, to its end; false if none is left.
  bool run_next_pass();

  /// Passes end at their next batch, until resume().
  void cancel();
  void resume();

  void set_options(const BrokerOptions& options);
  BrokerOptions options() const;
  PartitionReport report(const storage::Partition& partition) const;

 private:
  /// One partition at the moment of a look.
  struct Candidate {
    storage::PartitionPtr partition{};
    std::shared_ptr<storage::Log> log{};
    storage::LogView view{};
    Cleanability cleanability{};
    bool held = false;    // in quarantine, for now
    bool verify = false;  // damage stands, and is to be read again
    bool wants_pass() const {
      return !held && (verify || cleanability.reason != PassReason::kNone);
    }
  };

  TimestampMs now() const { return store_.environment().clock.now_ms(); }
  void line(storage::Severity severity, const std::string& text) const;
  std::vector<storage::PartitionPtr> listed() const;
  void forget_others(std::vector<storage::PartitionPtr> partitions) EXCLUDES(mutex_);
  PartitionState state_of(const storage::Partition& partition) const EXCLUDES(mutex_);
  template <class Change>
  void change_state(const storage::PartitionPtr& partition, Change change) EXCLUDES(mutex_) {
    storage::Lock lock(mutex_);
    PartitionState& state = states_[partition.get()];
    state.partition = partition;
    change(state);
  }

  TimestampMs look_at(const storage::PartitionPtr& partition, storage::Log& log, TimestampMs at_ms);
  TimestampMs heal(const storage::PartitionPtr& partition, storage::Log& log, TimestampMs at_ms);
  TimestampMs flush(const storage::PartitionPtr& partition, storage::Log& log, TimestampMs at_ms);
  TimestampMs close_active(storage::Log& log, TimestampMs at_ms);
  TimestampMs retain(const storage::PartitionPtr& partition, storage::Log& log, TimestampMs at_ms);
  void warn_of_future(const storage::PartitionPtr& partition, const storage::Log& log,
                      const std::vector<FutureTimestamp>& future);
  void look_at_store(TimestampMs at_ms);

  std::optional<Candidate> candidate(const storage::PartitionPtr& partition, TimestampMs at_ms);
  void list_passes(std::vector<Candidate> wanted) EXCLUDES(mutex_);
  storage::PartitionPtr next_listed() EXCLUDES(mutex_);
  std::optional<Candidate> take_best() EXCLUDES(mutex_);
  void run(const Candidate& candidate);
  bool exists(const storage::PartitionPtr& partition) const;
  bool still_wanted(const Candidate& candidate) const;
  void survey(const Candidate& candidate, const PassInput& input, const Error& error);
  void finish(const Candidate& candidate, const PassOutcome& outcome, std::int64_t real_ms);
  std::string pass_line(const Candidate& candidate, const PassOutcome& outcome,
                        std::int64_t real_ms) const;

  storage::TopicStore& store_;
  const Changed changed_;
  Throttle throttle_;
  std::atomic<bool> cancelled_{false};
  TimestampMs store_looked_at_ms_ = -1;  // by look() only

  mutable storage::Mutex mutex_;
  BrokerOptions options_ GUARDED_BY(mutex_);
  std::map<const storage::Partition*, PartitionState> states_ GUARDED_BY(mutex_);
  // By the last look; the one that goes first comes last.
  std::vector<storage::PartitionPtr> passes_ GUARDED_BY(mutex_);
};

}  // namespace lastword::cleaner
