// SPDX-License-Identifier: Apache-2.0
// The real thing: a topic store and its cleaner over files in memory, with a model of each
// partition beside it.
//
// Purpose   starts, stops, crashes and compares. What is done in between, operations.h chooses.
// Threads   one.
// Lifetime  one seed.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleaner/cleaner.h"
#include "storage/topic_store.h"
#include "tests/model/invariants.h"
#include "tests/model/random.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"

namespace lastword::model {

/// How often the things happened that this test is about. None may be missing.
struct Coverage {
  std::uint64_t steps = 0;
  std::uint64_t records = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t refused = 0;
  std::uint64_t clean_restarts = 0;
  std::uint64_t kills = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t stopped_within = 0;  // of these: in the middle of an operation
  std::uint64_t fences = 0;
  std::uint64_t rounds = 0;  // beyond the first of a pass
  std::uint64_t expired = 0;
  std::uint64_t compacted_away = 0;
  std::uint64_t retained_away = 0;
  std::uint64_t table_compared = 0;
  std::uint64_t table_told = 0;

  void add(const Coverage& other);
  std::string text() const;
  /// The name of something that never happened; empty if there is none.
  std::string missing() const;
};

struct PartitionWorld {
  std::string topic{};
  std::int32_t index = 0;
  PartitionModel model{};
  Observation seen{};
  Offset acknowledged = 0;             // no crash may take what is below
  std::optional<SentBatch> pending{};  // it was being appended when everything stopped
};

/// What may have happened since the last comparison.
struct Since {
  bool passes = false;
  bool settled = false;
  bool restarted = false;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();

  // Each of these returns what is wrong, or nothing.

  std::string start();
  std::string stop_and_start();
  std::string crash(test::CrashKind kind);
  std::string compare(PartitionWorld& partition, const Since& since);
  std::string compare_all(const Since& since);
  std::string check_each_offset(PartitionWorld& partition);
  /// Everything due, now.
  std::string run_due();
  /// Syncs work again, and every fenced log goes on.
  std::string heal();
  /// Changes one setting of one topic.
  std::string apply(const BrokerOptions& changed);

  storage::Log& log(const PartitionWorld& partition) const { return *log_ptr(partition); }
  /// Something stands in the way of what should work.
  bool hindered(const PartitionWorld& partition) const;
  void fail_syncs(bool of_all_files, const PartitionWorld& partition);
  bool syncs_fail() const { return syncs_fail_; }
  bool pages_are_lost() const { return syncs_fail_ && lose_pages_; }
  bool survives_power_cuts() const { return options.durability == Durability::kFsync; }

  Random random;
  test::ManualClock clock{};
  test::MemoryFileSystem memory{&clock};
  BrokerOptions options{};
  std::vector<PartitionWorld> partitions{};
  std::vector<std::int64_t> producer_ids{};
  Coverage coverage{};
  std::deque<std::string> reports{};  // the last lines for the operator

 private:
  std::shared_ptr<storage::Log> log_ptr(const PartitionWorld& partition) const;
  std::string open();
  std::string resume(PartitionWorld& partition);
  std::string crash_again();
  std::string check_files(const PartitionWorld& partition) const;
  void stop();

  test::RecordingFileSystem files_{memory};
  std::unique_ptr<storage::TopicStore> store_{};
  std::unique_ptr<cleaner::Cleaner> cleaner_{};
  bool syncs_fail_ = false;
  bool lose_pages_ = false;
  bool had_failures_ = false;  // since the last start
  bool in_passes_ = false;     // also when everything stopped within
  bool may_lose_ = false;      // the power was cut since the last start
};

/// The topics of a world and their settings, by seed.
BrokerOptions random_options(Random& random);
/// Another value for a setting of one of the topics.
void change_setting(Random& random, BrokerOptions& options);

}  // namespace lastword::model
