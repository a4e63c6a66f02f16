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

}  // namespace

Quarantine quarantined(const std::optional<Quarantine>& before, const Error& error, TimestampMs now,
                       std::shared_ptr<const TopicOptions> options) {
  Quarantine after;
  after.reason = error.text;
  after.since_ms = before ? before->since_ms : now;
  after.failures = before ? before->failures + 1 : 1;
  after.failed_ms = now;
  const BackOff wait = back_off(error.kind);
  after.retry_ms =
      storage::later(now, storage::backed_off_ms(after.failures, wait.first_ms, wait.longest_ms));
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
  return failures == 0 ? 0 : storage::backed_off_ms(failures, kSecondMs, kMinuteMs);
}

}  // namespace lastword::cleaner
