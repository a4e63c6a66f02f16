// SPDX-License-Identifier: Apache-2.0
#include "storage/topic_store.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "storage/data_directory.h"
#include "storage/disk_reserve.h"
#include "storage/file_names.h"
#include "storage/topics_file.h"
#include "tests/support/batches.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"
#include "tests/support/text_bytes.h"

namespace lastword::storage {
namespace {

using std::chrono::steady_clock;
using test::CallKind;
using test::CrashKind;

constexpr test::PowerCut kDropped{.unsynced = test::Unsynced::kDropped};

class Store : public testing::Test {
 protected:
  Store() {
    options_.data_dir = "/data";
    options_.file = "lastword.json";
    options_.limits.disk_reserve_bytes = 0;
  }

  Result<std::unique_ptr<TopicStore>> try_open() {
    return TopicStore::open(files_, clock_, options_, [this](Severity, const std::string& line) {
      const std::lock_guard lock(reports_mutex_);
      reports_.push_back(line);
    });
  }
  /// A daemon's start, the logs open.
  void start() {
    store_.reset();
    auto opened = try_open();
    ASSERT_TRUE(opened) << opened.error().text;
    store_ = *std::move(opened);
    store_->load(2);
  }
  void crash(CrashKind kind, const test::PowerCut& cut = {}, std::uint64_t seed = 1) {
    store_.reset();
    memory_.crash(seed, kind, cut);
  }
  void stop() {
    auto closed = store_->close(steady_clock::now() + std::chrono::minutes(1));
    ASSERT_TRUE(closed) << closed.error().text;
    store_.reset();
  }

