// SPDX-License-Identifier: Apache-2.0
// Entries as Kafka lays them out, found in memory and in files alike, refused when they cannot be.
#include "storage/sparse_index.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/storage/test_environment.h"
#include "tests/support/hex.h"

namespace lastword::storage {
namespace {

constexpr Offset kBase = 1000;

SparseIndex index_of(IndexKind kind, const std::vector<IndexEntry>& entries) {
  SparseIndex index(kind, kBase);
  for (const IndexEntry& entry : entries) index.add(entry);
  return index;
}

TEST(SparseIndex, HasKafkasLayout) {
  const auto offsets = index_of(IndexKind::kOffset, {{1001, 0}, {1005, 4200}});
  EXPECT_EQ(to_hex(offsets.encode()), to_hex(from_hex("00000001 00000000  00000005 00001068")));
  const auto times =
      index_of(IndexKind::kTime, {{1'700'000'000'000, 1001}, {1'700'000'000'001, 1005}});
  EXPECT_EQ(to_hex(times.encode()),
            to_hex(from_hex("0000018bcfe56800 00000001  0000018bcfe56801 00000005")));
}

TEST(SparseIndex, FindsTheLastEntryAtOrBelow) {
  const auto index = index_of(IndexKind::kOffset, {{1004, 100}, {1009, 5000}});
  EXPECT_EQ(index.floor(1003), std::nullopt);
  EXPECT_EQ(index.floor(1004), (IndexEntry{1004, 100}));
  EXPECT_EQ(index.floor(1008), (IndexEntry{1004, 100}));
  EXPECT_EQ(index.floor(1 << 30), (IndexEntry{1009, 5000}));
  EXPECT_EQ(index.floor_value(99), std::nullopt);
  EXPECT_EQ(index.floor_value(4999), (IndexEntry{1004, 100}));
  EXPECT_EQ(index.last(), (IndexEntry{1009, 5000}));
}

TEST(SparseIndex, LeavesOutWhatDoesNotAscend) {
  auto index = index_of(IndexKind::kTime, {{50, 1005}});
  index.add({50, 1009});
  index.add({40, 1010});
  index.add({60, 1005});
  index.add({-1, 1011});
  EXPECT_EQ(index.count(), 1u);
  index.add({51, 1006});
  EXPECT_EQ(index.last(), (IndexEntry{51, 1006}));
}

TEST(SparseIndex, ComesBackFromItsBytes) {
  for (const IndexKind kind : {IndexKind::kOffset, IndexKind::kTime}) {
    const auto index = index_of(kind, {{1001, 1001}, {1005, 1002}, {1006, 2000}});
    const auto decoded = SparseIndex::decode(kind, kBase, index.encode());
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->encode(), index.encode());
    EXPECT_EQ(decoded->size_bytes(), index.encode().size());
    EXPECT_EQ(decoded->floor(1005), (IndexEntry{1005, 1002}));
  }
}

TEST(SparseIndex, RefusesBytesThatAreNoWholeEntriesInOrder) {
  const auto refused = [](IndexKind kind, std::string_view hex) {
    const auto decoded = SparseIndex::decode(kind, kBase, from_hex(hex));
    return !decoded && decoded.error().kind == ErrorKind::kDamaged;
  };
  EXPECT_TRUE(refused(IndexKind::kOffset, "00000001 00000000 00000002"));
  EXPECT_TRUE(refused(IndexKind::kOffset, "80000001 00000000"));
  EXPECT_TRUE(refused(IndexKind::kOffset, "00000001 80000000"));
  EXPECT_TRUE(refused(IndexKind::kOffset, "00000002 00000000 00000002 00000064"));
  EXPECT_TRUE(refused(IndexKind::kOffset, "00000002 00000064 00000003 00000064"));
  EXPECT_TRUE(refused(IndexKind::kTime, "ffffffffffffffff 00000001"));
  EXPECT_TRUE(refused(IndexKind::kTime, "0000000000000001 00000001 0000000000000001 00000002"));
  EXPECT_FALSE(refused(IndexKind::kOffset, ""));
}

TEST(SparseIndex, RefusesOffsetsBeyondTheLast) {
  const Offset base = std::numeric_limits<Offset>::max() - 4;
  EXPECT_TRUE(SparseIndex::decode(IndexKind::kOffset, base, from_hex("00000004 00000000")));
  EXPECT_FALSE(SparseIndex::decode(IndexKind::kOffset, base, from_hex("00000005 00000000")));
}

TEST(SparseIndex, FindsTheSameInAFileAsInMemory) {
  std::mt19937_64 random(11);
  for (const IndexKind kind : {IndexKind::kOffset, IndexKind::kTime}) {
    for (const std::size_t entries : {0u, 1u, 511u, 512u, 513u, 5000u}) {
      SCOPED_TRACE(testing::Message() << "seed 11, " << entries << " entries");
      SparseIndex index(kind, kBase);
      std::int64_t key = kBase;
      std::int64_t value = kBase;
      for (std::size_t i = 0; i < entries; ++i) {
        key += 1 + static_cast<std::int64_t>(random() % 5);
        value += 1 + static_cast<std::int64_t>(random() % 5);
        index.add({key, value});
      }
      const test::BytesSource file(index.encode());
      for (int i = 0; i < 200; ++i) {
        const auto wanted = kBase + static_cast<std::int64_t>(random() % (entries * 6 + 10));
        const auto by_key = floor_in_file(file, index.size_bytes(), kind, kBase, wanted);
        ASSERT_TRUE(by_key);
        EXPECT_EQ(*by_key, index.floor(wanted));
        const auto by_value = floor_value_in_file(file, index.size_bytes(), kind, kBase, wanted);
        ASSERT_TRUE(by_value);
        EXPECT_EQ(*by_value, index.floor_value(wanted));
      }
    }
  }
}

TEST(SparseIndex, ReadsLittleOfALargeFile) {
  SparseIndex index(IndexKind::kOffset, 0);
  for (std::int32_t i = 1; i <= 1'000'000; ++i) index.add({i, i});
  const test::BytesSource file(index.encode());
  ASSERT_TRUE(floor_in_file(file, index.size_bytes(), IndexKind::kOffset, 0, 777'777));
  EXPECT_LT(file.read_bytes(), 5000u);
}

TEST(SparseIndex, CallsAFileDamagedThatBecameShorter) {
  const auto index = index_of(IndexKind::kOffset, {{1001, 0}, {1005, 4200}});
  Bytes bytes = index.encode();
  bytes.pop_back();
  const test::BytesSource file(bytes);
  for (const std::size_t claimed : {index.size_bytes(), bytes.size()}) {
    const auto found = floor_in_file(file, claimed, IndexKind::kOffset, kBase, 2000);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::kDamaged);
  }
}

}  // namespace
}  // namespace lastword::storage
