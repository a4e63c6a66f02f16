// SPDX-License-Identifier: Apache-2.0
// Group commit: makes logs durable, one fdatasync for all that wait on a log.
//
// Purpose   every append asks for a sync of its log; while one runs, all that came meanwhile wait
//           for the next. The new high watermark comes back as a value and wakes who waits
//           (progress.h). A failed sync fences the log; the flusher heals it again, with growing
//           pauses, also when it learns of a fence only by being asked for a sync.
// Threads   request() from any thread, never blocks. Syncs run on threads of its own.
// Lifetime  stop() after the last append and before the TopicStore closes; what was asked for is
//           synced.
#pragma once

#include <memory>

#include "server/progress.h"
#include "storage/topic_store.h"

namespace lastword::server {

class Flusher {
 public:
  Flusher(Progress& progress, storage::Report report, int threads);
  ~Flusher();

  /// `partition` has unsynced records.
  void request(const storage::PartitionPtr& partition);
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastword::server
