// SPDX-License-Identifier: Apache-2.0
// The part of Work that runs a pass: what it is given, what becomes of its outcome, and the line
// about it.
#include <algorithm>
#include <chrono>

#include "cleaner/retention.h"
#include "cleaner/work.h"

namespace lastword::cleaner {
namespace {

using storage::Severity;

constexpr unsigned kBatchesBetweenLooks = 16;

/// "1.5 MB"; decimal, as rates are.
std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kTenth = 100'000;
  if (bytes < kTenth) return std::to_string(bytes) + " bytes";
  const std::int64_t tenths = bytes / kTenth;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
}

/// "2 h", "3 min", "15 s", "40 ms".
std::string duration_text(std::int64_t ms) {
  if (ms >= 2 * kHourMs) return std::to_string(ms / kHourMs) + " h";
  if (ms >= 2 * kMinuteMs) return std::to_string(ms / kMinuteMs) + " min";
  if (ms >= 2 * kSecondMs) return std::to_string(ms / kSecondMs) + " s";
  return std::to_string(ms) + " ms";
}

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::int64_t steady_ms() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool Work::run_next_pass() {
  if (cancelled_) return false;
  const auto best = take_best();
  if (!best) return false;
  run(*best);
  return true;
}

void Work::cancel() {
  cancelled_ = true;
  throttle_.stop();
}

void Work::resume() {
  cancelled_ = false;
  throttle_.resume();
}

void Work::run(const Candidate& candidate) {
  const BrokerOptions options = this->options();
  unsigned asked = 0;
  PassInput input{
      .log = *candidate.log,
      .env = store_.environment(),
      .hash_key = store_.hash_key(),
      .map_bytes_max = options.cleaner.memory_bytes / std::max(options.cleaner.threads, 1),
      .decompressed_bytes_max = static_cast<std::size_t>(options.limits.decompressed_bytes),
      .throttle = throttle_,
      .cancelled =
          [this, &candidate, &asked] {
            return cancelled_ || (asked++ % kBatchesBetweenLooks == 0 && !still_wanted(candidate));
          },
      .wanted = [this, &candidate] { return still_wanted(candidate); }};
  const std::int64_t started_ms = steady_ms();
  PassOutcome outcome;
  if (candidate.verify) {
    if (auto verified = verify_damage(input); !verified) outcome.error = verified.take_error();
  } else {
    outcome = run_pass(input, candidate.cleanability);
  }
  const std::int64_t real_ms = steady_ms() - started_ms;
  if (outcome.error) survey(candidate, input, *outcome.error);
  if (outcome.error && !still_wanted(candidate)) {
    // Nobody waits for the next try.
    outcome.error.reset();
    outcome.cancelled = true;
  }
  finish(candidate, outcome, real_ms);
}

/// After damage that is new: what else is damaged gets listed. One that ends early is made at the
/// next try.
void Work::survey(const Candidate& candidate, const PassInput& input, const Error& error) {
  if (error.kind != ErrorKind::kDamaged || !still_wanted(candidate)) return;
  const auto before = state_of(*candidate.partition).survey;
  if (before && before->covers(input.log.view().damaged, error)) return;
  if (!survey_damage(input)) return;
  change_state(candidate.partition, [&](PartitionState& state) {
    state.survey = Survey{input.log.view().damaged, error.text};
  });
}

void Work::finish(const Candidate& candidate, const PassOutcome& outcome, std::int64_t real_ms) {
  const TimestampMs at_ms = now();
  const std::string& name = candidate.log->identity().name;
  std::optional<Error> error = outcome.error;
  if (error && error->kind == ErrorKind::kClosed) error.reset();
  if (!error && !outcome.cancelled && !candidate.verify) {
    // A pass that leaves its own reason behind would be run for ever.
    const Cleanability left = assess(candidate.log->view(), {at_ms, 0}, at_ms);
    if (left.reason == candidate.cleanability.reason &&
        left.first_dirty == candidate.cleanability.first_dirty &&
        left.earliest_horizon == candidate.cleanability.earliest_horizon) {
      error = Error{ErrorKind::kStorage, "a pass over " + name + " made no progress"};
    }
  }
  change_state(candidate.partition, [&](PartitionState& state) {
    state.running = false;
    if (!candidate.verify) {
      state.last_pass = outcome.report;
      state.last = {at_ms, outcome.report.took_ms};
    }
    if (error) {
      state.quarantine = quarantined(state.quarantine, *error, at_ms, candidate.view.options);
    } else if (!outcome.cancelled) {
      state.end_quarantine();
    }
  });
  if (error) {
    const auto quarantine = state_of(*candidate.partition).quarantine;
    line(Severity::kError,
         name + (candidate.verify ? ": is damaged: " : ": cannot be compacted: ") + error->text +
             "; next try in " + duration_text(quarantine->retry_ms - at_ms));
  }
  if (outcome.report.segments_rewritten > 0 && changed_) changed_(candidate.partition);
  if (!candidate.verify) line(Severity::kInfo, pass_line(candidate, outcome, real_ms));
}

std::string Work::pass_line(const Candidate& candidate, const PassOutcome& outcome,
                            std::int64_t real_ms) const {
  const PassReport& report = outcome.report;
  const std::int64_t moved = report.read_bytes + report.written_bytes;
  std::string text = candidate.log->identity().name + ": pass (" +
                     std::string(reason_name(candidate.cleanability.reason)) + ") read " +
                     size_text(report.read_bytes) + ", wrote " + size_text(report.written_bytes) +
                     " at " + std::to_string(moved / std::max<std::int64_t>(real_ms, 1) / 1000) +
                     " MB/s, dropped " + counted(report.records_dropped, "record") + ", " +
                     counted(report.tombstones_dropped, "expired tombstone") + " among them, " +
                     counted(static_cast<std::int64_t>(outcome.segments_before), "segment") +
                     " before, " + std::to_string(outcome.segments_after) + " after, " +
                     counted(report.rounds, "round") + ", took " + duration_text(real_ms);
  if (outcome.keyless_dropped > 0) {
    text += "; " + counted(outcome.keyless_dropped, "record") + " had no key";
  }
  if (outcome.cancelled) text += "; cancelled";
  const PartitionReport next = this->report(*candidate.partition);
  if (next.next_due_ms >= 0) {
    text += "; next: " + next.next_due_what + " in " +
            duration_text(std::max<std::int64_t>(0, next.next_due_ms - now()));
  }
  return text;
}

}  // namespace lastword::cleaner
