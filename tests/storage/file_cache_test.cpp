// SPDX-License-Identifier: Apache-2.0
#include "storage/file_cache.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"
#include "tests/support/text_bytes.h"

namespace lastword::storage {
namespace {

using test::CallKind;

class Cache : public testing::Test {
 protected:
  Cache() {
    for (const char* path : {"/a", "/b", "/c", "/d"}) {
      EXPECT_TRUE((*memory_.open(path, OpenMode::kCreate))->write_at(0, test::to_bytes(path)));
    }
  }
  std::shared_ptr<File> open(const std::string& path) {
    auto file = cache_.open(path);
    EXPECT_TRUE(file) << file.error().text;
    return file ? *file : nullptr;
  }
  std::size_t opened(const std::string& path) { return files_.count(CallKind::kOpen, path); }

  test::MemoryFileSystem memory_;
  test::RecordingFileSystem files_{memory_};
  FileCache cache_{files_, 2};
};

TEST_F(Cache, OpensAFileOnceForAll) {
  const auto first = open("/a");
  EXPECT_EQ(open("/a"), first);
  EXPECT_EQ(opened("/a"), 1u);
  EXPECT_EQ(cache_.open_count(), 1u);
}

TEST_F(Cache, ClosesTheOneUsedLongestAgo) {
  open("/a");
  open("/b");
  open("/a");
  open("/c");
  EXPECT_EQ(cache_.open_count(), 2u);
  open("/a");
  EXPECT_EQ(opened("/a"), 1u);
  open("/b");
  EXPECT_EQ(opened("/b"), 2u);
}

TEST_F(Cache, NeverClosesWhatIsHeld) {
  const auto held = open("/a");
  open("/b");
  open("/c");
  EXPECT_EQ(open("/a"), held);
  EXPECT_EQ(opened("/a"), 1u);
}

TEST_F(Cache, RefusesWhenAllAreHeldAndGoesOnWhenOneIsReleased) {
  auto a = open("/a");
  const auto b = open("/b");
  const auto refused = cache_.open("/c");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kTooManyOpenFiles);
  EXPECT_NE(refused.error().text.find("limits.open_files"), std::string::npos);
  EXPECT_EQ(open("/b"), b) << "what is open needs no room";
  a.reset();
  EXPECT_TRUE(cache_.open("/c"));
}

TEST_F(Cache, LendsThreeQuartersSoThatWritersAlwaysGetTheirs) {
  FileCache cache(files_, 4);
  std::vector<std::shared_ptr<const File>> lent;
  for (const char* path : {"/a", "/b", "/c"}) lent.push_back(*cache.lend(*cache.open(path)));
  EXPECT_TRUE(cache.lend(*cache.open("/a"))) << "the same file once more";
  EXPECT_EQ(cache.lend(*cache.open("/d")).error().kind, ErrorKind::kTooManyOpenFiles);
  EXPECT_TRUE(cache.open("/d"));
  lent.pop_back();
  EXPECT_TRUE(cache.lend(*cache.open("/d")));
}

TEST_F(Cache, ALoanMayEndAfterTheCache) {
  auto cache = std::make_unique<FileCache>(files_, 4);
  auto lent = *cache->lend(*cache->open("/a"));
  cache.reset();
  std::array<std::byte, 2> bytes{};
  EXPECT_EQ(*lent->read_at(0, bytes), 2u);
  lent.reset();
}

TEST_F(Cache, DroppedFilesCountAsLongAsTheyAreHeld) {
  auto a = open("/a");
  cache_.drop("/a");
  EXPECT_EQ(cache_.open_count(), 1u);
  const auto b = open("/b");
  EXPECT_FALSE(cache_.open("/c"));
  a.reset();
  EXPECT_EQ(cache_.open_count(), 1u);
  EXPECT_TRUE(cache_.open("/c"));
}

TEST_F(Cache, AfterDropThePathIsOpenedAnew) {
  const auto old = open("/a");
  ASSERT_TRUE(files_.remove("/a"));
  cache_.drop("/a");
  EXPECT_EQ(cache_.open("/a").error().kind, ErrorKind::kNotFound);
  Bytes into(2);
  EXPECT_EQ(*old->read_at(0, into), 2u);
}

TEST_F(Cache, CreatingReplacesWhatWasOpenUnderThatPath) {
  const auto old = open("/a");
  const auto made = *cache_.create("/a");
  EXPECT_NE(made, old);
  EXPECT_EQ(*made->size_bytes(), 0u);
  EXPECT_EQ(open("/a"), made);
}

TEST_F(Cache, AFileThatCannotBeOpenedTakesNoPlace) {
  EXPECT_EQ(cache_.open("/gone").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(cache_.open_count(), 0u);
}

TEST_F(Cache, DroppingADirectoryDropsItsFilesAlone) {
  ASSERT_TRUE(memory_.create_directories("/t-1"));
  ASSERT_TRUE(memory_.create_directories("/t-10"));
  ASSERT_TRUE(cache_.create("/t-1/x"));
  ASSERT_TRUE(cache_.create("/t-10/x"));
  cache_.drop_directory("/t-1");
  EXPECT_EQ(cache_.open_count(), 1u);
  ASSERT_TRUE(cache_.open("/t-10/x"));
  EXPECT_EQ(opened("/t-10/x"), 0u) << "it was open still";
}

TEST_F(Cache, ConcurrentOpensOfOnePathShare) {
  files_.hold(CallKind::kOpen, "/a");
  std::shared_ptr<File> got[3];
  std::vector<std::thread> threads;
  for (auto& file : got) threads.emplace_back([&] { file = open("/a"); });
  ASSERT_TRUE(files_.wait_until_held());
  files_.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened("/a"), 1u);
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[1], got[2]);
}

TEST_F(Cache, ASlowOpenHoldsUpNobodyElse) {
  files_.hold(CallKind::kOpen, "/a");
  std::thread slow([&] { open("/a"); });
  ASSERT_TRUE(files_.wait_until_held());
  EXPECT_TRUE(cache_.open("/b"));
  EXPECT_EQ(cache_.open_count(), 2u);
  files_.release();
  slow.join();
}

TEST_F(Cache, AFileDroppedWhileItIsOpenedIsNotKept) {
  files_.hold(CallKind::kOpen, "/a");
  std::shared_ptr<File> slow_file;
  std::thread slow([&] { slow_file = open("/a"); });
  ASSERT_TRUE(files_.wait_until_held());
  cache_.drop("/a");
  files_.release();
  slow.join();
  EXPECT_EQ(cache_.open_count(), 1u) << "held by who asked for it";
  EXPECT_NE(open("/a"), slow_file);
}

}  // namespace
}  // namespace lastword::storage
