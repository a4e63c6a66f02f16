// SPDX-License-Identifier: Apache-2.0
// A log over files in memory, with everything that a test wants to turn: time, settings, crashes,
// failing calls, a full disk.
//
// Purpose   class LogTest : public testing::Test, protected test::LogFixture {};
// Threads   the log's own rules; the fixture belongs to one thread.
// Lifetime  holds the log and all below it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/file_names.h"
#include "storage/log.h"
#include "tests/support/batches.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"

namespace lastword::test {

class LogFixture {
 public:
  static constexpr const char* kDirectory = "/data/addresses-0";

  explicit LogFixture(Durability durability_wanted = Durability::kFsync)
      : durability(durability_wanted) {
    options.segment_bytes = 1 << 20;
    if (!memory.create_directories("/data") || !memory.sync_directory("/data") ||
        !memory.sync_directory("/")) {
      ADD_FAILURE() << "no directory";
    }
    start();
  }

  /// A daemon's start: nothing but the files is left of what was.
  void start() {
    log.reset();
    cache = std::make_unique<storage::FileCache>(files, files_max);
    reserve = std::make_unique<storage::DiskReserve>(files, "/data/reserve", reserve_bytes);
    reserve->refill();
    env = std::make_unique<storage::Environment>(
        storage::Environment{.files = files,
                             .clock = clock,
                             .cache = *cache,
                             .reserve = *reserve,
                             .report =
                                 [this](storage::Severity, const std::string& line) {
                                   const std::lock_guard lock(reports_mutex_);
                                   reports.push_back(line);
                                 },
                             .durability = durability});
    env->raise_leader_epoch = raise_leader_epoch;
    env->producer_ids_max = producer_ids_max;
  }

  Result<std::unique_ptr<storage::Log>> try_open() {
    return storage::Log::open(*env, {"addresses-0", kDirectory, topic_id},
                              std::make_shared<const TopicOptions>(options));
  }
  void open() {
    auto opened = try_open();
    ASSERT_TRUE(opened) << opened.error().text;
    log = std::move(*opened);
  }
  void reopen() {
    start();
    open();
  }
  void crash_and_open(CrashKind kind, const PowerCut& cut = {}, std::uint64_t seed = 1) {
    log.reset();
    memory.crash(seed, kind, cut);
    reopen();
  }
  void close() {
    auto closed = log->close();
    ASSERT_TRUE(closed) << closed.error().text;
  }
  void set_options() { log->set_options(std::make_shared<const TopicOptions>(options)); }

  storage::Appended append(const BatchSpec& spec) {
    auto batch = checked_batch(spec);
    auto appended = log->append(batch);
    EXPECT_TRUE(appended) << appended.error().text;
    return appended ? *appended : storage::Appended{};
  }
  /// One record of the given key.
  storage::Appended append(std::string_view key, std::string_view value = "value") {
    return append({.records = {{.key = std::string(key), .value = std::string(value)}}});
  }
  ErrorKind append_error(const BatchSpec& spec) {
    auto batch = checked_batch(spec);
    auto appended = log->append(batch);
    EXPECT_FALSE(appended) << "was taken";
    last_error = appended ? "" : appended.error().text;
    return appended ? ErrorKind::kMalformed : appended.error().kind;
  }
  storage::Offsets sync() {
    auto offsets = log->sync();
    EXPECT_TRUE(offsets) << offsets.error().text;
    return offsets ? *offsets : storage::Offsets{};
  }
  void roll() {
    auto closed = log->close_active();
    ASSERT_TRUE(closed) << closed.error().text;
    ASSERT_TRUE(*closed);
  }

  static Bytes bytes_of(const storage::ReadPlan& plan) {
    Bytes bytes;
    for (const FileRange& range : plan.ranges) {
      Bytes part(range.length_bytes);
      auto read = range.source->read_at(range.position, part);
      EXPECT_TRUE(read) << read.error().text;
      EXPECT_TRUE(read && *read == part.size()) << "a range that is longer than its file";
      append_bytes(bytes, part);
    }
    EXPECT_EQ(bytes.size(), plan.size_bytes);
    return bytes;
  }
  storage::ReadPlan plan(Offset from, std::uint64_t bytes_max = 1 << 30) {
    auto read = log->read(from, {.bytes_max = bytes_max});
    EXPECT_TRUE(read) << read.error().text;
    return read ? *read : storage::ReadPlan{};
  }
  /// Everything from `from` to the high watermark, as a reader gets it who goes on behind each
  /// answer.
  Bytes read_all(Offset from, std::uint64_t bytes_max = 1 << 30) {
    Bytes all;
    for (;;) {
      const storage::ReadPlan part = plan(from, bytes_max);
      if (part.ranges.empty()) return all;
      append_bytes(all, bytes_of(part));
      EXPECT_GT(part.next_offset, from) << "a reader would stand still";
      if (part.next_offset <= from) return all;
      from = part.next_offset;
    }
  }
  std::vector<OwnedRecord> records(Offset from = 0) { return records_of(read_all(from)); }
  std::vector<Offset> offsets_read(Offset from = 0) {
    std::vector<Offset> offsets;
    for (const OwnedRecord& record : records(from)) offsets.push_back(record.offset);
    return offsets;
  }

  std::vector<std::string> names() const {
    auto listed = memory.list(kDirectory);
    return listed ? *listed : std::vector<std::string>{};
  }
  bool has_file(const std::string& name) const {
    const auto all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  static std::string path(Offset base_offset, std::uint32_t generation = 0,
                          storage::SegmentFile file = storage::SegmentFile::kLog) {
    return storage::path_in(kDirectory,
                            storage::segment_file_name({base_offset, generation, file}));
  }
  bool reported(std::string_view words) const {
    return std::any_of(reports.begin(), reports.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  }

  Durability durability;
  ManualClock clock{};
  MemoryFileSystem memory{&clock};
  RecordingFileSystem files{memory};
  std::size_t files_max = 64;
  std::int64_t reserve_bytes = 0;
  std::int64_t producer_ids_max = 1000;
  bool raise_leader_epoch = false;
  TopicOptions options{};
  storage::TopicId topic_id{std::byte{7}};
  std::vector<std::string> reports{};
  std::string last_error{};
  std::unique_ptr<storage::FileCache> cache{};
  std::unique_ptr<storage::DiskReserve> reserve{};
  std::unique_ptr<storage::Environment> env{};
  std::unique_ptr<storage::Log> log{};

 private:
  static void append_bytes(Bytes& out, ByteView more) {
    out.insert(out.end(), more.begin(), more.end());
  }

  std::mutex reports_mutex_{};
};

}  // namespace lastword::test
