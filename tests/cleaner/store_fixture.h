// SPDX-License-Identifier: Apache-2.0
// A data directory in memory with its topics and its cleaner, and a clock moved by hand.
//
// Purpose   what cleaner and storage do together, without a socket: append, move the clock, run
// what
//           is due, read it all back. stop(), crash() and start() as a daemon's process would.
// Threads   one test.
// Lifetime  everything is gone with the object.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cleaner/cleaner.h"
#include "storage/file_names.h"
#include "storage/topic_store.h"
#include "tests/support/batches.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"

namespace lastword::test {

using Settings = std::map<std::string, std::string>;

class StoreFixture {
 public:
  StoreFixture() {
    options.data_dir = "/data";
    options.limits.disk_reserve_bytes = 0;
  }
  ~StoreFixture() { cleaner.reset(); }

  ManualClock clock{};
  MemoryFileSystem files{&clock};
  RecordingFileSystem calls{files};  // what the store gets: for calls that fail
  BrokerOptions options{};
  std::vector<std::string> lines{};  // of the operator's log; see note()
  std::unique_ptr<storage::TopicStore> store{};
  std::unique_ptr<cleaner::Cleaner> cleaner{};

  /// False if a crash point was reached on the way.
  bool start() {
    auto opened = storage::TopicStore::open(
        calls, clock, options, [this](storage::Severity, const std::string& line) { note(line); });
    if (!opened) return note(opened.error().text), false;
    store = std::move(*opened);
    store->load(1);
    cleaner = std::make_unique<cleaner::Cleaner>(
        *store, options, [this](const storage::PartitionPtr&) { ++changes; });
    return true;
  }
  void stop() {
    cleaner.reset();
    if (store) static_cast<void>(store->close(std::chrono::steady_clock::now() + kPatience));
    store.reset();
  }
  void crash(CrashKind kind, std::uint64_t seed = 1, const PowerCut& cut = {}) {
    files.stop_at(files.operations() + 1);
    cleaner.reset();
    store.reset();
    files.crash(seed, kind, cut);
  }
  void restart_after_crash(CrashKind kind, std::uint64_t seed = 1, const PowerCut& cut = {}) {
    crash(kind, seed, cut);
    ASSERT_TRUE(start()) << lines.back();
  }

  void create(const std::string& topic, const Settings& settings) {
    auto created = store->create({.name = topic, .partitions = 1, .overrides = settings});
    ASSERT_TRUE(created) << created.error().text;
  }
  storage::PartitionPtr partition(const std::string& topic) const {
    return store->partition(topic, 0);
  }
  storage::Log& log(const std::string& topic) const {
    log_ = partition(topic)->log();
    LW_CHECK(log_ != nullptr);
    return *log_;
  }

  /// One batch, durable. Returns its first offset; -1 if that failed.
  Offset append(const std::string& topic, BatchSpec spec) {
    if (spec.timestamp == kBatchTime) spec.timestamp = clock.now_ms();
    const Offset base_offset = append_unsynced(topic, spec);
    if (base_offset < 0) return -1;
    if (auto synced = log(topic).sync(); !synced) return last_error = synced.error().text, -1;
    return base_offset;
  }
  Offset append_unsynced(const std::string& topic, const BatchSpec& spec) {
    CheckedBatch checked = checked_batch(spec);
    auto appended = log(topic).append(checked);
    if (!appended) return last_error = appended.error().text, -1;
    return appended->base_offset;
  }
  Offset put(const std::string& topic, const std::string& key,
             const std::optional<std::string>& value, Codec codec = Codec::kNone) {
    return append(topic, {.records = {{key, value}}, .codec = codec});
  }
  /// Closes the active segment, whatever the clock says.
  void roll(const std::string& topic) {
    auto closed = log(topic).close_active();
    ASSERT_TRUE(closed) << closed.error().text;
  }
  TimestampMs run_due() { return cleaner->run_due(); }
  void advance(std::int64_t by_ms) {
    clock.advance(by_ms);
    run_due();
  }

