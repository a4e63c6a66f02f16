// SPDX-License-Identifier: Apache-2.0
#include "server/progress.h"

#include <gtest/gtest.h>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <atomic>
#include <thread>

namespace lastword::server {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override {
    io_.stop();
    thread_.join();
  }
  std::future<bool> wait(std::function<bool()> ready, Progress::Until until) {
    return asio::co_spawn(io_, progress_.wait({partition_}, until, std::move(ready)),
                          asio::use_future);
  }

  Progress progress_{};
  storage::PartitionPtr partition_ = std::make_shared<storage::Partition>();
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(io_);
  std::thread thread_{[this] { io_.run(); }};
};

TEST_F(ProgressTest, NeverLosesAWakeUp) {
  std::atomic<int> now = 0;
  std::thread mover([&] {
    for (int i = 1; i <= 20000; ++i) {
      now = i;
      progress_.notify(*partition_);
    }
  });
  for (int wanted = 1; wanted <= 20000; wanted += 7) {
    const auto begun = steady_clock::now();
    auto woken = wait([&, wanted] { return now >= wanted; }, {.deadline = begun + seconds(20)});
    ASSERT_TRUE(woken.get());
  }
  mover.join();
}

TEST_F(ProgressTest, EndsAtTheDeadline) {
  EXPECT_FALSE(wait([] { return false; }, {.deadline = steady_clock::now()}).get());
}

TEST_F(ProgressTest, EndsLongPollsAtAStopAndLetsProducesWaitOn) {
  std::atomic<bool> ready = false;
  auto poll = wait([] { return false; }, {.deadline = steady_clock::time_point::max()});
  auto produce = wait([&] { return ready.load(); },
                      {.deadline = steady_clock::time_point::max(), .at_stop = AtStop::kWaitOn});
  progress_.notify_all_and_stop();
  EXPECT_FALSE(poll.get());
  EXPECT_EQ(produce.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  ready = true;
  progress_.notify(*partition_);
  EXPECT_TRUE(produce.get());
  EXPECT_FALSE(wait([] { return false; }, {.deadline = steady_clock::time_point::max()}).get());
}

}  // namespace
}  // namespace lastword::server
