// SPDX-License-Identifier: Apache-2.0
#include "storage/posix_file_system.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/support/text_bytes.h"

namespace lastword::storage {
namespace {

using test::to_bytes;
using test::to_text;

class PosixFiles : public testing::Test {
 protected:
  std::shared_ptr<File> create(const std::string& name, const std::string& content = "") {
    auto file = files_.open(directory_ / name, OpenMode::kCreate);
    EXPECT_TRUE(file) << file.error().text;
    EXPECT_TRUE((*file)->write_at(0, to_bytes(content)));
    return *file;
  }
  std::string read(const std::string& name) {
    const auto bytes = read_whole(files_, directory_ / name, 1 << 20);
    return bytes ? to_text(*bytes) : bytes.error().text;
  }

  test::TemporaryDirectory directory_;
  PosixFileSystem files_;
};

TEST_F(PosixFiles, WritesAreReadBackAtTheirPositions) {
  const auto file = create("a", "hello");
  EXPECT_TRUE(file->write_at(5, to_bytes(" there")));
  EXPECT_TRUE(file->write_at(0, to_bytes("H")));
  EXPECT_TRUE(file->sync_data());
  EXPECT_EQ(read("a"), "Hello there");
  EXPECT_EQ(*file->size_bytes(), 11u);
}

TEST_F(PosixFiles, ReadsAreShortOnlyAtTheEnd) {
  const auto file = create("a", "0123456789");
  Bytes into(4);
  EXPECT_EQ(*file->read_at(3, into), 4u);
  EXPECT_EQ(to_text(into), "3456");
  EXPECT_EQ(*file->read_at(8, into), 2u);
  EXPECT_EQ(*file->read_at(10, into), 0u);
  EXPECT_EQ(*file->read_at(1000, into), 0u);
}

TEST_F(PosixFiles, CreatingEmptiesAndOpeningDoesNot) {
  create("a", "old");
  EXPECT_TRUE(files_.open(directory_ / "a", OpenMode::kReadWrite));
  EXPECT_EQ(read("a"), "old");
  EXPECT_TRUE(files_.open(directory_ / "a", OpenMode::kCreate));
  EXPECT_EQ(read("a"), "");
}

TEST_F(PosixFiles, AMissingFileIsNotFoundAndTheErrorNamesCallPathAndReason) {
  const auto file = files_.open(directory_ / "gone", OpenMode::kRead);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(file.error().text, "open " + (directory_ / "gone") + ": No such file or directory");
}

TEST_F(PosixFiles, AFullDiskIsToldApart) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  auto file = files_.open("/dev/full", OpenMode::kReadWrite);
  ASSERT_TRUE(file);
  const auto written = (*file)->write_at(0, to_bytes("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kDiskFull);
}

TEST_F(PosixFiles, TooManyOpenFilesIsToldApart) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto probe = create("probe");
  rlimit lower = before;
  lower.rlim_cur = static_cast<rlim_t>(probe->descriptor());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  const auto file = files_.open(directory_ / "a", OpenMode::kCreate);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kTooManyOpenFiles);
}

TEST_F(PosixFiles, AllocatingTakesSpaceAndLeavesTheSize) {
  const auto file = create("a", "abc");
  ASSERT_TRUE(file->allocate(0, 1 << 20));
  EXPECT_EQ(*file->size_bytes(), 3u);
  struct stat facts {};
  ASSERT_EQ(::fstat(file->descriptor(), &facts), 0);
  if (facts.st_blocks * 512 < 1 << 20) GTEST_SKIP() << "this file system does not allocate ahead";
  ASSERT_TRUE(file->truncate(3));
  ASSERT_EQ(::fstat(file->descriptor(), &facts), 0);
  EXPECT_LT(facts.st_blocks * 512, 1 << 20) << "cutting gives back what was taken ahead";
}

TEST_F(PosixFiles, SpaceThatWasTakenAndNeverWrittenIsAHole) {
  constexpr std::uint64_t kBlocks = 1 << 20;
  const auto file = create("a");
  ASSERT_TRUE(file->allocate(0, 3 * kBlocks));
  ASSERT_TRUE(file->write_at(0, Bytes(kBlocks)));
  ASSERT_TRUE(file->write_at(2 * kBlocks, Bytes(kBlocks, std::byte{1})));
  ASSERT_TRUE(file->sync_data());
  EXPECT_EQ(*file->first_hole(0, 3 * kBlocks), kBlocks);
  EXPECT_EQ(*file->first_hole(0, kBlocks / 2), kBlocks / 2);
  EXPECT_EQ(*file->first_hole(2 * kBlocks, 3 * kBlocks), 3 * kBlocks);
  EXPECT_EQ(*file->first_hole(3 * kBlocks, 3 * kBlocks), 3 * kBlocks) << "at the end";
}

TEST_F(PosixFiles, TruncatingCutsAndGrows) {
  const auto file = create("a", "abcdef");
  EXPECT_TRUE(file->truncate(2));
  EXPECT_EQ(read("a"), "ab");
  EXPECT_TRUE(file->truncate(3));
  EXPECT_EQ(read("a"), std::string("ab\0", 3));
}

TEST_F(PosixFiles, ARenameReplacesTheTarget) {
  create("a", "new");
  create("b", "old");
  EXPECT_TRUE(files_.rename(directory_ / "a", directory_ / "b"));
  EXPECT_EQ(read("b"), "new");
  EXPECT_FALSE(files_.status(directory_ / "a")->exists);
  EXPECT_EQ(files_.rename(directory_ / "a", directory_ / "b").error().kind, ErrorKind::kNotFound);
}

TEST_F(PosixFiles, RemovingWhatIsNotThereSucceeds) {
  EXPECT_TRUE(files_.remove(directory_ / "gone"));
  EXPECT_TRUE(files_.remove_tree(directory_ / "gone"));
}

TEST_F(PosixFiles, ARemovedFileCanBeReadWhileItIsHeld) {
  const auto file = create("a", "still here");
  EXPECT_TRUE(files_.remove(directory_ / "a"));
  Bytes into(10);
  EXPECT_EQ(*file->read_at(0, into), 10u);
  EXPECT_EQ(to_text(into), "still here");
}

TEST_F(PosixFiles, FoldersAreMadeListedAndRemovedWithAllThatIsInThem) {
  EXPECT_TRUE(files_.create_directories(directory_ / "x/y"));
  EXPECT_TRUE(files_.create_directories(directory_ / "x/y"));
  create("x/b");
  create("x/a");
  auto names = *files_.list(directory_ / "x");
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "y"}));
  EXPECT_TRUE(files_.sync_directory(directory_ / "x"));
  EXPECT_TRUE(files_.remove_tree(directory_ / "x"));
  EXPECT_EQ(files_.list(directory_ / "x").error().kind, ErrorKind::kNotFound);
}

