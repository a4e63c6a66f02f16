// SPDX-License-Identifier: Apache-2.0
#include "cleaner/partition_state.h"

#include <algorithm>

#include "cleaner/retention.h"

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
  constexpr int kDoublingsMax = 10;
  Quarantine after;
  after.reason = error.text;
  after.since_ms = before ? before->since_ms : now;
  after.failures = before ? before->failures + 1 : 1;
  const BackOff wait = back_off(error.kind);
  const std::int64_t doubled = wait.first_ms << std::min(after.failures - 1, kDoublingsMax);
  after.retry_ms = later(now, std::min(doubled, wait.longest_ms));
  after.options = std::move(options);
  return after;
}

}  // namespace lastword::cleaner
