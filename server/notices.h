// SPDX-License-Identifier: Apache-2.0
// Log lines about what clients do, rate limited, so that a hostile one cannot fill the disk.
//
// Threads   any.
// Lifetime  as long as connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/environment.h"
#include "storage/mutex.h"

namespace lastword::server {

/// Hands lines to the log: at most kLinesPerSecond, then a count of those left out.
class Notices {
 public:
  explicit Notices(storage::Report report) : report_(std::move(report)) {}
  void say(storage::Severity severity, const std::string& line);

  static constexpr std::int64_t kLinesPerSecond = 20;

 private:
  const storage::Report report_;
  storage::Mutex mutex_;
  std::chrono::steady_clock::time_point second_ GUARDED_BY(mutex_){};
  std::int64_t lines_ GUARDED_BY(mutex_) = 0;
  std::int64_t left_out_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lastword::server
