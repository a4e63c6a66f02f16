// SPDX-License-Identifier: Apache-2.0
// Waiting for a partition to move: a produce for its records to be durable, a fetch for records to
// read.
//
// Purpose   the one place where requests sleep. Storage tells nobody anything; whoever learns of a
//           change as a value (the flusher after a sync, produce under durability os, the deletion
//           of a topic, a failed sync) calls notify().
// Threads   notify() from any thread; wait() on the loop thread of the connection that waits. A
//           lost wake-up cannot happen: wait() registers first and looks at the condition then.
// Lifetime  the hub outlives all connections. Partitions without waiters cost nothing.
#pragma once

#include <asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "storage/topic_store.h"

namespace lastword::server {

/// Whether a wait ends when the broker stops: a long poll does, a produce that waits for its sync
/// does not, since the sync still comes.
enum class AtStop { kReturn, kWaitOn };

class Progress {
 public:
  Progress();
  ~Progress();

  /// Wakes everyone who waits on `partition`; they look again.
  void notify(const storage::Partition& partition);
  /// Wakes everyone; at shutdown. Later waits with AtStop::kReturn return at once.
  void notify_all_and_stop();

  bool stopped() const;

  struct Until {
    std::chrono::steady_clock::time_point deadline{};
    AtStop at_stop = AtStop::kReturn;
  };
  /// Returns as soon as `ready` says so (asked now, and after each notify() of one of
  /// `partitions`), at the deadline, or when stopped. True if `ready` did. `ready` never blocks.
  asio::awaitable<bool> wait(std::vector<storage::PartitionPtr> partitions, Until until,
                             std::function<bool()> ready);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastword::server
