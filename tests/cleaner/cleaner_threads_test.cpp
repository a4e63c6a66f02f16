// SPDX-License-Identifier: Apache-2.0
// The cleaner on its own threads: real time, few milliseconds, and conditions that are waited for.
#include "cleaner/cleaner_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "storage/clock.h"
#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using namespace std::chrono_literals;
using test::fast_compacted;

/// Waits until `condition` holds; the bound is for a test that fails.
bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

class Threads : public ::testing::Test {
 protected:
  void SetUp() override { broker.options.cleaner.interval_ms = 5; }
  void start() {
    ASSERT_TRUE(broker.start());
    broker.cleaner->start();
  }
  std::size_t records(const std::string& topic) { return broker.read(topic).size(); }
  test::StoreFixture broker{};
};

TEST_F(Threads, CleanWithoutBeingAsked) {
  start();
  broker.create("t", fast_compacted());
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.clock.advance(1000);
  EXPECT_TRUE(eventually([&] { return records("t") == 1; }));
  broker.cleaner->stop();
}

TEST_F(Threads, AWakeUpShortensALongSleep) {
  broker.options.cleaner.interval_ms = 600'000;
  start();
  broker.create("t", fast_compacted());
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.clock.advance(1000);
  broker.cleaner->wake_by(broker.clock.now_ms());
  EXPECT_TRUE(eventually([&] { return records("t") == 1; }));
}

TEST_F(Threads, SeveralCleanSeveralLogs) {
  broker.options.cleaner.threads = 3;
  start();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "t" + std::to_string(i);
    broker.create(name, fast_compacted());
    for (int k = 0; k < 20; ++k) broker.put(name, "a", std::to_string(k));
  }
  broker.clock.advance(1000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(eventually([&] { return records("t" + std::to_string(i)) == 1; })) << i;
  }
}

TEST_F(Threads, StopEndsAPassAtItsNextBatchAndStartGoesOn) {
  broker.options.cleaner.io_bytes_per_second_max = 1000;
  start();
  broker.create("t", fast_compacted());
  for (int i = 0; i < 100; ++i) broker.put("t", "a", std::string(1000, 'v'));
  broker.clock.advance(1000);
  ASSERT_TRUE(eventually([&] { return broker.closed_segments("t") == 1; }));
  const auto before = std::chrono::steady_clock::now();
  broker.cleaner->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
  EXPECT_EQ(records("t"), 100U);
  broker.options.cleaner.io_bytes_per_second_max = kUnlimited;
  broker.cleaner->set_options(broker.options);
  broker.cleaner->start();
  EXPECT_TRUE(eventually([&] { return records("t") == 1; }));
}

TEST_F(Threads, ChangeTheirNumberWithTheSettings) {
  start();
  for (const int threads : {4, 1, 2}) {
    broker.options.cleaner.threads = threads;
    broker.cleaner->set_options(broker.options);
  }
  broker.create("t", fast_compacted());
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.clock.advance(1000);
  EXPECT_TRUE(eventually([&] { return records("t") == 1; }));
}

TEST_F(Threads, ATopicDeletedUnderAPassEndsIt) {
  broker.options.cleaner.io_bytes_per_second_max = 10'000;
  start();
  broker.create("t", fast_compacted());
  for (int i = 0; i < 100; ++i) broker.put("t", "a", std::string(100, 'v'));
  broker.clock.advance(1000);
  ASSERT_TRUE(eventually([&] { return broker.closed_segments("t") == 1; }));
  ASSERT_TRUE(broker.store->remove("t"));
  broker.create("u", fast_compacted());
  broker.put("u", "a", "1");
  broker.put("u", "a", "2");
  broker.clock.advance(1000);
  EXPECT_TRUE(eventually([&] { return records("u") == 1; }));
}

TEST_F(Threads, ReadersAreNeverDisturbedByPasses) {
  start();
  broker.create("t", fast_compacted({{"segment.bytes", "4096"}}));
  for (int round = 0; round < 200; ++round) {
    for (int k = 0; k < 5; ++k) broker.put("t", "k" + std::to_string(k), std::string(100, 'v'));
    broker.clock.advance(1000);
    ASSERT_EQ(broker.table("t").size(), 5U);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace lastword::cleaner
