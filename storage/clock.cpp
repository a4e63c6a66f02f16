// SPDX-License-Identifier: Apache-2.0
#include "storage/clock.h"

#include <algorithm>
#include <cmath>

#include "protocol/check.h"

namespace lastword::storage {
namespace {

/// The longest wait that is ever answered: sleepers look again, and sums with it cannot overflow.
constexpr double kWaitMsMax = 24.0 * 3600 * 1000;

std::int64_t system_now_ms() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

}  // namespace

SystemClock::SystemClock(double speed)
    : speed_(speed), start_ms_(system_now_ms()), start_(std::chrono::steady_clock::now()) {
  LW_CHECK(speed > 0);
}

std::int64_t SystemClock::now_ms() const {
  if (speed_ == 1.0) return system_now_ms();
  const std::chrono::duration<double, std::milli> passed =
      std::chrono::steady_clock::now() - start_;
  return start_ms_ + static_cast<std::int64_t>(passed.count() * speed_);
}

std::chrono::milliseconds SystemClock::real_wait(std::int64_t broker_ms) const {
  const double real_ms = std::ceil(static_cast<double>(broker_ms) / speed_);
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::clamp(real_ms, 0.0, kWaitMsMax)));
}

}  // namespace lastword::storage
