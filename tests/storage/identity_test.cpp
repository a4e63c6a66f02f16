// SPDX-License-Identifier: Apache-2.0
#include "storage/identity.h"

#include <set>

#include <gtest/gtest.h>

#include "protocol/uuid.h"
#include "storage/data_directory.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"
#include "tests/support/text_bytes.h"

namespace lastword::storage {
namespace {

TEST(Identity, IsReadBackAsItWasWritten) {
  Identity identity = make_identity();
  identity.next_producer_id = 5001;
  identity.boot_id = "some-boot";
  identity.stopped_cleanly = true;
  identity.ran_under_os = true;
  EXPECT_EQ(*decode_identity(encode(identity)), identity);
}

TEST(Identity, EveryFlippedByteAndEveryCutIsSeen) {
  const Bytes whole = encode(make_identity());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= std::byte{0x10};
    EXPECT_EQ(decode_identity(flipped).error().kind, ErrorKind::kDamaged) << "byte " << i;
    EXPECT_EQ(decode_identity(ByteView(whole).first(i)).error().kind, ErrorKind::kDamaged) << i;
  }
}

TEST(Identity, IdsAreRandom) {
  std::set<std::array<std::byte, 16>> ids;
  for (int i = 0; i < 100; ++i) ids.insert(random_id());
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_FALSE(ids.contains({}));
}

class Directory : public testing::Test {
 protected:
  Directory() { options_.data_dir = "/var/data"; }

  Result<std::unique_ptr<DataDirectory>> try_open() {
    return DataDirectory::open(
        files_, options_, [this](Severity, const std::string& line) { reports_.push_back(line); });
  }
  std::unique_ptr<DataDirectory> open() {
    auto opened = try_open();
    EXPECT_TRUE(opened) << opened.error().text;
    return opened ? *std::move(opened) : nullptr;
  }
  void cut_power() { memory_.crash(1, CrashKind::kPower, {.unsynced = test::Unsynced::kDropped}); }

  using CrashKind = test::CrashKind;
  test::MemoryFileSystem memory_;
  test::RecordingFileSystem files_{memory_};
  BrokerOptions options_;
  std::vector<std::string> reports_;
};

TEST_F(Directory, KeepsItsClusterIdAndHashKeyForEver) {
  auto first = open();
  const std::string id = first->cluster_id();
  const auto key = first->hash_key();
  EXPECT_EQ(id.size(), 22u);
  EXPECT_TRUE(parse_uuid(id));
  first.reset();
  cut_power();
  const auto second = open();
  EXPECT_EQ(second->cluster_id(), id);
  EXPECT_EQ(second->hash_key(), key);
}

TEST_F(Directory, TwoDirectoriesDiffer) {
  const auto first = open();
  options_.data_dir = "/other";
  const auto second = open();
  EXPECT_NE(first->cluster_id(), second->cluster_id());
  EXPECT_NE(first->hash_key(), second->hash_key());
}

TEST_F(Directory, BelongsToOneDaemonAtATime) {
  auto first = open();
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kStorage);
  EXPECT_NE(refused.error().text.find("data directory /var/data"), std::string::npos);
  first.reset();
  EXPECT_TRUE(try_open());
}

TEST_F(Directory, NeverHandsOutAProducerIdTwice) {
  std::int64_t last = 0;
  for (int start = 0; start < 4; ++start) {
    auto directory = open();
    for (int i = 0; i < 1500; ++i) {
      const auto id = directory->next_producer_id();
      ASSERT_TRUE(id);
      ASSERT_GT(*id, last);
      last = *id;
    }
    directory.reset();
    cut_power();
  }
}

TEST_F(Directory, ProducerIdsStartAtOneAndAreSavedInBlocks) {
  const auto directory = open();
  files_.clear();
  for (std::int64_t expected = 1; expected <= 1000; ++expected) {
    ASSERT_EQ(*directory->next_producer_id(), expected);
  }
  EXPECT_EQ(files_.count(test::CallKind::kSyncData, "identity"), 1u);
  EXPECT_EQ(*directory->next_producer_id(), 1001);
  EXPECT_EQ(files_.count(test::CallKind::kSyncData, "identity"), 2u);
}