TEST_F(PosixFiles, StatusTellsSizeAndTimes) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  create("a", "12345");
  const FileStatus status = *files_.status(directory_ / "a");
  EXPECT_TRUE(status.exists);
  EXPECT_EQ(status.size_bytes, 5u);
  EXPECT_NEAR(static_cast<double>(status.created_ms), static_cast<double>(now), 60'000);
  EXPECT_NEAR(static_cast<double>(status.modified_ms), static_cast<double>(now), 60'000);
  EXPECT_FALSE(files_.status(directory_ / "a/b")->exists) << "a file is no folder";
}

TEST_F(PosixFiles, ALockKeepsOthersOutUntilItIsReleased) {
  auto held = files_.lock(directory_ / "lock");
  ASSERT_TRUE(held);
  const auto refused = files_.lock(directory_ / "lock");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kStorage);
  EXPECT_NE(refused.error().text.find(directory_ / "lock"), std::string::npos);
  held->reset();
  EXPECT_TRUE(files_.lock(directory_ / "lock"));
}

TEST_F(PosixFiles, ALockDiesWithItsProcess) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(files_.lock(directory_ / "lock") ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(files_.lock(directory_ / "lock"));
}

TEST_F(PosixFiles, DescriptorsAreClosedInAProgramThatIsStarted) {
  const auto file = create("a");
  EXPECT_NE(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(PosixFiles, TheBootIdIsStable) {
  EXPECT_FALSE(files_.boot_id().empty());
  EXPECT_EQ(files_.boot_id(), PosixFileSystem().boot_id());
}

TEST_F(PosixFiles, ReplacingWholeLeavesNothingBeside) {
  create("a", "old and long");
  EXPECT_TRUE(replace_whole(files_, directory_ / "a", to_bytes("new")));
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(*files_.list(directory_.path()), std::vector<std::string>{"a"});
}

TEST_F(PosixFiles, ReadingWholeRefusesWhatIsTooLarge) {
  create("a", "12345");
  EXPECT_TRUE(read_whole(files_, directory_ / "a", 5));
  EXPECT_EQ(read_whole(files_, directory_ / "a", 4).error().kind, ErrorKind::kDamaged);
}

}  // namespace
}  // namespace lastword::storage
