// SPDX-License-Identifier: Apache-2.0
#include "protocol/crc32c.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/batches.h"

namespace lastword {
namespace {

/// The definition, bit by bit.
std::uint32_t reference(ByteView bytes) {
  std::uint32_t state = 0xffffffff;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return ~state;
}

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(test::view_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(Bytes(32)), 0x8A9136AAu);                   // RFC 3720, B.4
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xff})), 0x62A8AB43u);  // RFC 3720, B.4
}

TEST(Crc32c, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Bytes bytes(2100);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t size = 0; size < 2050; size += 1 + size / 40) {
    const ByteView run = ByteView(bytes).subspan(size % 17, size);
    ASSERT_EQ(crc32c(run), reference(run)) << "size " << size;
  }
}

TEST(Crc32c, ChainsOverRuns) {
  const Bytes bytes = test::to_bytes("the last word of every key");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const ByteView view(bytes);
    EXPECT_EQ(crc32c(view.subspan(cut), crc32c(view.first(cut))), crc32c(bytes));
  }
}

}  // namespace
}  // namespace lastword
