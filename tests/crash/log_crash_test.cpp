// SPDX-License-Identifier: Apache-2.0
// Stops a log at every operation of a script in turn, crashes, opens again, and compares.
//
// LASTWORD_LONG=1 crashes inside every recovery as well, and draws more seeds.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/crash/log_model.h"

namespace lastword::test {
namespace {

bool long_mode() { return std::getenv("LASTWORD_LONG") != nullptr; }

/// Everything that a log does, in an order that leaves something half done at each moment.
void run_script(CrashingLog& log) {
  log.start_log();
  log.append_batch(1);
  log.append_batch(3, 7);
  log.sync_log();
  log.append_batch(2, 7);
  log.append_batch(1, 8);
  log.roll_log();
  for (int i = 0; i < 6; ++i) log.append_batch(1 + i % 3, 7 + i % 2);
  log.sync_log();
  log.roll_log();
  log.append_batch(9);  // larger than a segment
  log.append_batch(1, 8);
  log.sync_log();
  log.clean_log();
  log.append_batch(2, 7);
  log.sync_log();
  log.close_log();
  log.start_log();
  log.append_batch(1, 7);
  log.roll_log();
  log.append_batch(1, 7);
  log.sync_log();
  log.drop_log(2);
  log.append_batch(1, 7);
  log.checkpoint_log();
  log.clean_log();
  log.drop_log(log.acknowledged() - 1);
  log.append_batch(1, 8);
  log.sync_log();
  log.drop_log(log.acknowledged());
  log.append_batch(2, 8);
  log.sync_log();
  log.append_batch(1, 7);
  log.append_batch(1, 8);
}

struct Crash {
  CrashKind kind = CrashKind::kProcess;
  PowerCut cut{};
  std::uint64_t seed = 1;
};

std::vector<Crash> crashes() {
  std::vector<Crash> all{{}};
  for (const Unsynced unsynced : {Unsynced::kDropped, Unsynced::kKept}) {
    all.push_back({CrashKind::kPower, {.unsynced = unsynced}});
  }
  const std::uint64_t seeds = long_mode() ? 100 : 10;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    all.push_back({CrashKind::kPower, {.unsynced = Unsynced::kPrefix}, seed});
    all.push_back({CrashKind::kPower, {.unsynced = Unsynced::kSubset}, seed});
  }
  return all;
}

std::uint64_t operations_of_script(Durability durability) {
  CrashingLog log(durability);
  const std::uint64_t before = log.memory.operations();
  run_script(log);
  return log.memory.operations() - before;
}

void go_on_and_compare(CrashingLog& log) {
  log.append_batch(2, 7);
  log.append_batch(1);
  log.sync_log();
  log.roll_log();
  log.append_batch(1, 8);
  log.sync_log();
  const bool power = log.durability == Durability::kFsync;
  const CrashKind kind = power ? CrashKind::kPower : CrashKind::kProcess;
  log.log.reset();
  log.memory.crash(1, kind, {.unsynced = Unsynced::kDropped});
  log.compare_after(kind);
}

void crash_at(Durability durability, std::uint64_t operation, const Crash& crash) {
  CrashingLog log(durability);
  log.memory.stop_at(log.memory.operations() + operation);
  run_script(log);
  log.log.reset();
  log.memory.crash(crash.seed, crash.kind, crash.cut);
  log.compare_after(crash.kind);
  if (!testing::Test::HasFailure()) go_on_and_compare(log);
}

/// As crash_at, and once more at each operation of the recovery.
void crash_in_recovery(std::uint64_t operation, const Crash& crash) {
  for (std::uint64_t inner = 1;; ++inner) {
    CrashingLog log(Durability::kFsync);
    log.memory.stop_at(log.memory.operations() + operation);
    run_script(log);
    log.log.reset();
    log.memory.crash(crash.seed, crash.kind, crash.cut);
    log.start();
    log.memory.stop_at(log.memory.operations() + inner);
    const bool finished = static_cast<bool>(log.try_open());
    log.memory.crash(crash.seed + inner, crash.kind, crash.cut);
    SCOPED_TRACE("and at operation " + std::to_string(inner) + " of the recovery");
    log.compare_after(crash.kind);
    if (finished || testing::Test::HasFailure()) return;
  }
}

std::string describe(std::uint64_t operation, const Crash& crash) {
  return "stopped at operation " + std::to_string(operation) + ", " +
         (crash.kind == CrashKind::kProcess
              ? "process"
              : "power, unsynced " + std::to_string(static_cast<int>(crash.cut.unsynced))) +
         ", seed " + std::to_string(crash.seed);
}

TEST(LogCrash, WhatWasAcknowledgedIsThereAfterACrashAtEveryOperation) {
  const std::uint64_t operations = operations_of_script(Durability::kFsync);
  ASSERT_GT(operations, 100u);
  for (std::uint64_t operation = 1; operation <= operations + 1; ++operation) {
    for (const Crash& crash : crashes()) {
      SCOPED_TRACE(describe(operation, crash));
      crash_at(Durability::kFsync, operation, crash);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(LogCrash, UnderOsEverythingIsThereWhenTheProcessDiesAtEveryOperation) {
  const std::uint64_t operations = operations_of_script(Durability::kOs);
  for (std::uint64_t operation = 1; operation <= operations + 1; ++operation) {
    SCOPED_TRACE(describe(operation, {}));
    crash_at(Durability::kOs, operation, {});
    if (testing::Test::HasFailure()) return;
  }
}

TEST(LogCrash, UnderOsAPowerCutLeavesALogThatOpensAndHoldsNothingForeign) {
  const std::uint64_t operations = operations_of_script(Durability::kOs);
  for (std::uint64_t operation = 1; operation <= operations + 1; ++operation) {
    for (const Crash& crash : crashes()) {
      SCOPED_TRACE(describe(operation, crash));
      crash_at(Durability::kOs, operation, crash);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(LogCrash, ARecoveryThatIsCutShortIsDoneAgain) {
  const std::uint64_t operations = operations_of_script(Durability::kFsync);
  const std::uint64_t step = long_mode() ? 1 : 9;
  for (std::uint64_t operation = 1; operation <= operations + 1; operation += step) {
    for (const Crash& crash :
         {Crash{}, Crash{CrashKind::kPower, {.unsynced = Unsynced::kSubset}, operation}}) {
      SCOPED_TRACE(describe(operation, crash));
      crash_in_recovery(operation, crash);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace lastword::test
