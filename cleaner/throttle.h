// SPDX-License-Identifier: Apache-2.0
// Holds the cleaner's reads and writes below a rate.
//
// Purpose   cleaner.io_bytes_per_second_max, over all threads together: whoever has moved bytes
// beyond
//           what the time allows sleeps until it is in line again.
// Threads   any; take() sleeps, stop() wakes all who do.
// Lifetime  as long as the cleaner.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lastword::cleaner {

class Throttle {
 public:
  /// Bytes a second, above zero; kUnlimited never sleeps.
  explicit Throttle(std::int64_t bytes_per_second);

  void set_rate(std::int64_t bytes_per_second);
  /// Counts `bytes` that were moved, and sleeps as long as they ask for.
  void take(std::int64_t bytes);
  /// From now on nobody sleeps.
  void stop();
  /// Undoes stop().
  void resume();

 private:
  using Time = std::chrono::steady_clock::time_point;

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below: guarded by mutex_.
  std::int64_t bytes_per_second_;
  Time paid_until_{};  // moved bytes are in line with the rate at this moment
  bool stopped_ = false;
};

}  // namespace lastword::cleaner
