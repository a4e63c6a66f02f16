// SPDX-License-Identifier: Apache-2.0
#include "server/stop_bound.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace lastword::server {
namespace {

constexpr int kLate = 7;

void leave() {
  std::fputs("late", stderr);
  std::_Exit(kLate);
}

TEST(StopBoundDeathTest, LeavesThoughAThreadHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const StopBound bound(std::chrono::milliseconds(10), leave);
        std::mutex hung;
        hung.lock();
        std::condition_variable_any never;
        never.wait(hung, [] { return false; });
      },
      testing::ExitedWithCode(kLate), "late");
}

TEST(StopBoundDeathTest, DoesNothingWhenAllIsDoneInTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        { const StopBound bound(std::chrono::hours(1), leave); }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lastword::server
