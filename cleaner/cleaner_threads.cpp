// SPDX-License-Identifier: Apache-2.0
#include "cleaner/cleaner_threads.h"

#include <algorithm>
#include <chrono>

namespace lastword::cleaner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSleepMin{1};

}  // namespace

void CleanerThreads::start() {
  const std::lock_guard lock(mutex_);
  if (running_) return;
  running_ = true;
  look_again_ = true;
  work_.resume();
  scheduler_ = std::thread([this] { schedule(); });
  start_cleaners(static_cast<std::size_t>(std::max(work_.options().cleaner.threads, 1)));
}

void CleanerThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!running_) return;
    running_ = false;
    scheduler_woken_.notify_all();
    cleaners_woken_.notify_all();
  }
  work_.cancel();
  scheduler_.join();
  // Nobody changes cleaners_ any more: only a running object starts more of them.
  for (Cleaner& cleaner : cleaners_) cleaner.thread.join();
  cleaners_.clear();
}

void CleanerThreads::wake_by(TimestampMs at_ms) {
  const std::lock_guard lock(mutex_);
  if (at_ms >= sleep_until_ms_) return;
  sleep_until_ms_ = at_ms;
  scheduler_woken_.notify_all();
}

void CleanerThreads::apply_options() {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  start_cleaners(static_cast<std::size_t>(std::max(work_.options().cleaner.threads, 1)));
  look_again_ = true;
  scheduler_woken_.notify_all();
  cleaners_woken_.notify_all();
}

/// With mutex_ held.
void CleanerThreads::start_cleaners(std::size_t count) {
  cleaners_wanted_ = count;
  if (cleaners_.size() < count) cleaners_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Cleaner& cleaner = cleaners_[i];
    if (!cleaner.ended) continue;
    if (cleaner.thread.joinable()) cleaner.thread.join();
    cleaner.ended = false;
    cleaner.thread = std::thread([this, i] { clean(i); });
  }
}

void CleanerThreads::schedule() {
  std::unique_lock lock(mutex_);
  while (running_) {
    look_again_ = false;
    sleep_until_ms_ = kUnlimited;
    lock.unlock();
    const Work::Look look = work_.look();
    const milliseconds at_most(work_.options().cleaner.interval_ms);
    lock.lock();
    if (look.pass_wanted) {
      ++passes_wanted_;
      cleaners_woken_.notify_all();
    }
    sleep_until_ms_ = std::min(sleep_until_ms_, look.next_due_ms);
    sleep(lock, at_most);
  }
}

/// Until sleep_until_ms_, which may come closer meanwhile, and `at_most` in real time.
void CleanerThreads::sleep(std::unique_lock<std::mutex>& lock, milliseconds at_most) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + at_most;
  while (running_ && !look_again_) {
    const TimestampMs now = clock_.now_ms();
    if (now >= sleep_until_ms_) return;
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (left <= milliseconds(0)) return;
    const milliseconds wait = clock_.real_wait(sleep_until_ms_ - now);
    scheduler_woken_.wait_for(lock, std::clamp(wait, kSleepMin, std::max(left, kSleepMin)));
  }
}

void CleanerThreads::clean(std::size_t index) {
  std::unique_lock lock(mutex_);
  std::uint64_t answered = 0;
  while (running_ && index < cleaners_wanted_) {
    if (answered == passes_wanted_) {
      cleaners_woken_.wait(lock);
      continue;
    }
    answered = passes_wanted_;
    lock.unlock();
    bool any = false;
    while (work_.run_next_pass()) any = true;
    lock.lock();
    if (any) {
      look_again_ = true;
      scheduler_woken_.notify_all();
    }
  }
  cleaners_[index].ended = true;
}

}  // namespace lastword::cleaner