TEST_F(Directory, AProducerIdIsNotHandedOutBeforeItsBlockIsDurable) {
  const auto directory = open();
  files_.fail_syncs("identity");
  EXPECT_EQ(directory->next_producer_id().error().kind, ErrorKind::kStorage);
  files_.let_sync();
  EXPECT_EQ(*directory->next_producer_id(), 1);
}

TEST_F(Directory, APowerCutUnderOsLosesWritesAndIsNoticed) {
  options_.durability = Durability::kOs;
  EXPECT_FALSE(open()->lost_writes()) << "a new directory has nothing to lose";
  memory_.crash(1, CrashKind::kProcess);
  EXPECT_FALSE(open()->lost_writes()) << "the page cache lived on";
  cut_power();
  EXPECT_TRUE(open()->lost_writes());
}

TEST_F(Directory, APowerCutAfterACleanStopLosesNothing) {
  options_.durability = Durability::kOs;
  ASSERT_TRUE(open()->mark_stopped_cleanly());
  cut_power();
  EXPECT_FALSE(open()->lost_writes());
}

TEST_F(Directory, WhatCountsIsTheDurabilityOfTheDaemonThatDied) {
  open();
  cut_power();
  options_.durability = Durability::kOs;
  EXPECT_FALSE(open()->lost_writes()) << "the last one synced";
  cut_power();
  options_.durability = Durability::kFsync;
  EXPECT_TRUE(open()->lost_writes()) << "the last one did not";
}

TEST_F(Directory, AStartAfterAKillWritesNothing) {
  open();
  memory_.crash(1, CrashKind::kProcess);
  files_.clear();
  open();
  EXPECT_EQ(files_.count(test::CallKind::kWrite), 0u);
}

TEST_F(Directory, AFullDiskDoesNotKeepAStartFromHappening) {
  options_.limits.disk_reserve_bytes = 0;
  ASSERT_TRUE(open()->mark_stopped_cleanly());
  memory_.limit_space(memory_.space_used());
  const auto directory = open();
  ASSERT_TRUE(directory);
  EXPECT_EQ(reports_.size(), 1u);
  EXPECT_EQ(directory->save_pending().error().kind, ErrorKind::kDiskFull);
  memory_.limit_space(1 << 20);
  EXPECT_TRUE(directory->save_pending());
  EXPECT_FALSE(load_identity(files_, options_.data_dir)->stopped_cleanly);
}

TEST_F(Directory, AFullDiskRefusesANewDirectory) {
  memory_.limit_space(10);
  EXPECT_EQ(try_open().error().kind, ErrorKind::kDiskFull);
}

TEST_F(Directory, TheReserveLetsAStartOnAFullDiskNoteItself) {
  options_.limits.disk_reserve_bytes = 4096;
  ASSERT_TRUE(open()->mark_stopped_cleanly());
  memory_.limit_space(memory_.space_used());
  const auto directory = open();
  ASSERT_TRUE(directory);
  EXPECT_FALSE(load_identity(files_, options_.data_dir)->stopped_cleanly);
  EXPECT_FALSE(directory->reserve().whole());
}

TEST_F(Directory, ADamagedIdentityIsNamedWithTheRemedy) {
  open();
  memory_.damage("/var/data/identity", 20, test::to_bytes("XXXX"));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(refused.error().text.find("/var/data/identity"), std::string::npos);
  EXPECT_NE(refused.error().text.find("restore"), std::string::npos);
}

TEST_F(Directory, AnIdentityThatWasRemovedBesideTopicsGivesNoUsedProducerIds) {
  auto directory = open();
  ASSERT_EQ(*directory->next_producer_id(), 1);
  directory.reset();
  ASSERT_TRUE(replace_whole(memory_, "/var/data/topics", test::to_bytes("x")));
  ASSERT_TRUE(memory_.remove("/var/data/identity"));
  EXPECT_GT(*open()->next_producer_id(), 1'000'000'000'000);
}

}  // namespace
}  // namespace lastword::storage
