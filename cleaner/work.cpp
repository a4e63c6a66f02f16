// SPDX-License-Identifier: Apache-2.0
#include "cleaner/work.h"

#include <algorithm>
#include <utility>

#include "cleaner/retention.h"
#include "storage/clock.h"
#include "storage/disk_reserve.h"

namespace lastword::cleaner {
namespace {

using storage::later;
using storage::Log;
using storage::LogView;
using storage::Partition;
using storage::PartitionPtr;
using storage::Severity;
using storage::wait_ends_ms;

constexpr std::int64_t kExpireProducersEveryMs = 10 * kMinuteMs;
constexpr std::int64_t kLookAtStoreEveryMs = 10 * kSecondMs;

}  // namespace

Work::Work(storage::TopicStore& store, const BrokerOptions& options, Changed changed)
    : store_(store),
      changed_(std::move(changed)),
      throttle_(options.cleaner.io_bytes_per_second_max),
      options_(options) {}

void Work::line(Severity severity, const std::string& text) const {
  store_.environment().report(severity, text);
}

// ---- what is remembered --------------------------------------------------------------------

std::vector<PartitionPtr> Work::listed() const {
  std::vector<PartitionPtr> partitions;
  const auto topics = store_.topics();
  for (const auto& [name, topic] : topics->by_name) {
    partitions.insert(partitions.end(), topic->partitions.begin(), topic->partitions.end());
  }
  return partitions;
}

/// Keeps what is remembered of `partitions`, and of those that a pass runs over.
void Work::forget_others(std::vector<PartitionPtr> partitions) {
  std::sort(partitions.begin(), partitions.end());
  storage::Lock lock(mutex_);
  std::erase_if(states_, [&](const auto& entry) {
    const PartitionState& state = entry.second;
    return !state.running &&
           !std::binary_search(partitions.begin(), partitions.end(), state.partition);
  });
}

PartitionState Work::state_of(const Partition& partition) const {
  storage::Lock lock(mutex_);
  const auto found = states_.find(&partition);
  return found == states_.end() ? PartitionState{} : found->second;
}

void Work::set_options(const BrokerOptions& options) {
  throttle_.set_rate(options.cleaner.io_bytes_per_second_max);
  storage::Lock lock(mutex_);
  options_ = options;
}

BrokerOptions Work::options() const {
  storage::Lock lock(mutex_);
  return options_;
}

// ---- a look --------------------------------------------------------------------------------

Work::Look Work::look() {
  const TimestampMs at_ms = now();
  look_at_store(at_ms);
  Look result;
  const auto due = [&](TimestampMs moment) {
    // What is due and could not be done is tried again at the next look, not at once.
    if (moment > at_ms) result.next_due_ms = std::min(result.next_due_ms, moment);
  };
  std::vector<Candidate> wanted;
  const std::vector<PartitionPtr> partitions = listed();
  forget_others(partitions);
  for (const PartitionPtr& partition : partitions) {
    const auto log = partition->log();
    if (!log) continue;
    due(look_at(partition, *log, at_ms));
    auto looked_at = candidate(partition, at_ms);
    if (!looked_at) continue;
    if (looked_at->wants_pass()) {
      wanted.push_back(*std::move(looked_at));
    } else if (looked_at->held) {
      due(state_of(*partition).quarantine.value_or(Quarantine{}).retry_ms);
    } else {
      due(looked_at->cleanability.next_due_ms);
    }
  }
  result.pass_wanted = !wanted.empty();
  list_passes(std::move(wanted));
  return result;
}

void Work::look_at_store(TimestampMs at_ms) {
  if (!store_.reserve().whole()) static_cast<void>(store_.reserve().refill());
  if (wait_ends_ms(store_looked_at_ms_, kLookAtStoreEveryMs, at_ms) > at_ms) return;
  store_looked_at_ms_ = at_ms;
  store_.load_failed();
}

/// Everything but compaction; returns when the next of it is due.
TimestampMs Work::look_at(const PartitionPtr& partition, Log& log, TimestampMs at_ms) {
  TimestampMs due = flush(partition, log, at_ms);
  due = std::min(due, heal(partition, log, at_ms));
  due = std::min(due, close_active(log, at_ms));
  due = std::min(due, retain(partition, log, at_ms));
  due = std::min(due, log.remove_old_files(at_ms));
  const TimestampMs expired_ms = state_of(*partition).producers_expired_ms;
  if (wait_ends_ms(expired_ms, kExpireProducersEveryMs, at_ms) <= at_ms) {
    log.expire_producers(at_ms);
    change_state(partition, [&](PartitionState& state) { state.producers_expired_ms = at_ms; });
  }
  return due;
}

/// Whoever produces has the flusher heal it; this is for a log that nobody writes to.
TimestampMs Work::heal(const PartitionPtr& partition, Log& log, TimestampMs at_ms) {
  const Healing before = state_of(*partition).healing;
  Healing after;
  if (log.offsets().fenced) {
    const TimestampMs due_ms = wait_ends_ms(before.failed_ms, before.wait_ms(), at_ms);
    if (due_ms > at_ms) return due_ms;
    if (auto healed = log.heal(); !healed) {
      after = {.failures = before.failures + 1, .failed_ms = at_ms};
      if (before.failures == 0 && healed.error().kind != ErrorKind::kClosed) {
        line(Severity::kError, log.identity().name + ": takes no writes, healing it is tried " +
                                   "again with growing pauses: " + healed.error().text);
      }
    } else if (changed_) {
      changed_(partition);
    }
  }
  if (after.failures != before.failures) {
    change_state(partition, [&](PartitionState& state) { state.healing = after; });
  }
  return after.failures == 0 ? kUnlimited : later(at_ms, after.wait_ms());
}

/// flush.ms. A sync that fails fences the log, or is tried again at the next look.
TimestampMs Work::flush(const PartitionPtr& partition, Log& log, TimestampMs at_ms) {
  const TimestampMs due_ms = log.flush_due_ms();
  if (due_ms > at_ms) return due_ms;
  auto synced = log.sync();
  if (!synced && synced.error().kind != ErrorKind::kClosed) {
    line(Severity::kError, log.identity().name + ": cannot be synced: " + synced.error().text);
  }
  if (changed_) changed_(partition);
  return log.flush_due_ms();
}

TimestampMs Work::close_active(Log& log, TimestampMs at_ms) {
  if (log.active_close_due_ms() > at_ms) return log.active_close_due_ms();
  auto closed = log.close_active_if_due(at_ms);
  if (!closed && closed.error().kind != ErrorKind::kClosed) {
    line(Severity::kWarning,
         log.identity().name + ": cannot close the active segment: " + closed.error().text);
  }
  return log.active_close_due_ms();
}

TimestampMs Work::retain(const PartitionPtr& partition, Log& log, TimestampMs at_ms) {
  const PartitionState state = state_of(*partition);
  const bool compacted = log.options()->cleanup_policy.compact;
  const bool checked_lately = wait_ends_ms(state.retention_checked_ms,
                                           options().retention_check_interval_ms, at_ms) > at_ms;
  if (!compacted && checked_lately && at_ms < state.retention_due_ms) {
    return state.retention_due_ms;
  }
  const RetentionVerdict verdict = apply_retention(log.view(), at_ms);
  warn_of_future(partition, log, verdict.future);
  if (verdict.log_start) {
    auto dropped = log.drop_before(*verdict.log_start);
    if (dropped) {
      line(Severity::kInfo, log.identity().name + ": retention moved log start to " +
                                std::to_string(*verdict.log_start));
      if (changed_) changed_(partition);
    } else if (dropped.error().kind != ErrorKind::kClosed) {
      line(Severity::kWarning, log.identity().name + ": retention failed: " + dropped.error().text);
    }
  }
  change_state(partition, [&](PartitionState& changed) {
    changed.retention_checked_ms = at_ms;
    changed.retention_due_ms = verdict.next_due_ms;
  });
  return verdict.next_due_ms;
}

void Work::warn_of_future(const PartitionPtr& partition, const Log& log,
                          const std::vector<FutureTimestamp>& future) {
  if (future.empty()) return;
  const Offset warned_of = state_of(*partition).warned_of_segment;
  for (const FutureTimestamp& one : future) {
    if (one.segment_base_offset <= warned_of) continue;
    line(Severity::kWarning, cleaner::describe(one, log.identity().name));
  }
  change_state(partition, [&](PartitionState& state) {
    state.warned_of_segment = std::max(warned_of, future.back().segment_base_offset);
  });
}

// ---- choice --------------------------------------------------------------------------------

/// Empty while the log is not open, or a pass over it runs.
std::optional<Work::Candidate> Work::candidate(const PartitionPtr& partition, TimestampMs at_ms) {
  const PartitionState state = state_of(*partition);
  Candidate result;
  result.partition = partition;
  result.log = partition->log();
  if (!result.log || state.running) return std::nullopt;
  result.view = result.log->view();
  result.cleanability = assess(result.view, state.last, at_ms);
  result.held = holds(state.quarantine, at_ms, result.view.options);
  result.verify = !result.view.damaged.empty();
  if (state.quarantine && !result.held && !result.wants_pass()) {
    // What it waited for is not asked for any more.
    change_state(partition, [](PartitionState& changed) { changed.end_quarantine(); });
  }
  return result;
}

void Work::list_passes(std::vector<Candidate> wanted) {
  std::sort(wanted.begin(), wanted.end(), [](const Candidate& a, const Candidate& b) {
    return goes_first(b.cleanability, a.cleanability);
  });
  std::vector<PartitionPtr> passes;
  for (Candidate& candidate : wanted) passes.push_back(std::move(candidate.partition));
  storage::Lock lock(mutex_);
  passes_ = std::move(passes);
}

/// Null when all have been taken.
PartitionPtr Work::next_listed() {
  storage::Lock lock(mutex_);
  if (passes_.empty()) return nullptr;
  PartitionPtr next = std::move(passes_.back());
  passes_.pop_back();
  return next;
}

/// The one that goes first, as it is now, marked as running. Only the last look weighs all against
/// each other: doing so before every pass would cost the square of their number.
std::optional<Work::Candidate> Work::take_best() {
  while (const PartitionPtr partition = next_listed()) {
    if (!exists(partition)) continue;
    auto best = candidate(partition, now());
    if (!best || !best->wants_pass()) continue;
    bool taken = false;
    change_state(partition,
                 [&](PartitionState& state) { taken = !std::exchange(state.running, true); });
    if (taken) return best;
  }
  return std::nullopt;
}

bool Work::exists(const PartitionPtr& partition) const {
  return store_.partition(partition->topic, partition->index) == partition;
}

bool Work::still_wanted(const Candidate& candidate) const {
  const bool asked_for = candidate.verify || candidate.log->options()->cleanup_policy.compact;
  return asked_for && exists(candidate.partition);
}

PartitionReport Work::report(const Partition& partition) const {
  PartitionReport report;
  const auto log = partition.log();
  if (!log) return report;
  const PartitionState state = state_of(partition);
  const LogView view = log->view();
  const TimestampMs at_ms = now();
  const Cleanability cleanability = assess(view, state.last, at_ms);
  report.last_pass = state.last_pass;
  report.dirty_bytes = cleanability.dirty_bytes;
  report.cleanable_bytes = cleanability.cleanable_bytes;
  report.dirty_ratio = cleanability.ratio;
  report.tombstones_waiting = view.active.stamped_tombstones + view.active.unstamped_tombstones;
  for (const auto& segment : *view.closed) {
    report.tombstones_waiting +=
        segment->info.stamped_tombstones + segment->info.unstamped_tombstones;
  }
  if (cleanability.earliest_horizon != storage::kNoHorizon) {
    report.next_horizon_ms = cleanability.earliest_horizon;
  }
  if (!state.running) report.skip_reason = cleanability.skip_reason;
  TimestampMs next = kUnlimited;
  const auto due = [&](TimestampMs moment, const std::string& what) {
    if (moment >= next) return;
    next = moment;
    report.next_due_what = what;
  };
  due(cleanability.next_due_ms, cleanability.next_due_what);
  due(log->active_close_due_ms(), "close the active segment");
  due(state.retention_due_ms, "retention");
  if (next != kUnlimited) report.next_due_ms = next;
  if (state.quarantine) {
    report.quarantine_reason = state.quarantine->reason;
    report.quarantine_retry_ms = state.quarantine->retry_ms;
    report.skip_reason = state.quarantine->reason;
  }
  return report;
}

}  // namespace lastword::cleaner