  /// All batches between log start and high watermark, as a reader that follows the last offset + 1
  /// gets them. Reaching the high watermark is part of it.
  Bytes read_bytes(const std::string& topic, std::optional<Offset> from = std::nullopt) const {
    const storage::Log& source = log(topic);
    const storage::Offsets offsets = source.offsets();
    Offset position = from.value_or(offsets.log_start);
    Bytes all;
    while (position < offsets.high_watermark) {
      auto plan = source.read(position, {.bytes_max = 1 << 20});
      if (!plan) return ADD_FAILURE() << plan.error().text, all;
      if (plan->ranges.empty() || plan->next_offset <= position) {
        ADD_FAILURE() << "a reader at " << position << " gets nothing below "
                      << offsets.high_watermark;
        return all;
      }
      for (const FileRange& range : plan->ranges) {
        Bytes piece(range.length_bytes);
        auto read = range.source->read_at(range.position, piece);
        EXPECT_TRUE(read && *read == piece.size());
        test::append(all, piece);
      }
      position = plan->next_offset;
    }
    return all;
  }
  std::vector<OwnedRecord> read(const std::string& topic) const {
    return records_of(read_bytes(topic));
  }
  /// What a reader ends with that applies values and tombstones in order.
  std::map<std::string, std::string> table(const std::string& topic) const {
    std::map<std::string, std::string> rows;
    for (const OwnedRecord& record : read(topic)) {
      if (!record.key) continue;
      if (record.value) {
        rows[*record.key] = *record.value;
      } else {
        rows.erase(*record.key);
      }
    }
    return rows;
  }
  std::vector<Offset> offsets_left(const std::string& topic) const {
    std::vector<Offset> left;
    for (const OwnedRecord& record : read(topic)) left.push_back(record.offset);
    return left;
  }
  std::size_t closed_segments(const std::string& topic) const {
    return log(topic).view().closed->size();
  }
  cleaner::PartitionReport report(const std::string& topic) const {
    return cleaner->report(*partition(topic));
  }
  /// Path of a file of a closed segment.
  std::string segment_path(const std::string& topic, std::size_t index,
                           storage::SegmentFile file = storage::SegmentFile::kLog) const {
    const auto segment = (*log(topic).view().closed)[index];
    return storage::path_in(
        segment->directory,
        storage::segment_file_name({segment->info.base_offset, segment->info.generation, file}));
  }
  /// Whether any file of the partition holds these bytes.
  bool on_disk(const std::string& topic, const std::string& text) const {
    const std::string directory = log(topic).identity().directory;
    auto names = files.list(directory);
    if (!names) return false;
    for (const std::string& name : *names) {
      const std::string content = to_text(files.content(storage::path_in(directory, name)));
      if (content.find(text) != std::string::npos) return true;
    }
    return false;
  }
  bool said(const std::string& text) const {
    const std::lock_guard lock(lines_mutex_);
    for (const std::string& line : lines) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

  std::string last_error{};
  std::atomic<int> changes = 0;  // calls of the cleaner's `changed`

 private:
  void note(const std::string& line) {
    const std::lock_guard lock(lines_mutex_);
    lines.push_back(line);
  }

  static constexpr auto kPatience = std::chrono::seconds(10);
  mutable std::shared_ptr<storage::Log> log_{};
  mutable std::mutex lines_mutex_{};
};

/// A topic that is compacted as soon as its segment is closed: short times, no ratio.
inline Settings fast_compacted(const Settings& more = {}) {
  Settings settings = {{"cleanup.policy", "compact"},
                       {"segment.ms", "1000"},
                       {"min.cleanable.dirty.ratio", "0.01"},
                       {"max.compaction.lag.ms", "1000"},
                       {"delete.retention.ms", "5000"}};
  for (const auto& [name, value] : more) settings[name] = value;
  return settings;
}

}  // namespace lastword::test
