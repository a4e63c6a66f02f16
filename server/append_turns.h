// SPDX-License-Identifier: Apache-2.0
// Turns at appending: how many produces of one log may be on the disk pool at a time.
//
// Purpose   appends to one log wait for each other, and one that rolls waits for the disk. Without
//           turns a few producers of one slow log would hold every thread of the pool, and the
//           clients of all others would wait with them.
// Threads   any; whoever waits does so as a coroutine on its loop thread.
// Lifetime  outlives all connections. Logs that nobody writes to cost nothing.
#pragma once

#include <asio/awaitable.hpp>
#include <deque>
#include <unordered_map>
#include <vector>

#include "server/sleeper.h"
#include "storage/mutex.h"
#include "storage/topic_store.h"

namespace lastword::server {

class AppendTurns {
 public:
  /// One is on its way to a thread while the other appends.
  static constexpr int kAtOnce = 2;

  /// Turns of several partitions, given back when it goes.
  class Turns {
   public:
    explicit Turns(AppendTurns& of) : of_(of) {}
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    /// Waits for a turn of each; first come, first served.
    asio::awaitable<void> take(std::vector<storage::PartitionPtr> partitions);

   private:
    AppendTurns& of_;
    std::vector<storage::PartitionPtr> held_{};
  };

 private:
  struct Queue {
    int running = 0;
    std::deque<SleeperPtr> waiting{};
  };

  asio::awaitable<void> take(const storage::Partition* partition) EXCLUDES(mutex_);
  void give_back(const storage::Partition* partition) EXCLUDES(mutex_);
  /// True if the turn had been given to it.
  bool leave(const storage::Partition* partition, const SleeperPtr& sleeper) EXCLUDES(mutex_);

  storage::Mutex mutex_;
  std::unordered_map<const storage::Partition*, Queue> queues_ GUARDED_BY(mutex_);
};

}  // namespace lastword::server
