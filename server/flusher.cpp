// SPDX-License-Identifier: Apache-2.0
#include "server/flusher.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

namespace lastword::server {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::milliseconds(5000);

// What a worker is to do with one log.
struct Job {
  storage::PartitionPtr partition;
  bool retry = false;  // the last sync failed
};

// One log is worked on by one thread at a time; what is asked for meanwhile is one more run.
struct State {
  bool queued = false;
  bool running = false;
  bool again = false;
  bool failed = false;
  std::chrono::milliseconds pause = kFirstPause;
};

}  // namespace

class Flusher::Impl {
 public:
  Impl(Progress& progress, storage::Report report, int threads)
      : progress_(progress), report_(std::move(report)) {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Impl() { stop(); }

  void request(const storage::PartitionPtr& partition) {
    {
      const std::lock_guard lock(mutex_);
      State& state = states_[partition.get()];
      if (state.failed || state.queued) return;
      if (state.running) {
        state.again = true;
        return;
      }
      state.queued = true;
      queue_.push_back({partition});
    }
    wake_.notify_one();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) {
      if (worker.joinable()) worker.join();
    }
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      take_due_retries();
      if (queue_.empty()) {
        if (stopping_) return;
        sleep(lock);
        continue;
      }
      const Job job = std::move(queue_.front());
      queue_.pop_front();
      State& begun = states_[job.partition.get()];
      begun.queued = false;
      begun.running = true;
      begun.failed = false;  // appends that a heal lets in ask for a sync of their own
      lock.unlock();
      const bool good = job.retry ? retry(*job.partition) : sync(*job.partition);
      lock.lock();
      done(job, good);
    }
  }

  void sleep(std::unique_lock<std::mutex>& lock) {
    if (retries_.empty()) return wake_.wait(lock);
    // A copy: another thread may take the entry while this one sleeps.
    const SteadyClock::time_point until = retries_.begin()->first;
    wake_.wait_until(lock, until);
  }

  void take_due_retries() {
    while (!stopping_ && !retries_.empty() && retries_.begin()->first <= SteadyClock::now()) {
      queue_.push_back({retries_.begin()->second, true});
      retries_.erase(retries_.begin());
    }
  }

  bool sync(const storage::Partition& partition) {
    const auto log = partition.log();
    if (!log) return true;
    const auto offsets = log->sync();
    progress_.notify(partition);
    if (offsets || offsets.error().kind == ErrorKind::kClosed) return true;
    report_(storage::Severity::kError,
            log->identity().name +
                (log->offsets().fenced ? ": a sync failed, no record is accepted until one works: "
                                       : ": a sync could not be tried, it will be again: ") +
                offsets.error().text);
    return false;
  }

  bool retry(const storage::Partition& partition) {
    const auto log = partition.log();
    if (!log) return true;
    // Without a descriptor, for example, a sync fails and proves nothing about the disk.
    if (!log->offsets().fenced) return sync(partition);
    const auto offsets = log->heal();
    progress_.notify(partition);
    if (!offsets) return offsets.error().kind == ErrorKind::kClosed;
    report_(storage::Severity::kWarning,
            log->identity().name + ": syncs work again, records are accepted from offset " +
                std::to_string(offsets->log_end));
    return true;
  }

  void done(const Job& job, bool good) {
    State& state = states_[job.partition.get()];
    state.running = false;
    if (!good) {
      state.failed = true;
      state.again = false;
      retries_.emplace(SteadyClock::now() + state.pause, job.partition);
      state.pause = std::min(state.pause * 2, kLongestPause);
      wake_.notify_one();
      return;
    }
    if (!state.again) {
      states_.erase(job.partition.get());
      return;
    }
    state = State{.queued = true};
    queue_.push_back({job.partition});
  }

  Progress& progress_;
  const storage::Report report_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;                                                  // guarded by mutex_
  std::deque<Job> queue_;                                                  // guarded by mutex_
  std::unordered_map<const storage::Partition*, State> states_;            // guarded by mutex_
  std::multimap<SteadyClock::time_point, storage::PartitionPtr> retries_;  // guarded by mutex_
  std::vector<std::thread> workers_;
};

Flusher::Flusher(Progress& progress, storage::Report report, int threads)
    : impl_(std::make_unique<Impl>(progress, std::move(report), threads)) {}
Flusher::~Flusher() = default;

void Flusher::request(const storage::PartitionPtr& partition) { impl_->request(partition); }
void Flusher::stop() { impl_->stop(); }

}  // namespace lastword::server
