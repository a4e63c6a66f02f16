// SPDX-License-Identifier: Apache-2.0
// The manifest comes back as it was, or not at all; and is replaced durably, with a full disk too.
#include "storage/manifest.h"

#include <gtest/gtest.h>

#include <random>

#include "protocol/crc32c.h"
#include "tests/storage/test_environment.h"

namespace lastword::storage {
namespace {

using test::TestEnvironment;

Manifest full_manifest() {
  Manifest manifest;
  for (std::size_t i = 0; i < 16; ++i) manifest.topic_id[i] = std::byte(i + 1);
  manifest.log_start = 3;
  manifest.recovery_point = 900;
  manifest.clean_end = 500;
  manifest.removed_tombstone_mark = 77;
  manifest.next_generation = 12;
  manifest.fence = Fence{950, 4711};
  manifest.producer_snapshot = 900;
  manifest.leader_epochs = {{0, 0}, {2, 400}, {3, 400}};
  manifest.damaged = {{.segment_base_offset = 0,
                       .segment_generation = 11,
                       .position = 61,
                       .length_bytes = 100,
                       .first_offset = 4,
                       .last_offset = 9}};
  for (Offset base = 0; base < 1000; base += 100) {
    manifest.segments.push_back({.base_offset = base,
                                 .generation = base < 500 ? 11u : 0u,
                                 .size_bytes = 4096,
                                 .last_offset = base + 99,
                                 .records = 80,
                                 .stamped_tombstones = 2,
                                 .unstamped_tombstones = 5,
                                 .earliest_horizon = 1'700'000'000'000,
                                 .max_timestamp = 1'699'000'000'000,
                                 .max_timestamp_offset = base + 42,
                                 .first_append_ms = 1'699'000'000'001,
                                 .last_append_ms = 1'699'000'000'002,
                                 .checksum = 0xdeadbeef});
  }
  return manifest;
}

/// With the checksum made to fit, so that what is behind it is looked at.
Bytes sealed_again(Bytes bytes) {
  const std::uint32_t checksum = crc32c(ByteView(bytes).first(bytes.size() - 4));
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[bytes.size() - 4 + i] = std::byte(checksum >> (24 - 8 * i) & 0xff);
  }
  return bytes;
}

bool refused(const Manifest& manifest) {
  const auto decoded = decode_manifest(encode(manifest));
  return !decoded && decoded.error().kind == ErrorKind::kDamaged;
}

TEST(Manifest, ComesBackAsItWas) {
  for (const Manifest& manifest : {Manifest{}, full_manifest()}) {
    const auto decoded = decode_manifest(encode(manifest));
    ASSERT_TRUE(decoded) << decoded.error().text;
    EXPECT_EQ(*decoded, manifest);
  }
}

TEST(Manifest, RefusesEveryTruncation) {
  const Bytes bytes = encode(full_manifest());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto decoded = decode_manifest(ByteView(bytes).first(length));
    ASSERT_FALSE(decoded) << length;
    EXPECT_EQ(decoded.error().kind, ErrorKind::kDamaged);
  }
}

TEST(Manifest, RefusesBytesBehindItsEnd) {
  Bytes bytes = encode(full_manifest());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_manifest(bytes));
}

TEST(Manifest, RefusesEveryFlippedBit) {
  const Bytes good = encode(full_manifest());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= std::byte(1u << bit % 8);
    ASSERT_FALSE(decode_manifest(bytes)) << "bit " << bit;
  }
}

TEST(Manifest, BelievesNoCount) {
  // Each place in turn claims four billion rows, under a checksum that holds.
  const Bytes good = encode(full_manifest());
  for (std::size_t at = 10; at + 8 <= good.size(); ++at) {
    Bytes bytes = good;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 4, std::byte{0xff});
    const auto decoded = decode_manifest(sealed_again(bytes));
    if (decoded) {
      EXPECT_LE(decoded->segments.size(), good.size() / 96);
      EXPECT_LE(decoded->damaged.size(), good.size() / 44);
    }
  }
}

TEST(Manifest, NamesAnUnknownVersion) {
  Bytes bytes = encode(full_manifest());
  bytes[5] = std::byte{9};
  const auto decoded = decode_manifest(sealed_again(bytes));
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().text.find("version 9"), std::string::npos) << decoded.error().text;
}

