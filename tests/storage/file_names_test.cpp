// SPDX-License-Identifier: Apache-2.0
#include "storage/file_names.h"

#include <limits>

#include <gtest/gtest.h>

namespace lastword::storage {
namespace {

TEST(FileNames, SegmentFilesHaveKafkasNamesUntilTheyAreCleaned) {
  EXPECT_EQ(segment_file_name({.base_offset = 812}), "00000000000000000812.log");
  EXPECT_EQ(segment_file_name({.base_offset = 0, .file = SegmentFile::kOffsetIndex}),
            "00000000000000000000.index");
  EXPECT_EQ(segment_file_name({.base_offset = 7, .generation = 3, .file = SegmentFile::kTimeIndex}),
            "00000000000000000007.3.timeindex");
}

TEST(FileNames, EveryNameIsReadBack) {
  for (const Offset base : {Offset{0}, Offset{812}, std::numeric_limits<Offset>::max()}) {
    for (const std::uint32_t generation : {0u, 1u, std::numeric_limits<std::uint32_t>::max()}) {
      for (const auto file :
           {SegmentFile::kLog, SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex}) {
        const SegmentFileName parts{base, generation, file};
        EXPECT_EQ(parse_segment_file_name(segment_file_name(parts)), parts);
      }
    }
    EXPECT_EQ(parse_producer_snapshot_name(producer_snapshot_name(base)), base);
  }
  const PartitionName partition{.topic = "a-b.c", .partition = 12};
  EXPECT_EQ(parse_partition_directory_name(partition_directory_name("a-b.c", 12)), partition);
}

TEST(FileNames, OtherNamesAreNotTakenForOurs) {
  for (const char* name : {"", ".log", "812.log", "00000000000000000812", "00000000000000000812.",
                           "0000000000000000081x.log", "00000000000000000812.0.log",
                           "00000000000000000812.01.log", "00000000000000000812..log",
                           "00000000000000000812.-1.log", "00000000000000000812.4294967296.log",
                           "99999999999999999999.log", "00000000000000000812.log.tmp",
                           "-0000000000000000812.log", "00000000000000000812.1.2.log"}) {
    EXPECT_FALSE(parse_segment_file_name(name)) << name;
  }
  for (const char* name : {"", "topic", "topic-", "-0", "topic-01", "topic-x", "topic--1x",
                           "topic-2147483648", "identity", "lost+found"}) {
    EXPECT_FALSE(parse_partition_directory_name(name)) << name;
  }
  EXPECT_FALSE(parse_producer_snapshot_name("12.snapshot"));
  EXPECT_FALSE(parse_producer_snapshot_name("00000000000000000812.log"));
}

TEST(FileNames, ADeletedFolderIsNotTakenForAPartition) {
  const std::string name = deleted_directory_name("topic-0", "0123456789abcdef");
  EXPECT_EQ(name, "topic-0.0123456789abcdef.deleted");
  EXPECT_TRUE(is_deleted_directory_name(name));
  EXPECT_FALSE(is_deleted_directory_name("topic-0"));
  EXPECT_FALSE(parse_partition_directory_name(name));
}

TEST(FileNames, ADeletedFolderOfTheLongestTopicFitsTheSystemsLimit) {
  const std::string folder = partition_directory_name(std::string(249, 't'), 19999);
  EXPECT_LE(folder.size(), 255u);
  const std::string name = deleted_directory_name(folder, "0123456789abcdef");
  EXPECT_EQ(name.size(), 255u);
  EXPECT_TRUE(name.ends_with(".0123456789abcdef.deleted"));
}

TEST(FileNames, ParentsAreWhatTheLastSlashIsInFrontOf) {
  EXPECT_EQ(parent_directory("/a/b"), "/a");
  EXPECT_EQ(parent_directory("/a/b/"), "/a");
  EXPECT_EQ(parent_directory("/a"), "/");
  EXPECT_EQ(parent_directory("/"), "/");
  EXPECT_EQ(parent_directory("a/b"), "a");
  EXPECT_EQ(parent_directory("a"), ".");
  EXPECT_EQ(path_in("/a", "b"), "/a/b");
  EXPECT_EQ(path_in("/", "b"), "/b");
}

TEST(FileNames, TemporaryFilesLieBesideTheirs) {
  EXPECT_EQ(temporary_path("/a/manifest"), "/a/manifest.tmp");
  EXPECT_TRUE(is_temporary_name("manifest.tmp"));
  EXPECT_FALSE(is_temporary_name("manifest"));
}

}  // namespace
}  // namespace lastword::storage
