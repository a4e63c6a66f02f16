// SPDX-License-Identifier: Apache-2.0
#include "server/progress.h"

#include <algorithm>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <unordered_map>

#include "storage/mutex.h"

namespace lastword::server {

namespace {

// The timer is the sleeper's bed: it belongs to the sleeper's loop thread and is only touched
// there.
struct Sleeper {
  explicit Sleeper(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::atomic<bool> woken{false};
};
using SleeperPtr = std::shared_ptr<Sleeper>;

void wake(const SleeperPtr& sleeper) {
  if (sleeper->woken.exchange(true)) return;  // one wake-up is under way already
  asio::post(sleeper->timer.get_executor(), [sleeper] { sleeper->timer.cancel(); });
}

}  // namespace

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
    for (const SleeperPtr& sleeper : found->second) wake(sleeper);
  }

  void stop() EXCLUDES(mutex_) {
    stopped_ = true;
    const storage::Lock lock(mutex_);
    for (const auto& [partition, sleepers] : sleepers_) {
      for (const SleeperPtr& sleeper : sleepers) wake(sleeper);
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
    sleeper->woken = false;
    if (ready()) co_return true;
    if (impl_->stopped() && until.at_stop == AtStop::kReturn) co_return false;
    if (std::chrono::steady_clock::now() >= until.deadline) co_return false;
    sleeper->timer.expires_at(until.deadline);
    // A wake-up between the look above and this wait has posted its cancel to this very thread,
    // which runs it only after the wait has begun.
    if (sleeper->woken) continue;
    asio::error_code ignored;
    co_await sleeper->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace lastword::server