TEST(Manifest, RefusesSegmentsThatOverlap) {
  Manifest manifest = full_manifest();
  manifest.segments[3].last_offset = manifest.segments[4].base_offset;
  EXPECT_TRUE(refused(manifest));
  manifest = full_manifest();
  std::swap(manifest.segments[3], manifest.segments[4]);
  EXPECT_TRUE(refused(manifest));
  manifest = full_manifest();
  manifest.segments[3].last_offset = manifest.segments[3].base_offset - 2;
  EXPECT_TRUE(refused(manifest));
}

TEST(Manifest, RefusesAGenerationThatWasNotGivenOut) {
  Manifest manifest = full_manifest();
  manifest.next_generation = 11;
  EXPECT_TRUE(refused(manifest));
}

TEST(Manifest, RefusesNegativeOffsetsAndUnorderedEpochs) {
  Manifest manifest = full_manifest();
  manifest.log_start = -1;
  EXPECT_TRUE(refused(manifest));
  manifest = full_manifest();
  manifest.fence->durable_end = -5;
  EXPECT_TRUE(refused(manifest));
  manifest = full_manifest();
  manifest.leader_epochs = {{3, 0}, {3, 10}};
  EXPECT_TRUE(refused(manifest));
  manifest.leader_epochs = {{3, 10}, {4, 9}};
  EXPECT_TRUE(refused(manifest));
  manifest = full_manifest();
  manifest.damaged[0].length_bytes = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(refused(manifest));
}

TEST(Manifest, SurvivesThePowerCutRightAfterItWasSaved) {
  TestEnvironment test;
  ASSERT_TRUE(test.files.sync_directory("."));
  ASSERT_TRUE(save_manifest(test.env, "p-0", full_manifest()));
  test.files.crash(1, test::CrashKind::kPower, {test::Unsynced::kDropped});
  const auto loaded = load_manifest(test.env, "p-0");
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ(*loaded, full_manifest());
}

TEST(Manifest, IsTheFormerOrTheLatterAfterACrashAtAnyStep) {
  const Manifest former;
  const Manifest latter = full_manifest();
  for (std::uint64_t stop = 1;; ++stop) {
    TestEnvironment test;
    ASSERT_TRUE(test.files.sync_directory("."));
    ASSERT_TRUE(save_manifest(test.env, "p-0", former));
    test.files.stop_at(test.files.operations() + stop);
    const bool saved = static_cast<bool>(save_manifest(test.env, "p-0", latter));
    const bool stopped = test.files.stopped();
    test.files.crash(stop, test::CrashKind::kPower);
    const auto loaded = load_manifest(test.env, "p-0");
    ASSERT_TRUE(loaded) << "stopped at operation " << stop << ": " << loaded.error().text;
    EXPECT_TRUE(*loaded == latter || (*loaded == former && !saved)) << stop;
    if (!stopped) break;
  }
}

TEST(Manifest, IsSyncedUnderOsToo) {
  TestEnvironment test;
  test.env.durability = Durability::kOs;
  ASSERT_TRUE(save_manifest(test.env, "p-0", full_manifest()));
  EXPECT_EQ(test.calls.count(test::CallKind::kSyncData), 1u);
  EXPECT_EQ(test.calls.count(test::CallKind::kSyncDirectory), 1u);
}

TEST(Manifest, TakesTheReserveOnAFullDisk) {
  TestEnvironment test(1 << 20);
  ASSERT_TRUE(test.reserve.refill());
  test.files.limit_space(test.files.space_used());
  EXPECT_TRUE(save_manifest(test.env, "p-0", full_manifest()));
  EXPECT_FALSE(test.reserve.whole());
}

TEST(Manifest, SaysWhichFileIsDamagedAndWhatToDo) {
  TestEnvironment test;
  EXPECT_EQ(load_manifest(test.env, "p-0").error().kind, ErrorKind::kNotFound);
  ASSERT_TRUE(save_manifest(test.env, "p-0", full_manifest()));
  test.files.damage("p-0/manifest", 40, Bytes(8, std::byte{0x55}));
  const auto loaded = load_manifest(test.env, "p-0");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(loaded.error().text.find("p-0/manifest"), std::string::npos);
  EXPECT_NE(loaded.error().text.find("move the folder"), std::string::npos);
}

}  // namespace
}  // namespace lastword::storage
