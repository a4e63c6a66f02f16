// SPDX-License-Identifier: Apache-2.0
#include "cleaner/partition_state.h"

#include <algorithm>

namespace lastword::cleaner {
namespace {

struct BackOff {
  std::int64_t first_ms;
  std::int64_t longest_ms;
};

BackOff back_off(ErrorKind kind) {
  if (kind == ErrorKind::kDiskFull || kind == ErrorKind::kTooManyOpenFiles) {
    return {10 * kSecondMs, kMinuteMs};
  }
  return {kMinuteMs, kHourMs};
}

/// After so many failures in a row, at least one.
std::int64_t doubled(const BackOff& wait, int failures) {
  constexpr int kDoublingsMax = 10;
  return std::min(wait.first_ms << std::min(failures - 1, kDoublingsMax), wait.longest_ms);
}

}  // namespace

Quarantine quarantined(const std::optional<Quarantine>& before, const Error& error, TimestampMs now,
                       std::shared_ptr<const TopicOptions> options) {
  Quarantine after;
  after.reason = error.text;
  after.since_ms = before ? before->since_ms : now;
  after.failures = before ? before->failures + 1 : 1;
  after.failed_ms = now;
  after.retry_ms = storage::later(now, doubled(back_off(error.kind), after.failures));
  after.options = std::move(options);
  return after;
}

bool Survey::covers(const std::vector<storage::DamagedRange>& now, const Error& error) const {
  if (now.empty()) return error.text == reason;
  return std::all_of(now.begin(), now.end(), [this](const storage::DamagedRange& range) {
    return std::find(damaged.begin(), damaged.end(), range) != damaged.end();
  });
}

std::int64_t Healing::wait_ms() const {
  return failures == 0 ? 0 : doubled({kSecondMs, kMinuteMs}, failures);
}

}  // namespace lastword::cleaner
