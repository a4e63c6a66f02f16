// SPDX-License-Identifier: Apache-2.0
// A clock that stands still until a test moves it.
//
// Threads   any.
// Lifetime  longer than what was given a reference to it.
#pragma once

#include <atomic>

#include "storage/clock.h"

namespace lastword::test {

class ManualClock : public storage::Clock {
 public:
  /// A Monday, 10:00 UTC, unless told otherwise.
  static constexpr std::int64_t kStartMs = 1'767'607'200'000;

  explicit ManualClock(std::int64_t now_ms = kStartMs) : now_ms_(now_ms) {}
  std::int64_t now_ms() const override { return now_ms_.load(); }
  /// No wait on this clock takes real time.
  std::chrono::milliseconds real_wait(std::int64_t) const override {
    return std::chrono::milliseconds(0);
  }

  void set(std::int64_t now_ms) { now_ms_.store(now_ms); }
  void advance(std::int64_t by_ms) { now_ms_.fetch_add(by_ms); }

 private:
  std::atomic<std::int64_t> now_ms_;
};

}  // namespace lastword::test
