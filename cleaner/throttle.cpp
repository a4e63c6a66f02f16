// SPDX-License-Identifier: Apache-2.0
#include "cleaner/throttle.h"

#include <algorithm>

#include "config/options.h"

namespace lastword::cleaner {

Throttle::Throttle(std::int64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

void Throttle::set_rate(std::int64_t bytes_per_second) {
  const std::lock_guard lock(mutex_);
  bytes_per_second_ = bytes_per_second;
  paid_until_ = {};
  changed_.notify_all();
}

void Throttle::take(std::int64_t bytes) {
  using Seconds = std::chrono::duration<double>;
  std::unique_lock lock(mutex_);
  if (bytes_per_second_ == kUnlimited || bytes_per_second_ <= 0) return;
  const Seconds cost(static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
  paid_until_ = std::max(paid_until_, std::chrono::steady_clock::now()) +
                std::chrono::duration_cast<Time::duration>(cost);
  const Time until = paid_until_;
  // A new rate sets paid_until_ back, and the wait under the old one ends.
  changed_.wait_until(lock, until, [this, until] { return stopped_ || paid_until_ < until; });
}

void Throttle::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void Throttle::resume() {
  const std::lock_guard lock(mutex_);
  stopped_ = false;
}

}  // namespace lastword::cleaner
