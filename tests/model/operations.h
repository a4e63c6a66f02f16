// SPDX-License-Identifier: Apache-2.0
// What happens to a world, step by step, by seed.
//
// Threads   one.
// Lifetime  one seed.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "tests/model/table_reader.h"
#include "tests/model/world.h"

namespace lastword::model {

class History {
 public:
  explicit History(std::uint64_t seed) : seed_(seed), world_(seed), random_(world_.random) {}

  /// Empty, or what went wrong, with seed, step and the last operations.
  std::string run(std::uint64_t steps);
  const Coverage& coverage() const { return world_.coverage; }

 private:
  struct Operation {
    unsigned weight;
    const char* name;
    std::string (History::*does)();
  };
  static const std::vector<Operation>& operations();

  std::string step();
  std::string finish_step();
  std::string append();
  std::string append_idempotent();
  std::string resend();
  std::string send_wrongly();
  std::string sync();
  std::string sync_all();
  std::string roll();
  std::string move_clock();
  std::string run_due();
  std::string change_settings();
  std::string restart();
  std::string kill();
  std::string cut_power();
  std::string fail_or_heal();

  PartitionWorld& any_partition() {
    return world_.partitions[random_.below(world_.partitions.size())];
  }
  void say(const std::string& what) { lines_.back() += " " + what; }
  void say(const PartitionWorld& partition) {
    say(partition.topic + "-" + std::to_string(partition.index));
  }
  test::BatchSpec random_batch(const PartitionWorld& partition);
  test::Record random_record(const PartitionWorld& partition);
  std::string send(PartitionWorld& partition, const test::BatchSpec& spec);
  std::string send_again(PartitionWorld& partition, const SentBatch& original);
  std::string must_be_refused(PartitionWorld& partition, const test::BatchSpec& spec,
                              ErrorKind kind);
  std::string sync(PartitionWorld& partition);
  std::string read_tables();

  struct Reader {
    std::size_t partition = 0;
    TableReader table{};
  };

  const std::uint64_t seed_;
  World world_;
  Random& random_;
  std::uint64_t step_ = 0;
  std::deque<std::string> lines_{};
  PartitionWorld* touched_ = nullptr;
  std::array<Reader, 4> readers_{};
};

}  // namespace lastword::model
