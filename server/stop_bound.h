// SPDX-License-Identifier: Apache-2.0
// The longest that stopping may take.
//
// Purpose   a disk that hangs holds threads that nobody can wake or join. What was acknowledged is
//           on it, and the next start finds it: the process may leave.
// Threads   `late` runs on a thread of this object.
// Lifetime  lives as long as the stopping does; gone in time, it does nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace lastword::server {

class StopBound {
 public:
  /// Calls `late`, which ends the process, if this still lives after `time_max`.
  StopBound(std::chrono::milliseconds time_max, std::function<void()> late)
      : thread_([this, time_max, late = std::move(late)] {
          std::unique_lock lock(mutex_);
          if (!wake_.wait_for(lock, time_max, [this] { return stopped_; })) late();
        }) {}
  ~StopBound() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  StopBound(const StopBound&) = delete;
  StopBound& operator=(const StopBound&) = delete;

 private:
  std::mutex mutex_{};
  std::condition_variable wake_{};
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace lastword::server
