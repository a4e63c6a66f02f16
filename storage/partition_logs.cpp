// SPDX-License-Identifier: Apache-2.0
#include "storage/partition_logs.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "storage/file_names.h"

namespace lastword::storage {
namespace {

constexpr int kClosingThreads = 4;
constexpr std::int64_t kFirstPauseMs = 10 * kSecondMs;
constexpr std::int64_t kLongestPauseMs = 10 * kMinuteMs;

/// Calls `work(i)` for each i below `count`, on this thread and others.
template <class Work>
void in_parallel(std::size_t count, int threads, Work work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < std::min(threads, static_cast<int>(std::min<std::size_t>(count, 64))); ++i) {
    helpers.emplace_back(run);
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

/// The first failure that any thread notes.
class FirstFailure {
 public:
  void note(Result<> result) EXCLUDES(mutex_) {
    if (result) return;
    Lock lock(mutex_);
    if (!error_) error_ = result.take_error();
  }
  Result<> result() EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return error_ ? Result<>(*error_) : Result<>();
  }

 private:
  Mutex mutex_;
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

}  // namespace

PartitionLogs::PartitionLogs(const Environment& env, const std::string& data_directory)
    : env_(env), folders_(env, data_directory) {}

Result<> PartitionLogs::open(const std::vector<PartitionToOpen>& partitions, int threads) {
  FirstFailure failure;
  in_parallel(partitions.size(), threads, [&](std::size_t i) {
    if (!stopped_.load()) failure.note(open_one(partitions[i]));
  });
  return failure.result();
}

void PartitionLogs::open_again(std::vector<PartitionToOpen> failed) {
  std::erase_if(failed, [this](const PartitionToOpen& one) { return !is_due(*one.partition); });
  static_cast<void>(open(failed, 1));  // kept and reported there
}

bool PartitionLogs::is_due(const Partition& partition) const {
  Lock lock(failures_mutex_);
  const auto found = failures_.find(&partition);
  if (found == failures_.end() || found->second.count < 2) return true;
  const std::int64_t pause_ms =
      backed_off_ms(found->second.count - 1, kFirstPauseMs, kLongestPauseMs);
  const TimestampMs now = env_.clock.now_ms();
  return wait_ends_ms(found->second.last_ms, pause_ms, now) <= now;
}

Result<> PartitionLogs::open_one(const PartitionToOpen& wanted) {
  Partition& partition = *wanted.partition;
  Lock opening(partition.opening_mutex_);
  if (partition.removed_ || partition.log()) return {};
  auto log =
      folders_.open_log(partition.topic, partition.index, partition.topic_id, wanted.options);
  if (!log) {
    note_failure(partition, log.error().text);
    return log.take_error();
  }
  {
    Lock lock(failures_mutex_);
    failures_.erase(&partition);
  }
  Lock lock(partition.mutex_);
  partition.log_ = std::shared_ptr<Log>(*std::move(log));
  partition.failure_.clear();
  return {};
}

void PartitionLogs::note_failure(Partition& partition, const std::string& text) {
  {
    Lock lock(failures_mutex_);
    Failures& failures = failures_[&partition];
    failures = {.count = failures.count + 1, .last_ms = env_.clock.now_ms()};
  }
  {
    Lock lock(partition.mutex_);
    if (partition.failure_ == text) return;
    partition.failure_ = text;
  }
  env_.report(Severity::kError, "cannot open partition " +
                                    partition_directory_name(partition.topic, partition.index) +
                                    ": " + text + "; it is tried again");
}

PartitionLogs::TakenAway PartitionLogs::take_away(const std::vector<PartitionPtr>& partitions) {
  TakenAway taken;
  const auto note = [&](const Error& error) {
    taken.complete = false;
    env_.report(Severity::kWarning, error.text + "; it is tried again at the next start");
  };
  for (const PartitionPtr& partition : partitions) {
    Lock opening(partition->opening_mutex_);
    partition->removed_ = true;
    {
      Lock lock(failures_mutex_);
      failures_.erase(partition.get());
    }
    if (const auto log = partition->log()) log->abandon();
    const auto to = folders_.move_away(partition->topic, partition->index);
    if (to && !to->empty()) taken.folders.push_back(*to);
    if (!to) {
      note(to.error());
      folders_.note_removed(partition->topic_id);
    }
  }
  const auto synced = taken.folders.empty() ? Result<>() : folders_.sync();
  if (!synced) note(synced.error());
  return taken;
}

Result<> PartitionLogs::close(const std::vector<PartitionPtr>& partitions,
                              std::chrono::steady_clock::time_point until) {
  FirstFailure failure;
  in_parallel(partitions.size(), kClosingThreads, [&](std::size_t i) {
    const std::string name = partition_directory_name(partitions[i]->topic, partitions[i]->index);
    const auto log = partitions[i]->log();
    if (!log) {
      failure.note(Error{ErrorKind::kCancelled, "partition " + name + " was not open"});
    } else if (std::chrono::steady_clock::now() >= until) {
      failure.note(Error{ErrorKind::kCancelled, "no time was left to close partition " + name +
                                                    "; the next start recovers it"});
    } else {
      failure.note(log->close());
    }
  });
  return failure.result();
}

}  // namespace lastword::storage
