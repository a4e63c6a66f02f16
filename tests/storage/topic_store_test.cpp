// SPDX-License-Identifier: Apache-2.0
// Topics come and go: by calls, by the config file, and by stops in between.
#include "storage/topic_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "storage/producer_budget.h"
#include "tests/storage/topic_store_fixture.h"

namespace lastword::storage {
namespace {

using test::CallKind;
using test::CrashKind;

constexpr test::PowerCut kDropped{.unsynced = test::Unsynced::kDropped};

class Store : public StoreFixture {};

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

/// Files are found by their names, which are those of the topic that is made anew.
TEST_F(Store, AFolderStaysInItsPlaceAsLongAsSomebodyUsesIt) {
  start();
  create("a");
  append("a", "x");
  const auto log = store_->partition("a", 0)->log();
  std::optional<Log::Use> use = *log->use();
  std::atomic<bool> removed = false;
  std::thread remover([&] {
    EXPECT_TRUE(store_->remove("a"));
    removed = true;
  });
  while (store_->find("a")) std::this_thread::yield();
  while (log->use()) std::this_thread::yield();
  EXPECT_FALSE(removed);
  EXPECT_TRUE(memory_.status("/data/a-0/manifest")->exists);
  EXPECT_EQ(log->read(0, {.bytes_max = 1000}).error().kind, ErrorKind::kClosed);
  use.reset();
  remover.join();
  EXPECT_FALSE(memory_.status("/data/a-0/manifest")->exists);
}

TEST_F(Store, ATopicMadeAnewUnderTheSameNameIsEmptyAndHasAnotherId) {
  start();
  const TopicId id = create("a")->id;
  append("a", "x");
  ASSERT_TRUE(store_->remove("a"));
  EXPECT_NE(create("a")->id, id);
  EXPECT_EQ(store_->remove("a", id).error().kind, ErrorKind::kUnknownTopic) << "by its former id";
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
    if (store_->find("a")) {
      ASSERT_TRUE(store_->remove("a"));
    }
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
    EXPECT_TRUE(!a || (log("a", 0) && log("a", 1)));
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

TEST_F(Store, OtherDefaultsAndMorePartitionsTakeNoSettingOfATopicAway) {
  const std::map<std::string, std::string> own = {{"cleanup.policy", "compact"},
                                                  {"segment.bytes", "2MiB"}};
  options_.topics["in-file"] = {.settings = own};
  start();
  create("a", 1, own);
  const auto expect_own = [&](const std::string& name) {
    const auto topic = store_->find(name)->options;
    EXPECT_TRUE(topic->cleanup_policy.compact && !topic->cleanup_policy.remove) << name;
    EXPECT_EQ(topic->segment_bytes, 2 * kMebibyte) << name;
    EXPECT_EQ(topic->retention_ms, 1000) << name;
    EXPECT_TRUE(log(name)->options()->cleanup_policy.compact) << name;
    EXPECT_EQ(log(name)->options()->segment_bytes, 2 * kMebibyte) << name;
  };
  options_.topic_defaults = {
      {"cleanup.policy", "delete"}, {"segment.bytes", "1MiB"}, {"retention.ms", "1000"}};
  options_.topics["in-file"].partitions = 2;
  ASSERT_TRUE(store_->apply(options_));
  for (const char* name : {"a", "in-file"}) expect_own(name);
  EXPECT_TRUE(log("in-file", 1)->options()->cleanup_policy.compact);
  stop();
  start();
  for (const char* name : {"a", "in-file"}) expect_own(name);
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

TEST_F(Store, RemembersNoMoreProducersInAllLogsThanAllowed) {
  options_.limits.producer_ids_total = 3;
  start();
  create("a");
  create("b");
  const auto produce = [this](const std::string& topic, std::int64_t producer_id) {
    auto batch = test::checked_batch(
        {.records = {{.key = "k", .value = "v"}}, .producer_id = producer_id, .base_sequence = 0});
    const auto appended = log(topic)->append(batch);
    ASSERT_TRUE(appended) << appended.error().text;
  };
  const auto used = [this] { return store_->environment().producer_budget->used(); };
  for (std::int64_t producer_id = 0; producer_id < 5; ++producer_id) produce("a", producer_id);
  EXPECT_EQ(used(), 3);
  stop();
  start();
  EXPECT_EQ(used(), 3);
  produce("b", 9);
  EXPECT_EQ(used(), 4) << "one is always allowed";
  ASSERT_TRUE(store_->remove("a"));
  EXPECT_EQ(used(), 1);
  ASSERT_TRUE(log("b")->close());
  EXPECT_EQ(used(), 0);
}

}  // namespace
}  // namespace lastword::storage
