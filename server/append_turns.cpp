// SPDX-License-Identifier: Apache-2.0
#include "server/append_turns.h"

#include <algorithm>
#include <asio/this_coro.hpp>

namespace lastword::server {

AppendTurns::Turns::~Turns() {
  for (const auto& partition : held_) of_.give_back(partition.get());
}

asio::awaitable<void> AppendTurns::Turns::take(std::vector<storage::PartitionPtr> partitions) {
  // In one order for all, so that no two wait for each other.
  std::ranges::sort(partitions);
  const auto repeated = std::ranges::unique(partitions);
  partitions.erase(repeated.begin(), repeated.end());
  held_.reserve(partitions.size());
  for (auto& partition : partitions) {
    co_await of_.take(partition.get());
    held_.push_back(std::move(partition));
  }
}

asio::awaitable<void> AppendTurns::take(const storage::Partition* partition) {
  const auto executor = co_await asio::this_coro::executor;
  SleeperPtr sleeper;
  {
    const storage::Lock lock(mutex_);
    Queue& queue = queues_[partition];
    if (queue.running < kAtOnce) {
      ++queue.running;
      co_return;
    }
    sleeper = std::make_shared<Sleeper>(executor);
    queue.waiting.push_back(sleeper);
  }
  // Left if the coroutine is destroyed while it sleeps.
  struct Place {
    AppendTurns& of;
    const storage::Partition* partition;
    const SleeperPtr& sleeper;
    bool taken = false;
    ~Place() {
      if (!taken && of.leave(partition, sleeper)) of.give_back(partition);
    }
  } place{*this, partition, sleeper};
  while (!sleeper->woken()) co_await sleeper->sleep(std::chrono::steady_clock::time_point::max());
  place.taken = true;
}

void AppendTurns::give_back(const storage::Partition* partition) {
  const storage::Lock lock(mutex_);
  const auto found = queues_.find(partition);
  Queue& queue = found->second;
  if (!queue.waiting.empty()) {
    queue.waiting.front()->wake();  // the turn is its own now
    queue.waiting.pop_front();
    return;
  }
  if (--queue.running == 0) queues_.erase(found);
}

bool AppendTurns::leave(const storage::Partition* partition, const SleeperPtr& sleeper) {
  const storage::Lock lock(mutex_);
  return std::erase(queues_.at(partition).waiting, sleeper) == 0;
}

}  // namespace lastword::server
