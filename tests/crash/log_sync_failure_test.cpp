// SPDX-License-Identifier: Apache-2.0
// Lets each sync of a script fail in turn, with the pages lost as Linux loses them, and then cuts
// the power: nothing that was acknowledged may be missing.
#include <gtest/gtest.h>

#include "tests/crash/log_model.h"

namespace lastword::test {
namespace {

class FailingSyncs : public CrashingLog {
 public:
  explicit FailingSyncs(Durability durability_wanted) : CrashingLog(durability_wanted) {
    files.on_failed_sync([this](const std::string& lost) {
      if (lost.ends_with(".log")) memory.lose_unsynced(lost);
    });
    start_log();
  }

  /// The flusher's part: what is fenced is healed, and then the lost batches are sent again.
  void flush() {
    sync_log();
    while (log->offsets().fenced) {
      heal_log();
      if (++heals_ > 20) break;
    }
  }
  int heals() const { return heals_; }

  void run() {
    for (int round = 0; round < 4; ++round) {
      append_batch(1, 7);
      append_batch(2, 8);
      flush();
      append_batch(3, 7);
      roll_log();
      flush();
      for (int i = 0; i < 5; ++i) append_batch(2 + i, 8);
      flush();
    }
  }

 private:
  int heals_ = 0;
};

TEST(LogSyncFailure, NothingAcknowledgedIsLostWhicheverSyncFails) {
  for (std::uint64_t n = 1; n < 200; ++n) {
    SCOPED_TRACE("sync " + std::to_string(n) + " fails");
    FailingSyncs log(Durability::kFsync);
    log.files.fail_call(CallKind::kSyncData, n);
    log.files.clear();
    log.run();
    const bool reached = log.files.count(CallKind::kSyncData) >= n;
    log.log.reset();
    log.memory.crash(n, CrashKind::kPower, {.unsynced = Unsynced::kDropped});
    log.compare_after(CrashKind::kPower);
    if (testing::Test::HasFailure()) return;
    if (!reached) {
      EXPECT_GT(n, 20u);
      return;
    }
  }
  FAIL() << "the script has no end";
}

TEST(LogSyncFailure, NorWhenTheManifestCannotBeSavedEither) {
  for (std::uint64_t n = 1; n < 200; ++n) {
    SCOPED_TRACE("directory sync " + std::to_string(n) + " fails");
    FailingSyncs log(Durability::kFsync);
    log.files.fail_call(CallKind::kSyncDirectory, n);
    log.files.clear();
    log.run();
    const bool reached = log.files.count(CallKind::kSyncDirectory) >= n;
    log.log.reset();
    const Unsynced unsynced = n % 2 == 0 ? Unsynced::kDropped : Unsynced::kSubset;
    log.memory.crash(n, CrashKind::kPower, {.unsynced = unsynced});
    log.compare_after(CrashKind::kPower);
    if (testing::Test::HasFailure() || !reached) return;
  }
}

TEST(LogSyncFailure, ACrashWhileFencedOrHealingLosesNothingAcknowledged) {
  for (std::uint64_t failing = 1; failing <= 12; ++failing) {
    for (std::uint64_t operation = 1;; ++operation) {
      FailingSyncs log(Durability::kFsync);
      log.files.fail_call(CallKind::kSyncData, failing);
      log.files.clear();
      log.append_batch(1, 7);
      log.flush();
      log.append_batch(2, 7);
      log.append_batch(2, 8);
      log.memory.stop_at(log.memory.operations() + operation);
      log.flush();
      log.roll_log();
      log.append_batch(1, 7);
      log.flush();
      const bool stopped = log.stopped();
      log.log.reset();
      const CrashKind kind = operation % 2 == 0 ? CrashKind::kPower : CrashKind::kProcess;
      log.memory.crash(operation, kind, {.unsynced = Unsynced::kSubset});
      SCOPED_TRACE("sync " + std::to_string(failing) + " fails, stopped at operation " +
                   std::to_string(operation));
      log.compare_after(kind);
      if (testing::Test::HasFailure()) return;
      if (!stopped) break;
    }
  }
}

}  // namespace
}  // namespace lastword::test
