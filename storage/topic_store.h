// SPDX-License-Identifier: Apache-2.0
// The data directory: its lock, its identity, the topics in it, and their logs.
//
// Promises  a topic that create() returned survives a crash; one that remove() took away never
// comes
//           back. Topic ids are random, never zero, and never used twice (KIP-516).
// Threads   any. Lookups never block; create, remove and changes are done one at a time.
// Lifetime  owns the Environment and every Log; a PartitionPtr keeps its log alive after remove().
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/environment.h"
#include "storage/log.h"

namespace lastword::storage {

/// One partition; its log is null until it is open (recovery after an unclean stop takes time) or
/// when it could not be opened.
class Partition {
 public:
  std::string topic{};
  std::int32_t index = 0;
  TopicId topic_id{};
  /// Null while loading or failed. Never blocks.
  std::shared_ptr<Log> log() const EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return log_;
  }
  /// Why it could not be opened; empty otherwise. Never blocks.
  std::string failure() const EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return failure_;
  }

 private:
  friend class PartitionLogs;
  Mutex opening_mutex_;  // held while the log is opened, or taken away
  bool removed_ GUARDED_BY(opening_mutex_) = false;
  mutable Mutex mutex_;  // for copying only
  std::shared_ptr<Log> log_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);
};
using PartitionPtr = std::shared_ptr<Partition>;

struct Topic {
  std::string name{};
  TopicId id{};
  std::map<std::string, std::string> overrides{};  // canonical names and values
  bool in_file = false;                            // the config file names it
  std::shared_ptr<const TopicOptions> options{};   // defaults of the broker with overrides
  std::vector<PartitionPtr> partitions{};
};
using TopicPtr = std::shared_ptr<const Topic>;

/// All topics at one moment.
struct Topics {
  std::map<std::string, TopicPtr> by_name{};
  std::map<TopicId, TopicPtr> by_id{};
};

class TopicStore {
 public:
  /// Takes the lock (kStorage naming the directory if another daemon has it), reads or makes
  /// identity and topics, makes or adapts the topics that `options.topics` names. Logs are not open
  /// yet. `clock`, `files` and what `report` refers to outlive the store.
  static Result<std::unique_ptr<TopicStore>> open(FileSystem& files, const Clock& clock,
                                                  const BrokerOptions& options, Report report);
  ~TopicStore();

  /// Opens the logs, `threads` at a time; returns when all are open or have failed. Failures are
  /// reported and retried by load_failed(), which is to be called now and then.
  void load(int threads);
  void load_failed();
  /// load() leaves folders of removed topics to a thread of its own; this waits until they are
  /// gone.
  void wait_until_tidy();
  /// From now on load() begins no further log; it returns soon.
  void stop_loading();

  /// Never blocks.
  std::shared_ptr<const Topics> topics() const;
  TopicPtr find(const std::string& name) const;
  TopicPtr find(const TopicId& id) const;
  PartitionPtr partition(const std::string& name, std::int32_t index) const;

  struct NewTopic {
    std::string name{};
    std::int32_t partitions = 1;
    std::map<std::string, std::string> overrides{};
  };
  /// Every check of create(), without creating: kTopicExists, kInvalidTopicName, kInvalidConfig,
  /// kInvalidPartitions, kPolicyViolation (limits.partitions).
  Result<TopicOptions> check(const NewTopic& topic) const;
  Result<TopicPtr> create(const NewTopic& topic);
  /// kUnknownTopic, kPolicyViolation for a topic that the config file names. Visible at once; files
  /// go when the last reader is done. Waits for logs of the topic that are being opened, and for
  /// those who use its folders: a pass ends at its next batch. With an `id`, a topic of that name
  /// with another one is unknown.
  Result<TopicPtr> remove(const std::string& name, const std::optional<TopicId>& id = {});

  /// After a reload of the config file: defaults change, topics named there are made or adapted,
  /// those no longer named keep their settings as their own. On failure nothing has changed; logs
  /// of new partitions that cannot be made yet are reported and retried, as at a start. Of the
  /// limits only `partitions` is taken over.
  Result<> apply(const BrokerOptions& options);

  /// A producer id that was never handed out, durable before it is returned (in blocks).
  Result<std::int64_t> next_producer_id();
  const std::string& cluster_id() const;              // 22 characters, stable
  const std::array<std::byte, 16>& hash_key() const;  // of the key map, random per directory
  DiskReserve& reserve();
  const Environment& environment() const;

  /// Closes every log and marks the directory as cleanly stopped. Begins with no further log after
  /// `until`: then kCancelled, and the next start recovers those. Nothing may be appended, created
  /// or changed any more.
  Result<> close(std::chrono::steady_clock::time_point until);

 private:
  class Impl;
  explicit TopicStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastword::storage
