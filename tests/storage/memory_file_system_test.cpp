// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_file_system.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/support/recording_file_system.h"
#include "tests/support/text_bytes.h"

namespace lastword::test {
namespace {

using storage::File;
using storage::OpenMode;

constexpr PowerCut kDropped{.unsynced = Unsynced::kDropped};
constexpr PowerCut kKept{.unsynced = Unsynced::kKept};

class MemoryFiles : public testing::Test {
 protected:
  std::shared_ptr<File> create(const std::string& path) {
    auto file = files_.open(path, OpenMode::kCreate);
    EXPECT_TRUE(file) << file.error().text;
    return *file;
  }
  /// A file whose name is durable.
  std::shared_ptr<File> create_named(const std::string& path) {
    auto file = create(path);
    EXPECT_TRUE(files_.sync_directory("/"));
    return file;
  }
  std::string text(const std::string& path) { return to_text(files_.content(path)); }
  bool exists(const std::string& path) { return files_.status(path)->exists; }
  void cut(const PowerCut& cut, std::uint64_t seed = 1) {
    files_.crash(seed, CrashKind::kPower, cut);
  }

  ManualClock clock_;
  MemoryFileSystem files_{&clock_};
};

TEST_F(MemoryFiles, APowerCutTakesWhatWasNotSynced) {
  const auto file = create_named("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("safe")));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(file->write_at(4, to_bytes(" lost")));
  EXPECT_EQ(text("/a"), "safe lost");
  cut(kDropped);
  EXPECT_EQ(text("/a"), "safe");
}

TEST_F(MemoryFiles, TheDeathOfTheProcessTakesNothing) {
  const auto file = create("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("written")));
  files_.crash(1, CrashKind::kProcess);
  EXPECT_EQ(text("/a"), "written");
  cut(kDropped);
  EXPECT_FALSE(exists("/a")) << "it was still not synced";
}

TEST_F(MemoryFiles, AnOverwriteThatWasNotSyncedIsUndone) {
  const auto file = create_named("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("old")));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(file->write_at(0, to_bytes("NEW")));
  ASSERT_TRUE(file->truncate(1));
  cut(kDropped);
  EXPECT_EQ(text("/a"), "old");
}

TEST_F(MemoryFiles, NamesAreDurableOnlyAfterTheDirectoryIsSynced) {
  ASSERT_TRUE(files_.create_directories("/d"));
  ASSERT_TRUE(files_.sync_directory("/"));
  ASSERT_TRUE(create("/d/a")->sync_data());
  ASSERT_TRUE(files_.sync_directory("/d"));
  create("/d/b");
  ASSERT_TRUE(files_.rename("/d/a", "/d/c"));
  cut(kDropped);
  EXPECT_EQ(*files_.list("/d"), std::vector<std::string>{"a"});
}

TEST_F(MemoryFiles, ARemovedNameComesBackUntilTheDirectoryIsSynced) {
  const auto file = create_named("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("x")));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(files_.remove("/a"));
  EXPECT_FALSE(exists("/a"));
  cut(kDropped);
  EXPECT_EQ(text("/a"), "x");
  ASSERT_TRUE(files_.remove("/a"));
  ASSERT_TRUE(files_.sync_directory("/"));
  cut(kDropped);
  EXPECT_FALSE(exists("/a"));
}

TEST_F(MemoryFiles, AFileInAFolderWhoseNameIsLostIsLostWithIt) {
  ASSERT_TRUE(files_.create_directories("/d"));
  ASSERT_TRUE(create("/d/a")->sync_data());
  ASSERT_TRUE(files_.sync_directory("/d"));
  cut(kDropped);
  EXPECT_FALSE(exists("/d"));
}

TEST_F(MemoryFiles, EverythingMayAlsoSurvive) {
  ASSERT_TRUE(create("/a")->write_at(0, to_bytes("all")));
  ASSERT_TRUE(files_.rename("/a", "/b"));
  cut(kKept);
  EXPECT_EQ(text("/b"), "all");
  EXPECT_FALSE(exists("/a"));
}

TEST_F(MemoryFiles, TheLastWriteIsTornAtTheAskedByte) {
  const auto file = create_named("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("first")));
  ASSERT_TRUE(file->write_at(5, to_bytes("second")));
  cut({.unsynced = Unsynced::kKept, .tear_at_bytes = 2});
  EXPECT_EQ(text("/a"), "firstse");
}

TEST_F(MemoryFiles, APrefixEndsAtAnyMomentAndTearsAnywhere) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    MemoryFileSystem files;
    const auto file = *files.open("/a", OpenMode::kCreate);
    ASSERT_TRUE(files.sync_directory("/"));
    ASSERT_TRUE(file->write_at(0, to_bytes("ab")));
    ASSERT_TRUE(file->write_at(2, to_bytes("cd")));
    files.crash(seed, CrashKind::kPower, {.unsynced = Unsynced::kPrefix});
    seen.insert(to_text(files.content("/a")));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"", "a", "ab", "abc"}));
}

TEST_F(MemoryFiles, OfASubsetLaterWritesMaySurviveEarlierOnes) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    MemoryFileSystem files;
    const auto file = *files.open("/a", OpenMode::kCreate);
    ASSERT_TRUE(files.sync_directory("/"));
    ASSERT_TRUE(file->write_at(0, to_bytes("A")));
    ASSERT_TRUE(file->write_at(1, to_bytes("B")));
    files.crash(seed, CrashKind::kPower, {.unsynced = Unsynced::kSubset});
    seen.insert(to_text(files.content("/a")));
  }
  EXPECT_TRUE(seen.contains(std::string("\0B", 2)));
  EXPECT_TRUE(seen.contains("A"));
  EXPECT_TRUE(seen.contains("AB"));
  EXPECT_TRUE(seen.contains(""));
}

TEST_F(MemoryFiles, EqualSeedsGiveEqualStates) {
  const auto crash = [](std::uint64_t seed) {
    MemoryFileSystem files;
    const auto file = *files.open("/a", OpenMode::kCreate);
    EXPECT_TRUE(files.sync_directory("/"));
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(file->write_at(3 * i, to_bytes("xyz")));
    files.crash(seed, CrashKind::kPower);
    return files.content("/a");
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(crash(seed), crash(seed)) << seed;
}

TEST_F(MemoryFiles, HandlesOfBeforeACrashAreVoid) {
  const auto file = create("/a");
  auto lock = files_.lock("/lock");
  files_.crash(1, CrashKind::kProcess);
  EXPECT_EQ(file->write_at(0, to_bytes("x")).error().kind, ErrorKind::kStorage);
  EXPECT_FALSE(file->sync_data());
  EXPECT_FALSE(file->size_bytes());
  auto next = files_.lock("/lock");
  EXPECT_TRUE(next);
  lock->reset();
  EXPECT_FALSE(files_.lock("/lock")) << "an old lock releases nothing";
}

TEST_F(MemoryFiles, OnlyAPowerCutChangesTheBootId) {
  const std::string before = files_.boot_id();
  files_.crash(1, CrashKind::kProcess);
  EXPECT_EQ(files_.boot_id(), before);
  cut(kKept);
  EXPECT_NE(files_.boot_id(), before);
}

TEST_F(MemoryFiles, StopsAtTheAskedOperationAndStaysStopped) {
  const auto file = create("/a");
  files_.stop_at(files_.operations() + 2);
  EXPECT_TRUE(file->write_at(0, to_bytes("abcd")));
  const auto stopped = file->write_at(4, to_bytes("efgh"));
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().text.find("crashed"), std::string::npos);
  EXPECT_TRUE(files_.stopped());
  EXPECT_FALSE(files_.status("/a"));
  EXPECT_FALSE(file->sync_data());
  files_.crash(1, CrashKind::kProcess);
  EXPECT_EQ(text("/a"), "abcdef") << "half of the stopped write was done";
}

TEST_F(MemoryFiles, EveryChangingCallIsAnOperation) {
  const auto count = [&](auto call) {
    const std::uint64_t before = files_.operations();
    EXPECT_TRUE(call());
    return files_.operations() - before;
  };
  EXPECT_EQ(count([&] { return files_.create_directories("/d/e"); }), 2u);
  EXPECT_EQ(count([&] { return files_.open("/d/a", OpenMode::kCreate); }), 1u);
  const auto file = *files_.open("/d/a", OpenMode::kReadWrite);
  EXPECT_EQ(count([&] { return file->write_at(0, to_bytes("x")); }), 1u);
  EXPECT_EQ(count([&] { return file->sync_data(); }), 1u);
  EXPECT_EQ(count([&] { return file->truncate(0); }), 1u);
  EXPECT_EQ(count([&] { return file->allocate(0, 1); }), 1u);
  EXPECT_EQ(count([&] { return files_.rename("/d/a", "/d/b"); }), 1u);
  EXPECT_EQ(count([&] { return files_.sync_directory("/d"); }), 1u);
  EXPECT_EQ(count([&] { return files_.status("/d/b"); }), 0u);
  EXPECT_EQ(count([&] { return files_.remove_tree("/d"); }), 3u);
}

TEST_F(MemoryFiles, SpaceIsCountedAndLimited) {
  files_.limit_space(10);
  const auto file = create("/a");
  ASSERT_TRUE(file->allocate(0, 8));
  EXPECT_EQ(files_.space_used(), 8u);
  EXPECT_TRUE(file->write_at(0, to_bytes("12345678")));
  EXPECT_EQ(files_.space_used(), 8u);
  EXPECT_EQ(file->write_at(8, to_bytes("90+")).error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(text("/a"), "1234567890") << "as much as fits is written";
  EXPECT_EQ(file->allocate(0, 11).error().kind, ErrorKind::kDiskFull);
  EXPECT_TRUE(file->truncate(4));
  EXPECT_EQ(files_.space_used(), 4u);
}

TEST_F(MemoryFiles, ARemovedFileHoldsItsSpaceWhileItIsOpen) {
  auto file = create("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("12345")));
  ASSERT_TRUE(files_.remove("/a"));
  EXPECT_EQ(files_.space_used(), 5u);
  file.reset();
  EXPECT_EQ(files_.space_used(), 0u);
}

TEST_F(MemoryFiles, AReplacedFileGivesItsSpaceBack) {
  ASSERT_TRUE(create("/a")->write_at(0, to_bytes("12345")));
  ASSERT_TRUE(create("/b")->write_at(0, to_bytes("123")));
  ASSERT_TRUE(files_.rename("/b", "/a"));
  EXPECT_EQ(files_.space_used(), 3u);
}

TEST_F(MemoryFiles, LostWritesAreReadUntilThePowerGoesAndNeverComeBack) {
  const auto file = create_named("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("ab")));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(file->write_at(2, to_bytes("cd")));
  files_.lose_unsynced("/a");
  ASSERT_TRUE(file->sync_data());
  EXPECT_EQ(text("/a"), "abcd");
  cut(kKept);
  EXPECT_EQ(text("/a"), std::string("ab\0\0", 4));
}

TEST_F(MemoryFiles, DamageReachesSyncedBytes) {
  const auto file = create_named("/a");
  ASSERT_TRUE(file->write_at(0, to_bytes("abcd")));
  ASSERT_TRUE(file->sync_data());
  files_.damage("/a", 1, to_bytes("XX"));
  EXPECT_EQ(text("/a"), "aXXd");
  cut(kDropped);
  EXPECT_EQ(text("/a"), "aXXd");
}

TEST_F(MemoryFiles, FileTimesFollowTheClock) {
  const auto file = create("/a");
  clock_.advance(500);
  ASSERT_TRUE(file->write_at(0, to_bytes("x")));
  const auto status = *files_.status("/a");
  EXPECT_EQ(status.created_ms, ManualClock::kStartMs);
  EXPECT_EQ(status.modified_ms, ManualClock::kStartMs + 500);
}

TEST_F(MemoryFiles, ErrorsAreThoseOfTheRealThing) {
  EXPECT_EQ(files_.open("/gone", OpenMode::kRead).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(files_.open("/no/folder", OpenMode::kCreate).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(files_.list("/gone").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(files_.rename("/gone", "/b").error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(files_.remove("/gone"));
  EXPECT_TRUE(files_.remove_tree("/gone"));
  ASSERT_TRUE(files_.create_directories("/d/e"));
  EXPECT_FALSE(files_.remove("/d"));
  EXPECT_FALSE(files_.open("/d", OpenMode::kRead));
  ASSERT_TRUE(files_.create_directories("/f"));
  EXPECT_FALSE(files_.rename("/f", "/d")) << "a folder that is not empty is not replaced";
}

TEST(ReplaceWhole, LeavesTheOldOrTheNewWhereverItStopsAndWhateverThePowerTakes) {
  for (std::uint64_t step = 1; step < 8; ++step) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << "step " << step << " seed " << seed);
      MemoryFileSystem files;
      ASSERT_TRUE(replace_whole(files, "/a", to_bytes("the old one")));
      files.stop_at(files.operations() + step);
      const bool done = static_cast<bool>(replace_whole(files, "/a", to_bytes("the new")));
      files.crash(seed, CrashKind::kPower);
      const std::string found = to_text(files.content("/a"));
      EXPECT_TRUE(found == "the new" || (found == "the old one" && !done)) << found;
    }
  }
}

TEST(ReplaceWhole, AFullDiskLeavesTheOldOneAndNothingBeside) {
  MemoryFileSystem files;
  ASSERT_TRUE(replace_whole(files, "/a", to_bytes("old")));
  files.limit_space(6);
  EXPECT_EQ(replace_whole(files, "/a", to_bytes("larger")).error().kind, ErrorKind::kDiskFull);
  EXPECT_EQ(to_text(files.content("/a")), "old");
  EXPECT_EQ(files.space_used(), 3u);
}

TEST(RecordingFiles, RecordsCallsInOrderAndFailsTheOnesItIsTold) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  files.fail_call(CallKind::kWrite, 2, ErrorKind::kDiskFull);
  const auto file = *files.open("/a", OpenMode::kCreate);
  EXPECT_TRUE(file->write_at(0, to_bytes("a")));
  EXPECT_EQ(file->write_at(1, to_bytes("b")).error().kind, ErrorKind::kDiskFull);
  EXPECT_TRUE(file->write_at(1, to_bytes("c")));
  EXPECT_EQ(to_text(memory.content("/a")), "ac");
  const auto calls = files.calls();
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].kind, CallKind::kCreate);
  EXPECT_TRUE(calls[1].succeeded);
  EXPECT_FALSE(calls[2].succeeded);
  EXPECT_EQ(calls[3].position, 1u);
}

TEST(RecordingFiles, FailsEverySyncOfAPathUntilTold) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  const auto a = *files.open("/a.log", OpenMode::kCreate);
  const auto b = *files.open("/b", OpenMode::kCreate);
  std::string failed;
  files.on_failed_sync([&](const std::string& path) { failed = path; });
  files.fail_syncs(".log");
  EXPECT_FALSE(a->sync_data());
  EXPECT_FALSE(a->sync_data());
  EXPECT_TRUE(b->sync_data());
  EXPECT_EQ(failed, "/a.log");
  files.let_sync();
  EXPECT_TRUE(a->sync_data());
}

}  // namespace
}  // namespace lastword::test
