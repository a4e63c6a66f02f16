// SPDX-License-Identifier: Apache-2.0
// How a store starts and stops: what it repairs, what it refuses, and with a full disk.
#include "storage/topic_store.h"

#include <gtest/gtest.h>

#include "storage/disk_reserve.h"
#include "storage/identity.h"
#include "tests/storage/topic_store_fixture.h"
#include "tests/support/text_bytes.h"

namespace lastword::storage {
namespace {

using std::chrono::steady_clock;
using test::CallKind;
using test::CrashKind;

class StoreStart : public StoreFixture {};

// ---- starting ------------------------------------------------------------------------------

TEST_F(StoreStart, PartitionsWithoutTheListOfTopicsAreRefusedAndLeftAlone) {
  start();
  create("a");
  append("a", "x");
  stop();
  const Bytes list = memory_.content("/data/topics");
  ASSERT_TRUE(memory_.remove("/data/topics"));
  for (const bool in_file : {false, true}) {
    if (in_file) options_.topics["a"] = {};
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().text.find("a-0"), std::string::npos) << opened.error().text;
    EXPECT_NE(opened.error().text.find("topics file"), std::string::npos);
  }
  options_.topics.clear();
  ASSERT_TRUE((*memory_.open("/data/topics", OpenMode::kCreate))->write_at(0, list));
  start();
  EXPECT_EQ(end("a"), 1);
}

TEST_F(StoreStart, AFolderWithTheManifestOfAnotherTopicIsLeftAlone) {
  start();
  create("a");
  create("b");
  append("a", "x");
  stop();
  const Bytes of_b = memory_.content("/data/b-0/manifest");
  ASSERT_TRUE((*memory_.open("/data/a-0/manifest", OpenMode::kCreate))->write_at(0, of_b));
  start();
  EXPECT_FALSE(store_->partition("a", 0)->log());
  EXPECT_NE(store_->partition("a", 0)->failure().find("another topic"), std::string::npos);
  EXPECT_TRUE(memory_.status("/data/a-0/manifest")->exists);
  EXPECT_TRUE(store_->partition("b", 0)->log());
}

TEST_F(StoreStart, ASecondDaemonIsKeptOut) {
  start();
  EXPECT_EQ(try_open().error().kind, ErrorKind::kStorage);
}

TEST_F(StoreStart, AListedTopicWithoutFolderIsMadeAnew) {
  start();
  create("a", 2);
  stop();
  ASSERT_TRUE(memory_.remove_tree("/data/a-1"));
  start();
  EXPECT_EQ(end("a", 1), 0);
  append("a", "x", 1);
}

TEST_F(StoreStart, ATopicThatAStartFoundRemovedStaysRemovedAfterAPowerCut) {
  for (std::uint64_t step = 1;; ++step) {
    SCOPED_TRACE(testing::Message() << "stopped at operation " << step);
    start();
    if (!store_->find("a")) create("a");
    memory_.stop_at(memory_.operations() + step);
    static_cast<void>(store_->remove("a"));
    const bool stopped = memory_.stopped();
    crash(CrashKind::kProcess);
    bool removed = false;
    {
      const auto opened = try_open();
      ASSERT_TRUE(opened);
      removed = (*opened)->find("a") == nullptr;
    }
    crash(CrashKind::kPower, {.unsynced = test::Unsynced::kDropped});
    start();
    EXPECT_FALSE(removed && store_->find("a"));
    if (!stopped) break;
  }
}

TEST_F(StoreStart, UnknownFoldersAreLeftAloneWithOneWarning) {
  start();
  stop();
  for (const char* name : {"/data/stranger-0", "/data/stranger-1", "/data/lost+found"}) {
    ASSERT_TRUE(memory_.create_directories(name));
  }
  reports_.clear();
  start();
  EXPECT_EQ(reports_.size(), 1u);
  EXPECT_TRUE(reported("stranger-0, stranger-1"));
  EXPECT_TRUE(memory_.status("/data/stranger-0")->exists);
}

TEST_F(StoreStart, APartitionThatCannotBeOpenedIsReportedOnceAndTriedAgain) {
  start();
  create("a", 2);
  append("a", "x", 1);
  stop();
  reports_.clear();
  files_.fail_call(CallKind::kOpen, 3);  // after identity and topics
  start();
  const auto failed = log("a", 0) ? store_->partition("a", 1) : store_->partition("a", 0);
  EXPECT_EQ(failed->log(), nullptr);
  EXPECT_NE(failed->failure(), "");
  EXPECT_TRUE(reported("cannot open partition"));
  store_->load_failed();
  EXPECT_TRUE(failed->log());
  EXPECT_EQ(failed->failure(), "");
  EXPECT_EQ(end("a", 1), 1);
}

TEST_F(StoreStart, APartitionThatStaysClosedIsTriedWithGrowingPauses) {
  start();
  create("a");
  append("a", "x");
  stop();
  const Bytes manifest = memory_.content("/data/a-0/manifest");
  memory_.damage("/data/a-0/manifest", manifest.size() / 2, Bytes(1, std::byte{0x55}));
  start();
  files_.clear();
  const auto tries = [this](std::int64_t after_ms) {
    clock_.advance(after_ms);
    store_->load_failed();
    const std::size_t opened = files_.count(CallKind::kOpen, "a-0");
    files_.clear();
    return opened > 0;
  };
  EXPECT_TRUE(tries(0));
  EXPECT_FALSE(tries(10 * kSecondMs - 1));
  EXPECT_TRUE(tries(1));
  EXPECT_FALSE(tries(20 * kSecondMs - 1));
  EXPECT_TRUE(tries(1));
  EXPECT_TRUE(tries(-48 * kHourMs)) << "the clock has gone back";
  for (int i = 0; i < 10; ++i) tries(kHourMs);
  EXPECT_FALSE(tries(10 * kMinuteMs - 1));
  memory_.damage("/data/a-0/manifest", 0, manifest);
  EXPECT_TRUE(tries(1));
  EXPECT_EQ(end("a"), 1);
}

TEST_F(StoreStart, AStartAfterACleanStopSyncsNoPartition) {
  start();
  for (int i = 0; i < 20; ++i) create("topic" + std::to_string(i));
  append("topic7", "x");
  stop();
  files_.clear();
  start();
  EXPECT_EQ(files_.count(CallKind::kSyncData, "topic"), 0u);
  EXPECT_EQ(files_.count(CallKind::kSyncDirectory, "topic"), 0u);
  EXPECT_LE(files_.count(CallKind::kSyncData), 1u) << "the identity alone";
}

TEST_F(StoreStart, ADamagedListOfTopicsRefusesTheStart) {
  start();
  create("a");
  stop();
  memory_.damage("/data/topics", 20, test::to_bytes("XX"));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(refused.error().text.find("/data/topics"), std::string::npos);
}

TEST_F(StoreStart, APowerCutUnderOsRaisesTheLeaderEpochOnce) {
  options_.durability = Durability::kOs;
  start();
  create("a");
  append("a", "x");
  crash(CrashKind::kPower);
  start();
  EXPECT_TRUE(store_->environment().raise_leader_epoch);
  const std::int32_t epoch = log("a")->offsets().leader_epoch;
  EXPECT_GT(epoch, 0);
  crash(CrashKind::kProcess);
  start();
  EXPECT_FALSE(store_->environment().raise_leader_epoch);
  EXPECT_EQ(log("a")->offsets().leader_epoch, epoch);
}

// ---- full disk -----------------------------------------------------------------------------

TEST_F(StoreStart, OnAFullDiskTopicsAreStillRemovedAndStartsStillHappen) {
  options_.limits.disk_reserve_bytes = kMebibyte;
  start();
  create("a");
  create("b");
  memory_.limit_space(memory_.space_used());
  EXPECT_TRUE(store_->remove("a"));
  stop();
  start();
  EXPECT_TRUE(log("b"));
}

TEST_F(StoreStart, ProducesAreHeldBackUntilTheReserveIsWholeAgain) {
  options_.limits.disk_reserve_bytes = kMebibyte;
  start();
  memory_.limit_space(memory_.space_used());
  EXPECT_TRUE(store_->reserve().whole());
  ASSERT_TRUE(store_->reserve().give_up());
  memory_.limit_space(1000);
  EXPECT_FALSE(store_->reserve().refill());
  memory_.limit_space(100 * kMebibyte);
  EXPECT_TRUE(store_->reserve().refill());
}

// ---- stopping ------------------------------------------------------------------------------

TEST_F(StoreStart, ACleanStopIsRemembered) {
  start();
  create("a");
  stop();
  EXPECT_TRUE(load_identity(files_, "/data")->stopped_cleanly);
  start();
  EXPECT_FALSE(load_identity(files_, "/data")->stopped_cleanly);
}

TEST_F(StoreStart, ACrashWhileLogsAreStillOpeningIsNoCleanStop) {
  start();
  create("a");
  append("a", "x");
  stop();
  ASSERT_TRUE(load_identity(files_, "/data")->stopped_cleanly);
  ASSERT_TRUE(try_open()) << "no log is open yet";
  crash(CrashKind::kPower, {.unsynced = test::Unsynced::kDropped});
  EXPECT_FALSE(load_identity(files_, "/data")->stopped_cleanly);
  start();
  EXPECT_EQ(end("a"), 1);
}

TEST_F(StoreStart, AStopWithoutTimeSaysSoAndIsNotClean) {
  start();
  create("a");
  const auto closed = store_->close(steady_clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(closed.error().kind, ErrorKind::kCancelled);
  EXPECT_FALSE(load_identity(files_, "/data")->stopped_cleanly);
}

TEST_F(StoreStart, AfterTheStopNothingChanges) {
  start();
  create("a");
  ASSERT_TRUE(store_->close(steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(create_error({.name = "b"}), ErrorKind::kClosed);
  EXPECT_EQ(store_->remove("a").error().kind, ErrorKind::kClosed);
  EXPECT_EQ(store_->apply(options_).error().kind, ErrorKind::kClosed);
  EXPECT_TRUE(store_->close(steady_clock::now()));
}

}  // namespace
}  // namespace lastword::storage