  TopicPtr create(const std::string& name, std::int32_t partitions = 1,
                  std::map<std::string, std::string> overrides = {}) {
    auto topic = store_->create({name, partitions, std::move(overrides)});
    EXPECT_TRUE(topic) << topic.error().text;
    return topic ? *topic : nullptr;
  }
  ErrorKind create_error(const TopicStore::NewTopic& topic) {
    const auto made = store_->create(topic);
    EXPECT_FALSE(made) << "was made";
    const auto checked = store_->check(topic);
    EXPECT_FALSE(checked) << "check() must say what create() says";
    EXPECT_EQ(made.error().text, checked.error().text);
    return made.error().kind;
  }
  std::shared_ptr<Log> log(const std::string& topic, std::int32_t index = 0) {
    const auto partition = store_->partition(topic, index);
    return partition ? partition->log() : nullptr;
  }
  void append(const std::string& topic, const std::string& value, std::int32_t index = 0) {
    const auto opened = log(topic, index);
    ASSERT_TRUE(opened);
    auto batch = test::checked_batch({.records = {{.key = "k", .value = value}}});
    const auto appended = opened->append(batch);
    ASSERT_TRUE(appended) << appended.error().text;
    ASSERT_TRUE(opened->sync());
  }
  Offset end(const std::string& topic, std::int32_t index = 0) {
    const auto opened = log(topic, index);
    return opened ? opened->offsets().log_end : -1;
  }
  std::set<std::string> folders() {
    const auto names = memory_.list("/data");
    std::set<std::string> found;
    for (const std::string& name : *names) {
      if (parse_partition_directory_name(name) || is_deleted_directory_name(name)) {
        found.insert(name);
      }
    }
    return found;
  }
  bool reported(const std::string& words) {
    const std::lock_guard lock(reports_mutex_);
    return std::ranges::any_of(
        reports_, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
  using Names = std::set<std::string>;

  test::ManualClock clock_;
  test::MemoryFileSystem memory_{&clock_};
  test::RecordingFileSystem files_{memory_};
  BrokerOptions options_;
  std::mutex reports_mutex_;
  std::vector<std::string> reports_;
  std::unique_ptr<TopicStore> store_;
};

// ---- creating ------------------------------------------------------------------------------

TEST_F(Store, ATopicThatWasCreatedSurvivesAPowerCut) {
  start();
  const TopicPtr topic = create("a", 3, {{"retention.ms", "1h"}});
  append("a", "x", 2);
  crash(CrashKind::kPower, kDropped);
  start();
  const TopicPtr again = store_->find("a");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, topic->id);
  EXPECT_EQ(again->overrides, topic->overrides);
  EXPECT_EQ(again->options->retention_ms, kHourMs);
  EXPECT_EQ(again->partitions.size(), 3u);
  EXPECT_EQ(end("a", 2), 1);
  EXPECT_EQ(end("a", 0), 0);
}

TEST_F(Store, UnderOsTooATopicThatWasCreatedSurvivesAPowerCut) {
  options_.durability = Durability::kOs;
  start();
  const TopicId id = create("a")->id;
  crash(CrashKind::kPower, kDropped);
  start();
  ASSERT_TRUE(store_->find("a"));
  EXPECT_EQ(store_->find("a")->id, id);
  EXPECT_TRUE(log("a"));
}

TEST_F(Store, TopicsAreFoundByNameAndById) {
  start();
  const TopicPtr topic = create("a", 2);
  EXPECT_EQ(store_->find("a"), topic);
  EXPECT_EQ(store_->find(topic->id), topic);
  EXPECT_EQ(store_->partition("a", 1), topic->partitions[1]);
  EXPECT_EQ(store_->find("b"), nullptr);
  EXPECT_EQ(store_->partition("a", 2), nullptr);
  EXPECT_EQ(store_->partition("a", -1), nullptr);
  EXPECT_EQ(store_->partition("b", 0), nullptr);
  EXPECT_NE(topic->id, TopicId{});
}

TEST_F(Store, WhatCannotBeCreatedIsRefusedWithItsKind) {
  options_.limits.partitions = 5;
  start();
  create("a.b", 2);
  EXPECT_EQ(create_error({.name = "a.b"}), ErrorKind::kTopicExists);
  EXPECT_EQ(create_error({.name = "a_b"}), ErrorKind::kInvalidTopicName);
  EXPECT_EQ(create_error({.name = "no spaces"}), ErrorKind::kInvalidTopicName);
  EXPECT_EQ(create_error({.name = ""}), ErrorKind::kInvalidTopicName);
  EXPECT_EQ(create_error({.name = "c", .partitions = 0}), ErrorKind::kInvalidPartitions);
  EXPECT_EQ(create_error({.name = "c", .partitions = 4}), ErrorKind::kPolicyViolation);
  EXPECT_EQ(create_error({.name = "c", .overrides = {{"no.such", "1"}}}),
            ErrorKind::kInvalidConfig);
  EXPECT_EQ(store_->topics()->by_name.size(), 1u);
  EXPECT_EQ(folders(), (Names{"a.b-0", "a.b-1"}));
}

TEST_F(Store, CheckingCreatesNothing) {
  start();
  const auto options = store_->check({.name = "a", .overrides = {{"segment.bytes", "1MiB"}}});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->segment_bytes, kMebibyte);
  EXPECT_FALSE(store_->find("a"));
  EXPECT_TRUE(folders().empty());
}

TEST_F(Store, ATopicWhoseLogCannotBeMadeIsTakenBack) {
  start();
  files_.fail_call(CallKind::kCreateDirectories, 2);
  EXPECT_FALSE(store_->create({.name = "a", .partitions = 3}));
  EXPECT_FALSE(store_->find("a"));
  EXPECT_TRUE(folders().empty());
  EXPECT_TRUE(create("a", 3));
}

TEST_F(Store, AListThatCannotBeWrittenChangesNothing) {
  start();
  create("a");
  files_.fail_call(CallKind::kSyncDirectory, 1);
  EXPECT_FALSE(store_->create({.name = "b"}));
  EXPECT_FALSE(store_->find("b"));
  crash(CrashKind::kProcess);
  start();
  EXPECT_TRUE(store_->find("a"));
  EXPECT_FALSE(store_->find("b")) << "the list was set back";
}

TEST_F(Store, AListInDoubtIsSetBackLater) {
  start();
  create("a");
  files_.fail_syncs("/data");
  EXPECT_FALSE(store_->remove("a"));
  EXPECT_TRUE(store_->find("a")) << "it was not removed";
  files_.let_sync();
  store_->load_failed();
  crash(CrashKind::kPower);
  start();
  EXPECT_TRUE(store_->find("a"));
}

// ---- removing ------------------------------------------------------------------------------

TEST_F(Store, ARemovedTopicNeverComesBack) {
  start();
  const TopicId id = create("a", 2)->id;
  append("a", "x");
  ASSERT_TRUE(store_->remove("a"));
  EXPECT_FALSE(store_->find("a"));
  EXPECT_FALSE(store_->find(id));
  EXPECT_TRUE(folders().empty());
  crash(CrashKind::kPower, kDropped);
  start();
  EXPECT_FALSE(store_->find("a"));
  EXPECT_TRUE(store_->topics()->by_id.empty());
}

TEST_F(Store, ATopicMadeAnewUnderTheSameNameIsEmptyAndHasAnotherId) {
  start();
  const TopicId id = create("a")->id;
  append("a", "x");
  ASSERT_TRUE(store_->remove("a"));
  EXPECT_NE(create("a")->id, id);
  EXPECT_EQ(end("a"), 0);
  append("a", "y");
  crash(CrashKind::kPower, kDropped);
  start();
  EXPECT_EQ(end("a"), 1);
}

TEST_F(Store, WhatIsNotThereOrNamedInTheFileCannotBeRemoved) {
  options_.topics["in_file"] = {};
  start();
  EXPECT_EQ(store_->remove("gone").error().kind, ErrorKind::kUnknownTopic);
  const auto refused = store_->remove("in_file");
  EXPECT_EQ(refused.error().kind, ErrorKind::kPolicyViolation);
  EXPECT_NE(refused.error().text.find("lastword.json"), std::string::npos);
  EXPECT_TRUE(store_->find("in_file"));
}

TEST_F(Store, ALogThatIsHeldAnswersThatItsTopicIsGone) {
  start();
  create("a");
  append("a", "x");
  const auto held = store_->partition("a", 0);
  ASSERT_TRUE(store_->remove("a"));
  auto batch = test::checked_batch({.records = {{.key = "k", .value = "v"}}});
  EXPECT_EQ(held->log()->append(batch).error().kind, ErrorKind::kClosed);
}

TEST_F(Store, WhatARemovalLeftBehindIsRemovedAtStart) {
  start();
  create("a");
  files_.fail_call(CallKind::kRemoveTree, 1);
  ASSERT_TRUE(store_->remove("a"));
  ASSERT_EQ(folders().size(), 1u);
  start();
  store_->wait_until_tidy();
  EXPECT_TRUE(folders().empty());
}

TEST_F(Store, AFolderThatCouldNotBeMovedAwayIsRemovedAtStart) {
  start();
  create("a", 2);
  files_.fail_call(CallKind::kRename, 2);  // the first replaces the list
  ASSERT_TRUE(store_->remove("a"));
  EXPECT_EQ(folders(), (Names{"a-0"}));
  create("b");
  start();
  store_->wait_until_tidy();
  EXPECT_EQ(folders(), (Names{"b-0"}));
}

TEST_F(Store, AFolderOfARemovedTopicDoesNotLeakIntoItsSuccessor) {
  start();
  create("a");
  append("a", "old");
  files_.fail_call(CallKind::kRename, 2);
  ASSERT_TRUE(store_->remove("a"));
  create("a");
  EXPECT_EQ(end("a"), 0);
  EXPECT_TRUE(reported("belongs to a topic that was removed"));
  start();
  EXPECT_EQ(end("a"), 0);
  store_->wait_until_tidy();
  EXPECT_EQ(folders(), (Names{"a-0"}));
}

// ---- stopping anywhere ---------------------------------------------------------------------

TEST_F(Store, CreateAndRemoveHappenWhollyOrNotAtAllWhereverTheyStop) {
  for (std::uint64_t step = 1; step < 400; ++step) {
    SCOPED_TRACE(testing::Message() << "stopped at operation " << step);
    crash(CrashKind::kPower, kDropped);
    start();
    if (store_->find("a")) ASSERT_TRUE(store_->remove("a"));
    if (!store_->find("b")) create("b");
    memory_.stop_at(memory_.operations() + step);
    const bool made = static_cast<bool>(store_->create({.name = "a", .partitions = 2}));
    const bool removed = made && store_->remove("b");
    const bool stopped = memory_.stopped();
    crash(step % 2 == 0 ? CrashKind::kPower : CrashKind::kProcess, {}, step);
    start();
    const bool a = store_->find("a") != nullptr;
    const bool b = store_->find("b") != nullptr;
    EXPECT_TRUE(a || !made) << "create() returned";
    EXPECT_TRUE(!b || !removed) << "remove() returned";
    EXPECT_TRUE(b || made) << "nobody asked to remove it";
    if (a) EXPECT_TRUE(log("a", 0) && log("a", 1));
    store_->wait_until_tidy();
    Names expected;
    if (a) expected.insert({"a-0", "a-1"});
    if (b) expected.insert("b-0");
    EXPECT_EQ(folders(), expected);
    if (HasFailure() || !stopped) return;
  }
  FAIL() << "it never ran to its end";
}

// ---- the config file -----------------------------------------------------------------------

TEST_F(Store, TopicsOfTheFileExistAfterStart) {
  options_.topics["a"] = {.partitions = 2, .settings = {{"cleanup.policy", "compact"}}};
  start();
  const TopicPtr topic = store_->find("a");
  ASSERT_TRUE(topic);
  EXPECT_TRUE(topic->in_file);
  EXPECT_TRUE(topic->options->cleanup_policy.compact);
  EXPECT_TRUE(log("a", 0));
  EXPECT_TRUE(log("a", 1));
}

TEST_F(Store, AReloadMakesAdaptsAndLetsGo) {
  options_.topics["a"] = {.settings = {{"retention.ms", "1000"}}};
  start();
  const TopicId id = store_->find("a")->id;
  options_.topics = {{"b", {.partitions = 2}}};
  options_.topic_defaults = {{"segment.bytes", "1MiB"}};
  const auto applied = store_->apply(options_);
  ASSERT_TRUE(applied) << applied.error().text;
  const TopicPtr a = store_->find("a");
  EXPECT_EQ(a->id, id);
  EXPECT_FALSE(a->in_file);
  EXPECT_EQ(a->options->retention_ms, 1000);
  EXPECT_EQ(log("a")->options()->segment_bytes, kMebibyte) << "the log has the new defaults";
  EXPECT_TRUE(log("b", 1));
  EXPECT_TRUE(store_->remove("a")) << "it is the user's own now";
}

TEST_F(Store, AReloadAddsPartitionsAndKeepsTheOldOnes) {
  options_.topics["a"] = {};
  start();
  append("a", "x");
  options_.topics["a"].partitions = 3;
  ASSERT_TRUE(store_->apply(options_));
  EXPECT_EQ(end("a", 0), 1);
  EXPECT_EQ(end("a", 2), 0);
}

TEST_F(Store, AReloadThatIsRefusedChangesNothing) {
  options_.topics["a"] = {.partitions = 2};
  start();
  const auto before = store_->topics();
  BrokerOptions bad = options_;
  bad.topic_defaults = {{"segment.bytes", "1MiB"}};
  bad.topics["a"].partitions = 1;
  bad.topics["new"] = {};
  EXPECT_EQ(store_->apply(bad).error().kind, ErrorKind::kInvalidPartitions);
  EXPECT_EQ(store_->topics(), before);
  EXPECT_EQ(folders(), (Names{"a-0", "a-1"}));
  EXPECT_EQ(store_->check({.name = "c"})->segment_bytes, kGibibyte);
}

TEST_F(Store, AStartWhoseFileTakesPartitionsAwayIsRefused) {
  options_.topics["a"] = {.partitions = 2};
  start();
  stop();
  options_.topics["a"].partitions = 1;
  EXPECT_EQ(try_open().error().kind, ErrorKind::kInvalidPartitions);
}

// ---- starting ------------------------------------------------------------------------------

TEST_F(Store, ASecondDaemonIsKeptOut) {
  start();
  EXPECT_EQ(try_open().error().kind, ErrorKind::kStorage);
}

TEST_F(Store, AListedTopicWithoutFolderIsMadeAnew) {
  start();
  create("a", 2);
  stop();
  ASSERT_TRUE(memory_.remove_tree("/data/a-1"));
  start();
  EXPECT_EQ(end("a", 1), 0);
  append("a", "x", 1);
}

TEST_F(Store, UnknownFoldersAreLeftAloneWithOneWarning) {
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

TEST_F(Store, APartitionThatCannotBeOpenedIsReportedOnceAndTriedAgain) {
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

TEST_F(Store, AStartAfterACleanStopSyncsNoPartition) {
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

TEST_F(Store, ADamagedListOfTopicsRefusesTheStart) {
  start();
  create("a");
  stop();
  memory_.damage("/data/topics", 20, test::to_bytes("XX"));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(refused.error().text.find("/data/topics"), std::string::npos);
}

TEST_F(Store, APowerCutUnderOsRaisesTheLeaderEpochOnce) {
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

TEST_F(Store, OnAFullDiskTopicsAreStillRemovedAndStartsStillHappen) {
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

TEST_F(Store, ProducesAreHeldBackUntilTheReserveIsWholeAgain) {
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

TEST_F(Store, ACleanStopIsRemembered) {
  start();
  create("a");
  stop();
  EXPECT_TRUE(load_identity(files_, "/data")->stopped_cleanly);
  start();
  EXPECT_FALSE(load_identity(files_, "/data")->stopped_cleanly);
}

TEST_F(Store, AStopWithoutTimeSaysSoAndIsNotClean) {
  start();
  create("a");
  const auto closed = store_->close(steady_clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(closed.error().kind, ErrorKind::kCancelled);
  EXPECT_FALSE(load_identity(files_, "/data")->stopped_cleanly);
}

TEST_F(Store, AfterTheStopNothingChanges) {
  start();
  create("a");
  ASSERT_TRUE(store_->close(steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(create_error({.name = "b"}), ErrorKind::kClosed);
  EXPECT_EQ(store_->remove("a").error().kind, ErrorKind::kClosed);
  EXPECT_EQ(store_->apply(options_).error().kind, ErrorKind::kClosed);
  EXPECT_TRUE(store_->close(steady_clock::now()));
}

TEST_F(Store, LookupsGoOnWhileTopicsComeAndGo) {
  start();
  create("fixed");
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done.load()) {
      ASSERT_TRUE(store_->find("fixed"));
      if (const auto partition = store_->partition("a", 0)) partition->log();
    }
  });
  for (int i = 0; i < 20; ++i) {
    create("a");
    EXPECT_TRUE(store_->remove("a"));
  }
  done.store(true);
  reader.join();
}

}  // namespace
}  // namespace lastword::storage
