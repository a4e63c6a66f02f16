// SPDX-License-Identifier: Apache-2.0
#include "server/turns.h"

#include <algorithm>
#include <asio/this_coro.hpp>

namespace lastword::server {

Turns::Held::~Held() {
  for (const Key key : keys_) of_.give_back(key);
}

asio::awaitable<void> Turns::Held::take(std::vector<Key> keys) {
  // In one order for all, so that no two wait for each other.
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  keys_.reserve(keys.size());
  for (const Key key : keys) {
    co_await of_.take(key);
    keys_.push_back(key);
  }
}

asio::awaitable<void> Turns::take(Key key) {
  const auto executor = co_await asio::this_coro::executor;
  SleeperPtr sleeper;
  {
    const storage::Lock lock(mutex_);
    Queue& queue = queues_[key];
    if (queue.running < at_once_) {
      ++queue.running;
      co_return;
    }
    sleeper = std::make_shared<Sleeper>(executor);
    queue.waiting.push_back(sleeper);
  }
  // Left if the coroutine is destroyed while it sleeps.
  struct Place {
    Turns& of;
    Key key;
    const SleeperPtr& sleeper;
    bool taken = false;
    ~Place() {
      if (!taken && of.leave(key, sleeper)) of.give_back(key);
    }
  } place{*this, key, sleeper};
  while (!sleeper->woken()) co_await sleeper->sleep(std::chrono::steady_clock::time_point::max());
  place.taken = true;
}

void Turns::give_back(Key key) {
  const storage::Lock lock(mutex_);
  const auto found = queues_.find(key);
  Queue& queue = found->second;
  if (!queue.waiting.empty()) {
    queue.waiting.front()->wake();  // the turn is its own now
    queue.waiting.pop_front();
    return;
  }
  if (--queue.running == 0) queues_.erase(found);
}

bool Turns::leave(Key key, const SleeperPtr& sleeper) {
  const storage::Lock lock(mutex_);
  return std::erase(queues_.at(key).waiting, sleeper) == 0;
}

}  // namespace lastword::server
