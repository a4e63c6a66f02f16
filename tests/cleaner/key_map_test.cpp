// SPDX-License-Identifier: Apache-2.0
#include "cleaner/key_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/support/batches.h"

namespace lastword::cleaner {
namespace {

using test::view_of;

KeyMap make(std::int64_t keys, std::int64_t bytes_max) {
  HashKey hash_key;
  hash_key.fill(std::byte{7});
  auto map = KeyMap::create(keys, bytes_max, hash_key);
  LW_CHECK(static_cast<bool>(map));
  return *std::move(map);
}

TEST(KeyMap, FindsTheLastOffsetOfEveryKeyAndNoOther) {
  const unsigned seed = 42;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  KeyMap map = make(5000, kMebibyte);
  std::map<std::string, Offset> expected;
  for (Offset offset = 0; offset < 20000; ++offset) {
    const std::string key = "key-" + std::to_string(random() % 5000);
    ASSERT_TRUE(map.put(map.hash(view_of(key)), offset));
    expected[key] = offset;
  }
  EXPECT_EQ(map.size(), expected.size());
  for (const auto& [key, offset] : expected) EXPECT_EQ(map.find(map.hash(view_of(key))), offset);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(map.find(map.hash(view_of("absent-" + std::to_string(i)))), -1);
  }
}

TEST(KeyMap, OffsetZeroIsAnOffset) {
  KeyMap map = make(1, kMebibyte);
  EXPECT_EQ(map.find(map.hash(view_of("a"))), -1);
  ASSERT_TRUE(map.put(map.hash(view_of("a")), 0));
  EXPECT_EQ(map.find(map.hash(view_of("a"))), 0);
}

TEST(KeyMap, AFullMapRefusesNewKeysAndTakesOldOnes) {
  KeyMap map = make(1000, 30 * static_cast<std::int64_t>(KeyMap::kSlotBytes));
  EXPECT_EQ(map.capacity(), 27U);
  Offset offset = 0;
  while (map.put(map.hash(view_of(std::to_string(offset))), offset)) ++offset;
  EXPECT_EQ(static_cast<std::size_t>(offset), map.capacity());
  EXPECT_FALSE(map.put(map.hash(view_of("another")), 100));
  EXPECT_TRUE(map.put(map.hash(view_of("0")), 100));
  EXPECT_EQ(map.find(map.hash(view_of("0"))), 100);
  EXPECT_EQ(map.find(map.hash(view_of("another"))), -1);
}

TEST(KeyMap, OneSlotIsEnoughForOneKey) {
  KeyMap map = make(1000, 1);
  EXPECT_EQ(map.capacity(), 1U);
  EXPECT_TRUE(map.put(map.hash(view_of("a")), 5));
  EXPECT_FALSE(map.put(map.hash(view_of("b")), 6));
  EXPECT_EQ(map.find(map.hash(view_of("a"))), 5);
  EXPECT_EQ(map.find(map.hash(view_of("b"))), -1);
}

TEST(KeyMap, TakesNoMoreMemoryThanTheKeysNeed) {
  KeyMap map = make(100, 128 * kMebibyte);
  EXPECT_GE(map.capacity(), 100U);
  EXPECT_LT(map.capacity(), 200U);
}

TEST(KeyMap, AnEmptyKeyIsAKey) {
  KeyMap map = make(10, kMebibyte);
  ASSERT_TRUE(map.put(map.hash(view_of("")), 3));
  EXPECT_EQ(map.find(map.hash(view_of(""))), 3);
}

TEST(KeyMap, HashesDependOnTheDirectorysKey) {
  HashKey other;
  other.fill(std::byte{8});
  auto map = KeyMap::create(1, kMebibyte, other);
  ASSERT_TRUE(map);
  EXPECT_NE(map->hash(view_of("a")), make(1, kMebibyte).hash(view_of("a")));
}

}  // namespace
}  // namespace lastword::cleaner
