// SPDX-License-Identifier: Apache-2.0
// Time, as the broker sees it; tests move it by hand, demos let it run fast.
//
// Threads   any.
// Lifetime  outlives everything that was given a reference to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "config/options.h"

namespace lastword::storage {

/// Sum that stays at kUnlimited, for moments "so long after".
inline std::int64_t later(std::int64_t moment_ms, std::int64_t by_ms) {
  return moment_ms > kUnlimited - by_ms ? kUnlimited : moment_ms + by_ms;
}

/// When a wait that began at `since_ms` is over. A beginning that never was (-1) or lies ahead,
/// because the clock has gone back since, is over now: no wait grows by what the clock jumps.
inline std::int64_t wait_ends_ms(std::int64_t since_ms, std::int64_t wait_ms, std::int64_t now_ms) {
  return since_ms < 0 || since_ms > now_ms ? now_ms : later(since_ms, wait_ms);
}

/// How long to wait after so many failures in a row (at least one): `first_ms`, doubled each time.
inline std::int64_t backed_off_ms(int failures, std::int64_t first_ms, std::int64_t longest_ms) {
  constexpr int kDoublingsMax = 10;
  return std::min(first_ms << std::clamp(failures - 1, 0, kDoublingsMax), longest_ms);
}

class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since 1970. May step with the system's clock.
  virtual std::int64_t now_ms() const = 0;
  /// How long a wait of `broker_ms` on this clock takes in real time.
  virtual std::chrono::milliseconds real_wait(std::int64_t broker_ms) const = 0;
};

/// The system's clock, or one that started at it and runs `speed` times as fast.
class SystemClock : public Clock {
 public:
  explicit SystemClock(double speed = 1.0);
  std::int64_t now_ms() const override;
  std::chrono::milliseconds real_wait(std::int64_t broker_ms) const override;

 private:
  const double speed_;
  const std::int64_t start_ms_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace lastword::storage
