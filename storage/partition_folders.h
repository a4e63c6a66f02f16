// SPDX-License-Identifier: Apache-2.0
// The folders of partitions: opening a log in one, taking one away, tidying up what a stop left.
//
// Purpose   the part of TopicStore that works on folders and knows nothing of its lists.
// Threads   any; one partition by one thread at a time.
// Lifetime  as long as the data directory is in use.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/environment.h"
#include "storage/log.h"
#include "storage/topics_file.h"

namespace lastword::storage {

class PartitionFolders {
 public:
  PartitionFolders(const Environment& env, std::string data_directory);

  std::string path(const std::string& topic, std::int32_t partition) const;

  /// For a data directory without a list of topics: kDamaged if there are partitions all the same.
  Result<> refuse_partitions() const;

  /// A topic that was removed, though not its folders: they may be moved away.
  void note_removed(const TopicId& id) EXCLUDES(mutex_);

  /// Opens or makes the log. A folder that belongs to a topic of the same name that was removed is
  /// moved away first; one of any other topic is kDamaged.
  Result<std::unique_ptr<Log>> open_log(const std::string& topic, std::int32_t partition,
                                        const TopicId& id,
                                        std::shared_ptr<const TopicOptions> options);

  /// Renames a folder, so that its name is free; where it is now, empty if there was none. Durable
  /// only with sync().
  Result<std::string> move_away(const std::string& topic, std::int32_t partition);
  Result<> sync();
  /// Removes a folder that was moved away. A failure is reported; the next start tries again.
  void remove(const std::string& moved);

  /// At start, from a list of the data directory: removes temporary files, moves away the folders
  /// of removed topics that are still there (and strikes those topics from the list), and warns
  /// once of folders that no topic has. Returns the folders to remove().
  std::vector<std::string> tidy(TopicsFile& topics);

 private:
  bool belongs_to_removed(const std::string& folder) const EXCLUDES(mutex_);
  bool move_away_removed(const RemovedTopic& topic, std::set<std::string>& unknown,
                         std::vector<std::string>& moved);
  void warn_of_unknown(const std::vector<std::string>& names) const;

  const Environment& env_;
  const std::string data_directory_;
  mutable Mutex mutex_;
  std::set<TopicId> removed_ GUARDED_BY(mutex_);
};

}  // namespace lastword::storage
