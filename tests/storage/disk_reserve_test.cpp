// SPDX-License-Identifier: Apache-2.0
#include "storage/disk_reserve.h"

#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"

namespace lastword::storage {
namespace {

class Reserve : public testing::Test {
 protected:
  static constexpr std::int64_t kSize = 1000;

  Result<> take(std::uint64_t bytes) {
    auto file = files_.open("/other", OpenMode::kCreate);
    return (*file)->allocate(0, bytes);
  }

  test::MemoryFileSystem files_;
  DiskReserve reserve_{files_, "/reserve", kSize};
};

TEST_F(Reserve, IsWholeOnceItsSpaceIsTaken) {
  files_.limit_space(5000);
  EXPECT_FALSE(reserve_.whole());
  EXPECT_TRUE(reserve_.refill());
  EXPECT_TRUE(reserve_.whole());
  EXPECT_EQ(files_.space_used(), 1000u);
  EXPECT_TRUE(reserve_.refill());
  EXPECT_EQ(files_.space_used(), 1000u);
}

TEST_F(Reserve, AFullDiskGivesItUpAndTheWorkIsDoneTheSecondTime) {
  files_.limit_space(1500);
  ASSERT_TRUE(reserve_.refill());
  int runs = 0;
  EXPECT_TRUE(reserve_.with_reserve([&] { return ++runs, take(1200); }));
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(reserve_.whole());
}

TEST_F(Reserve, OtherFailuresLeaveItAlone) {
  ASSERT_TRUE(reserve_.refill());
  int runs = 0;
  const auto result = reserve_.with_reserve([&]() -> Result<> {
    ++runs;
    return Error{ErrorKind::kStorage, "broken"};
  });
  EXPECT_EQ(result.error().text, "broken");
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(reserve_.whole());
}

TEST_F(Reserve, WhatNeedsMoreThanTheReserveFailsAsBefore) {
  files_.limit_space(1500);
  ASSERT_TRUE(reserve_.refill());
  const auto result = reserve_.with_reserve([&] { return take(5000); });
  EXPECT_EQ(result.error().kind, ErrorKind::kDiskFull);
}

TEST_F(Reserve, WhenAnotherGaveItUpMeanwhileTheWorkIsTriedAgain) {
  files_.limit_space(1500);
  ASSERT_TRUE(reserve_.refill());
  bool first = true;
  EXPECT_TRUE(reserve_.with_reserve([&]() -> Result<> {
    if (!std::exchange(first, false)) return take(1200);
    EXPECT_TRUE(reserve_.give_up());
    return Error{ErrorKind::kDiskFull, "the disk was full before"};
  }));
}

TEST_F(Reserve, IsRefilledWhenThereIsRoomAgain) {
  files_.limit_space(1500);
  ASSERT_TRUE(reserve_.refill());
  ASSERT_TRUE(reserve_.with_reserve([&] { return take(1200); }));
  EXPECT_FALSE(reserve_.refill());
  EXPECT_FALSE(reserve_.whole());
  EXPECT_EQ(files_.space_used(), 1200u) << "a part of it is not kept back";
  ASSERT_TRUE(files_.remove("/other"));
  EXPECT_TRUE(reserve_.refill());
  EXPECT_TRUE(reserve_.whole());
}

TEST_F(Reserve, AStartWithAFullDiskTakesOverTheOneThatIsThere) {
  files_.limit_space(1500);
  ASSERT_TRUE(reserve_.refill());
  ASSERT_TRUE(take(500));
  DiskReserve next(files_, "/reserve", kSize);
  EXPECT_TRUE(next.refill());
  EXPECT_TRUE(next.give_up());
  EXPECT_EQ(files_.space_used(), 500u);
}

TEST_F(Reserve, AStartWithAFullDiskWithoutOneJustHasNone) {
  files_.limit_space(1500);
  ASSERT_TRUE(take(1400));
  EXPECT_FALSE(reserve_.refill());
  EXPECT_FALSE(reserve_.give_up());
  EXPECT_EQ(reserve_.with_reserve([&] { return take(1600); }).error().kind, ErrorKind::kDiskFull);
}

TEST_F(Reserve, ASmallerSettingGivesSpaceBack) {
  ASSERT_TRUE(reserve_.refill());
  DiskReserve smaller(files_, "/reserve", 400);
  EXPECT_TRUE(smaller.refill());
  EXPECT_EQ(files_.space_used(), 400u);
}

TEST_F(Reserve, SwitchedOffItIsAlwaysWholeAndTakesNothing) {
  ASSERT_TRUE(reserve_.refill());
  DiskReserve off(files_, "/reserve", 0);
  EXPECT_TRUE(off.whole());
  EXPECT_TRUE(off.refill());
  EXPECT_FALSE(off.give_up());
  EXPECT_TRUE(off.whole());
  EXPECT_EQ(files_.space_used(), 0u);
}

}  // namespace
}  // namespace lastword::storage
