// SPDX-License-Identifier: Apache-2.0
// A topic store over files in memory: starts, stops, crashes, and what is in its directory.
//
// Threads   the store's own rules; the fixture belongs to one thread, but for reports.
// Lifetime  holds the store and all below it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "storage/file_names.h"
#include "storage/topic_store.h"
#include "tests/support/batches.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"

namespace lastword::storage {

class StoreFixture : public testing::Test {
 protected:
  StoreFixture() {
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
  void crash(test::CrashKind kind, const test::PowerCut& cut = {}, std::uint64_t seed = 1) {
    store_.reset();
    memory_.crash(seed, kind, cut);
  }
  void stop() {
    auto closed = store_->close(std::chrono::steady_clock::now() + std::chrono::minutes(1));
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

}  // namespace lastword::storage
