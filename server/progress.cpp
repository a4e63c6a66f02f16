// SPDX-License-Identifier: Apache-2.0
#include "server/progress.h"

#include <algorithm>
#include <asio/this_coro.hpp>
#include <atomic>
#include <unordered_map>

#include "server/sleeper.h"
#include "storage/mutex.h"

namespace lastword::server {

class Progress::Impl {
 public:
  void add(const storage::Partition* partition, const SleeperPtr& sleeper) EXCLUDES(mutex_) {
    const storage::Lock lock(mutex_);
    sleepers_[partition].push_back(sleeper);
  }

  void remove(const storage::Partition* partition, const SleeperPtr& sleeper) EXCLUDES(mutex_) {
    const storage::Lock lock(mutex_);
    const auto found = sleepers_.find(partition);
    if (found == sleepers_.end()) return;
    std::erase(found->second, sleeper);
    if (found->second.empty()) sleepers_.erase(found);
  }

  void notify(const storage::Partition* partition) EXCLUDES(mutex_) {
    const storage::Lock lock(mutex_);
    const auto found = sleepers_.find(partition);
    if (found == sleepers_.end()) return;
    for (const SleeperPtr& sleeper : found->second) sleeper->wake();
  }

  void stop() EXCLUDES(mutex_) {
    stopped_ = true;
    const storage::Lock lock(mutex_);
    for (const auto& [partition, sleepers] : sleepers_) {
      for (const SleeperPtr& sleeper : sleepers) sleeper->wake();
    }
  }

  bool stopped() const { return stopped_; }

 private:
  storage::Mutex mutex_;
  std::unordered_map<const storage::Partition*, std::vector<SleeperPtr>> sleepers_
      GUARDED_BY(mutex_);
  std::atomic<bool> stopped_{false};
};

Progress::Progress() : impl_(std::make_unique<Impl>()) {}
Progress::~Progress() = default;

void Progress::notify(const storage::Partition& partition) { impl_->notify(&partition); }

void Progress::notify_all_and_stop() { impl_->stop(); }

bool Progress::stopped() const { return impl_->stopped(); }

asio::awaitable<bool> Progress::wait(std::vector<storage::PartitionPtr> partitions, Until until,
                                     std::function<bool()> ready) {
  if (ready()) co_return true;
  const auto sleeper = std::make_shared<Sleeper>(co_await asio::this_coro::executor);

  // Undone however the coroutine ends, also when it is destroyed while it sleeps.
  struct Registration {
    Impl& impl;
    const std::vector<storage::PartitionPtr>& partitions;
    const SleeperPtr& sleeper;
    Registration(Impl& hub, const std::vector<storage::PartitionPtr>& of, const SleeperPtr& who)
        : impl(hub), partitions(of), sleeper(who) {
      for (const auto& partition : partitions) impl.add(partition.get(), sleeper);
    }
    ~Registration() {
      for (const auto& partition : partitions) impl.remove(partition.get(), sleeper);
    }
  } const registration(*impl_, partitions, sleeper);

  while (true) {
    sleeper->doze();
    if (ready()) co_return true;
    if (impl_->stopped() && until.at_stop == AtStop::kReturn) co_return false;
    if (std::chrono::steady_clock::now() >= until.deadline) co_return false;
    co_await sleeper->sleep(until.deadline);
  }
}

}  // namespace lastword::server
