// SPDX-License-Identifier: Apache-2.0
#include "server/frame_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lastword::server {
namespace {

constexpr std::size_t kMiB = 1u << 20;

// Reads a frame as a connection does; how far it came.
std::size_t read_all(FrameMemory& memory, FrameBuffer& buffer, std::size_t frame_bytes) {
  std::size_t read = 0;
  while (read < frame_bytes) {
    auto larger = memory.grow(buffer, read, frame_bytes);
    if (larger.capacity() == 0) return read;
    buffer = std::move(larger);
    const std::size_t until = std::min(frame_bytes, buffer.capacity());
    std::memset(buffer.bytes().data() + read, static_cast<int>(read % 251), until - read);
    read = until;
  }
  return read;
}

TEST(FrameMemory, HoldsTheLargestRequestUnderTheDefaultLimits) {
  FrameMemory memory(128 * kMiB);
  FrameBuffer buffer;
  EXPECT_EQ(read_all(memory, buffer, 100 * kMiB), 100 * kMiB);
  EXPECT_EQ(buffer.capacity(), 100 * kMiB);
  buffer = FrameBuffer();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(FrameMemory, KeepsWhatWasReadWhenItGrows) {
  FrameMemory memory(64 * kMiB);
  FrameBuffer buffer;
  ASSERT_EQ(read_all(memory, buffer, 20 * kMiB), 20 * kMiB);
  EXPECT_EQ(buffer.bytes()[0], std::byte{0});
  EXPECT_EQ(buffer.bytes()[70'000], std::byte{65536 % 251});
}

TEST(FrameMemory, LeavesRoomForSmallFramesWhenLargeOnesWantItAll) {
  FrameMemory memory(16 * kMiB);
  std::vector<FrameBuffer> large;
  for (int i = 0; i < 20; ++i) read_all(memory, large.emplace_back(), 8 * kMiB);
  EXPECT_LE(memory.used_bytes(), 15 * kMiB);
  FrameBuffer middle;
  EXPECT_EQ(read_all(memory, middle, 50'000), 50'000u);
  std::vector<FrameBuffer> middles;
  while (read_all(memory, middles.emplace_back(), 50'000) == 50'000) {
  }
  FrameBuffer small;
  EXPECT_EQ(read_all(memory, small, 4000), 4000u);
  EXPECT_LE(memory.used_bytes(), 16 * kMiB);
}

TEST(FrameMemory, AnnouncingMuchTakesLittleOnceMemoryIsScarce) {
  FrameMemory memory(16 * kMiB);
  std::vector<FrameBuffer> announced(1000);
  for (FrameBuffer& each : announced) {
    FrameBuffer none;
    each = memory.grow(none, 0, 100 * kMiB);
    EXPECT_GT(each.capacity(), 0u);
  }
  EXPECT_LE(memory.used_bytes(), 12 * kMiB);
}

TEST(FrameMemory, ChargesUpToHalfOfTheBudgetAndSmallOnesAQuarterMore) {
  FrameMemory memory(16 * kMiB);
  EXPECT_FALSE(memory.charge(memory.charge_bytes_max() + 1));
  auto large = memory.charge(memory.charge_bytes_max());
  EXPECT_TRUE(large);
  EXPECT_FALSE(memory.charge(kMiB));
  std::vector<FrameCharge> small;
  for (auto one = memory.charge(kMiB / 16); one; one = memory.charge(kMiB / 16)) {
    small.push_back(std::move(one));
  }
  EXPECT_EQ(small.size(), 4 * 16u);
  large = FrameCharge();
  EXPECT_TRUE(memory.charge(kMiB));
}

TEST(FrameMemory, FreesWhatNobodyUsed) {
  FrameMemory memory(16 * kMiB);
  {
    FrameBuffer buffer;
    ASSERT_EQ(read_all(memory, buffer, kMiB), kMiB);
  }
  memory.trim();
  memory.trim();
  FrameBuffer again;
  EXPECT_EQ(read_all(memory, again, kMiB), kMiB);
}

}  // namespace
}  // namespace lastword::server
