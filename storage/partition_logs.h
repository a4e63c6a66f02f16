// SPDX-License-Identifier: Apache-2.0
// Opens, hands on settings to, closes and takes away the logs of partitions, several at a time.
//
// Purpose   the part of TopicStore that works on partitions and knows nothing of its lists.
// Threads   any. A partition is opened or taken away by one thread at a time.
// Lifetime  as long as the data directory is in use.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/partition_folders.h"
#include "storage/topic_store.h"

namespace lastword::storage {

/// A partition and the settings to open it with.
struct PartitionToOpen {
  PartitionPtr partition{};
  std::shared_ptr<const TopicOptions> options{};
};

class PartitionLogs {
 public:
  PartitionLogs(const Environment& env, const std::string& data_directory);

  /// Opens those that are not open, `threads` at a time, until stop(). Reports each new failure.
  /// Returns the first one.
  Result<> open(const std::vector<PartitionToOpen>& partitions, int threads);
  /// The same for those that have failed, one at a time, each in its turn: at once after the first
  /// failure, then with pauses from ten seconds to ten minutes, since a try may read a whole log.
  void open_again(std::vector<PartitionToOpen> failed);
  /// open() begins no further log.
  void stop() { stopped_.store(true); }

  /// Where folders are now that are to be removed.
  struct TakenAway {
    std::vector<std::string> folders{};
    bool complete = true;  // all of them, durably; else the rest is reported, for the next start
  };
  /// Abandons the logs and moves their folders away.
  TakenAway take_away(const std::vector<PartitionPtr>& partitions);

  /// Closes the open ones; begins no further one after `until`. kCancelled for
  /// those, kStorage for partitions that were not open.
  Result<> close(const std::vector<PartitionPtr>& partitions,
                 std::chrono::steady_clock::time_point until);

  PartitionFolders& folders() { return folders_; }

 private:
  Result<> open_one(const PartitionToOpen& wanted);
  void note_failure(Partition& partition, const std::string& text);

  bool is_due(const Partition& partition) const EXCLUDES(failures_mutex_);

  const Environment& env_;
  PartitionFolders folders_;
  std::atomic<bool> stopped_{false};

  struct Failures {
    int count = 0;
    TimestampMs last_ms = -1;
  };
  mutable Mutex failures_mutex_;
  std::map<const Partition*, Failures> failures_ GUARDED_BY(failures_mutex_);
};

}  // namespace lastword::storage
