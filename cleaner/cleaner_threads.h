// SPDX-License-Identifier: Apache-2.0
// The cleaner's threads: one scheduler that looks when something is due, and those that run passes.
//
// Threads   the scheduler never waits for a pass, nor a pass for the scheduler. mutex_ guards all
// that
//           they tell each other, and is not held while anybody works.
// Lifetime  between start() and stop(). stop() returns when all have ended.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "cleaner/work.h"
#include "storage/clock.h"

namespace lastword::cleaner {

class CleanerThreads {
 public:
  CleanerThreads(Work& work, const storage::Clock& clock) : work_(work), clock_(clock) {}
  ~CleanerThreads() { stop(); }

  void start();
  void stop();
  /// The scheduler looks at `at_ms`, if it was going to sleep longer. Never blocks.
  void wake_by(TimestampMs at_ms);
  /// After a change of options: starts more threads for passes, or lets some end after their pass.
  void apply_options();

 private:
  struct Cleaner {
    std::thread thread{};
    bool ended = true;
  };

  void schedule();
  void sleep(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds at_most);
  void clean(std::size_t index);
  void start_cleaners(std::size_t count);

  Work& work_;
  const storage::Clock& clock_;
  std::thread scheduler_{};

  std::mutex mutex_;
  std::condition_variable scheduler_woken_;
  std::condition_variable cleaners_woken_;
  // All below: guarded by mutex_.
  bool running_ = false;
  bool look_again_ = false;
  TimestampMs sleep_until_ms_ = kUnlimited;
  std::uint64_t passes_wanted_ = 0;  // how often the scheduler has called for passes
  std::size_t cleaners_wanted_ = 0;
  std::vector<Cleaner> cleaners_{};
};

}  // namespace lastword::cleaner
