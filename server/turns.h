// SPDX-License-Identifier: Apache-2.0
// Turns at something that few may do at a time, such as appending to one log.
//
// Purpose   whoever waits for a lock, or for somebody who waits for the disk with one, holds a
//           thread of the disk pool. Without turns a few producers of one slow log, or a few
//           batches that unpack to much, would hold all of them, and everybody would wait.
// Threads   any; whoever waits does so as a coroutine on its loop thread.
// Lifetime  outlives all connections. Keys that nobody uses cost nothing.
#pragma once

#include <asio/awaitable.hpp>
#include <deque>
#include <unordered_map>
#include <vector>

#include "server/sleeper.h"
#include "storage/mutex.h"

namespace lastword::server {

class Turns {
 public:
  /// An address that stays somebody's as long as a turn is held or waited for.
  using Key = const void*;

  explicit Turns(int at_once) : at_once_(at_once) {}

  /// Turns that are given back when it goes.
  class Held {
   public:
    explicit Held(Turns& of) : of_(of) {}
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    /// Waits for a turn at each key; first come, first served. Once only.
    asio::awaitable<void> take(std::vector<Key> keys);

   private:
    Turns& of_;
    std::vector<Key> keys_{};
  };

 private:
  struct Queue {
    int running = 0;
    std::deque<SleeperPtr> waiting{};
  };

  asio::awaitable<void> take(Key key) EXCLUDES(mutex_);
  void give_back(Key key) EXCLUDES(mutex_);
  /// True if the turn had been given to it.
  bool leave(Key key, const SleeperPtr& sleeper) EXCLUDES(mutex_);

  const int at_once_;
  storage::Mutex mutex_;
  std::unordered_map<Key, Queue> queues_ GUARDED_BY(mutex_);
};

}  // namespace lastword::server
