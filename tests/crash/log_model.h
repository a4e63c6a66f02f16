// SPDX-License-Identifier: Apache-2.0
// What a log must still know after a crash: a list of batches, beside the real log.
//
// Purpose   drives a log through a script, keeps what was told, and compares after a restart.
// Threads   one.
// Lifetime  lives through the crashes of the log that it watches.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/segment_writer.h"
#include "tests/support/log_fixture.h"

namespace lastword::test {

/// The fixture, with operations that may fail because the file system has stopped.
class CrashingLog : public LogFixture {
 public:
  explicit CrashingLog(Durability durability_wanted) : LogFixture(durability_wanted) {
    options.segment_bytes = 700;
    options.index_interval_bytes = 100;
  }

  bool stopped() const { return memory.stopped(); }
  bool running() const { return log != nullptr && !stopped(); }

  void start_log() {
    start();
    auto opened = try_open();
    if (!opened) {
      EXPECT_TRUE(stopped()) << opened.error().text;
      return;
    }
    log = *std::move(opened);
    told();
  }

  /// A batch of `records` records; a producer's sequence goes on by itself.
  void append_batch(int records, std::int64_t producer_id = kNoProducerId) {
    if (!running()) return;
    BatchSpec spec{.producer_id = producer_id, .base_sequence = sequences_[producer_id]};
    for (int i = 0; i < records; ++i) {
      spec.records.push_back({.key = "k" + std::to_string(i % 3),
                              .value = std::string(static_cast<std::size_t>(7 * i + 1), 'v')});
    }
    auto batch = checked_batch(spec);
    const Offset expected = log->offsets().log_end;
    auto appended = log->append(batch);
    if (!appended && !stopped()) {
      const ErrorKind kind = appended.error().kind;
      EXPECT_TRUE(kind == ErrorKind::kFenced || kind == ErrorKind::kStorage)
          << appended.error().text;
      return;
    }
    // Also what did not return may be there afterwards.
    const Offset base = appended ? appended->base_offset : expected;
    EXPECT_EQ(base, expected);
    const ByteView bytes = std::as_const(batch).bytes();
    Bytes stamped(bytes.begin(), bytes.end());
    stamp_offset(stamped, base, log->offsets().leader_epoch);
    batches_[base] = {stamped, base + records - 1, producer_id, spec};
    attempted_end_ = base + records;
    if (!appended) return;
    sequences_[producer_id] += records;
    if (durability == Durability::kOs) acknowledged_ = std::max(acknowledged_, attempted_end_);
    told();
  }

  void sync_log() {
    if (running() && log->sync()) told();
  }
  void heal_log() {
    if (!running()) return;
    auto healed = log->heal();
    if (!healed) return;
    told();
    // What the copy did not reach is gone, and its offsets may be given out.
    forget_from(healed->log_end);
  }
  void roll_log() {
    if (running() && log->close_active()) told();
  }
  void checkpoint_log() {
    if (!running()) return;
    EXPECT_TRUE(log->checkpoint() || stopped());
  }
  void close_log() {
    if (!log) return;
    EXPECT_TRUE(log->close() || stopped());
    log.reset();
  }

  void drop_log(Offset start) {
    if (!running() || start > log->offsets().high_watermark) return;
    log_start_wanted_ = std::max(log_start_wanted_, start);
    auto dropped = log->drop_before(start);
    if (dropped) log_start_ = log_start_wanted_;
    EXPECT_TRUE(dropped || stopped());
  }

  /// Puts a segment without every other batch in the place of the first two closed ones.
  void clean_log() {
    if (!running() || log->view().closed->size() < 2 || !log->checkpoint()) return;
    const auto closed = log->view().closed;
    storage::CleanedSegments cleaned{.replaced = {(*closed)[0], (*closed)[1]}};
    auto writer = storage::SegmentWriter::create(
        *env, kDirectory,
        {.base_offset = (*closed)[0]->info.base_offset, .generation = log->take_generation()}, {});
    if (!writer) return;
    std::set<Offset> leaving;
    bool keep = false;
    for (const auto& [base, batch] : batches_) {
      if (base < (*closed)[0]->info.base_offset || base > (*closed)[1]->info.last_offset) continue;
      if (gone_.contains(base) || batch.last < log_start_) continue;
      keep = !keep;
      if (!keep) {
        leaving.insert(base);
      } else if (!(*writer)->append(batch.bytes, {.header = *read_batch_header(batch.bytes)},
                                    clock.now_ms())) {
        return;
      }
    }
    if (!(*writer)->trim() || !(*writer)->sync_data() || !(*writer)->save_indexes() ||
        !memory.sync_directory(kDirectory)) {
      return;
    }
    cleaned.made.push_back((*writer)->info());
    cleaned.removed_tombstone_mark = (*closed)[0]->info.last_offset;
    leaving_ = leaving;
    mark_wanted_ = cleaned.removed_tombstone_mark;
    auto replaced = log->replace(cleaned);
    EXPECT_TRUE(replaced || stopped());
    if (!replaced) return;
    gone_.insert(leaving.begin(), leaving.end());
    leaving_.clear();
    mark_ = mark_wanted_;
  }

  /// Opens after a crash and compares everything.
  void compare_after(CrashKind kind) {
    start();
    auto opened = try_open();
    if (!opened) opened = try_open();  // a call was made to fail once
    ASSERT_TRUE(opened) << opened.error().text;
    log = *std::move(opened);
    const bool promised = durability == Durability::kFsync || kind == CrashKind::kProcess;
    const storage::Offsets offsets = log->offsets();
    if (promised) {
      EXPECT_GE(offsets.high_watermark, acknowledged_);
      EXPECT_GE(offsets.log_start, log_start_);
      EXPECT_GE(offsets.removed_tombstone_mark, mark_);
    }
    EXPECT_EQ(offsets.high_watermark, offsets.log_end) << "readable at start is synced at start";
    EXPECT_LE(offsets.log_end, std::max(attempted_end_, log_start_wanted_));
    EXPECT_TRUE(offsets.log_start == log_start_ || offsets.log_start == log_start_wanted_ ||
                !promised)
        << offsets.log_start << " is neither " << log_start_ << " nor " << log_start_wanted_;
    compare_batches(offsets, promised);
    compare_files();
    if (promised) compare_producers(offsets);
    settle(offsets);
  }

  Offset acknowledged() const { return acknowledged_; }

 private:
  struct Known {
    Bytes bytes{};
    Offset last = 0;
    std::int64_t producer_id = kNoProducerId;
    BatchSpec spec{};
  };

  void forget_from(Offset end) {
    std::erase_if(batches_, [&](const auto& known) { return known.second.last >= end; });
    attempted_end_ = end;
    count_sequences();
  }
  void count_sequences() {
    for (auto& [producer_id, sequence] : sequences_) sequence = 0;
    for (const auto& [base, known] : batches_) {
      if (known.producer_id < 0) continue;
      auto& sequence = sequences_[known.producer_id];
      const auto count = static_cast<std::int32_t>(known.spec.records.size());
      sequence = std::max(sequence, known.spec.base_sequence + count);
    }
  }

  /// What the log said, to whomever, holds from then on.
  void told() {
    const storage::Offsets offsets = log->offsets();
    EXPECT_GE(offsets.high_watermark, acknowledged_) << "the high watermark went back";
    acknowledged_ = std::max(acknowledged_, offsets.high_watermark);
  }

  void compare_batches(const storage::Offsets& offsets, bool promised) {
    std::map<Offset, Bytes> found;
    const Bytes all = read_all(offsets.log_start, 500);
    ByteView rest = all;
    for (const BatchHeader& header : headers_of(all)) {
      const ByteView bytes = rest.first(header.size_bytes());
      rest = rest.subspan(header.size_bytes());
      // Where the end is lost, a reader gets to the high watermark by a batch without records.
      const bool stands_for_lost = !promised && header.record_count == 0 &&
                                   header.max_timestamp < 0 &&
                                   header.last_offset() + 1 == offsets.high_watermark;
      if (!stands_for_lost) found[header.base_offset] = Bytes(bytes.begin(), bytes.end());
    }
    for (const auto& [base, bytes] : found) {
      const auto known = batches_.find(base);
      ASSERT_NE(known, batches_.end()) << "nobody wrote offset " << base;
      EXPECT_EQ(bytes, known->second.bytes) << "offset " << base;
      EXPECT_FALSE(promised && gone_.contains(base)) << "offset " << base << " came back";
    }
    std::size_t left = 0;
    for (const auto& [base, known] : batches_) {
      if (known.last < offsets.log_start || known.last >= offsets.log_end) continue;
      const bool there = found.contains(base);
      if (leaving_.contains(base)) left += there ? 0 : 1;
      const bool must = promised && known.last < acknowledged_ && !gone_.contains(base) &&
                        !leaving_.contains(base);
      EXPECT_TRUE(there || !must) << "lost offset " << base;
      if (!there && !gone_.contains(base) && !leaving_.contains(base)) lost_.insert(base);
    }
    if (offsets.log_start == log_start_wanted_ && log_start_ != log_start_wanted_) return;
    EXPECT_TRUE(left == 0 || left == leaving_.size() || !promised) << "half of a pass is there";
  }

  void compare_files() {
    std::set<std::string> allowed{"manifest"};
    const storage::LogView view = log->view();
    const auto allow = [&](const storage::SegmentInfo& info) {
      for (const auto file : {storage::SegmentFile::kLog, storage::SegmentFile::kOffsetIndex,
                              storage::SegmentFile::kTimeIndex}) {
        allowed.insert(storage::segment_file_name({info.base_offset, info.generation, file}));
      }
    };
    for (const auto& segment : *view.closed) allow(segment->info);
    allow(view.active);
    int snapshots = 0;
    for (const std::string& name : names()) {
      if (name.ends_with(".snapshot")) {
        ++snapshots;
      } else {
        EXPECT_TRUE(allowed.contains(name)) << name << " is left over";
      }
    }
    EXPECT_LE(snapshots, 1);
  }

  /// The last five batches of each producer are known, also those that a pass has removed.
  void compare_producers(const storage::Offsets& offsets) {
    std::map<std::int64_t, std::vector<const Known*>> by_producer;
    for (const auto& [base, known] : batches_) {
      if (known.producer_id < 0 || known.last >= offsets.log_end || lost_.contains(base)) continue;
      by_producer[known.producer_id].push_back(&known);
    }
    for (const auto& [producer_id, all] : by_producer) {
      for (std::size_t i = all.size() < 5 ? 0 : all.size() - 5; i < all.size(); ++i) {
        auto batch = checked_batch(all[i]->spec);
        auto again = log->append(batch);
        ASSERT_TRUE(again) << again.error().text;
        EXPECT_TRUE(again->duplicate) << "batch at " << all[i]->last << " was stored twice";
        EXPECT_EQ(again->last_offset, all[i]->last);
      }
    }
  }

  /// What was lost is forgotten, so that the script may go on.
  void settle(const storage::Offsets& offsets) {
    std::erase_if(batches_, [&](const auto& known) {
      return known.second.last >= offsets.log_end || lost_.contains(known.first);
    });
    lost_.clear();
    count_sequences();
    const Bytes all = read_all(offsets.log_start);
    std::set<Offset> there;
    for (const BatchHeader& header : headers_of(all)) there.insert(header.base_offset);
    for (const Offset base : leaving_) {
      if (!there.contains(base)) gone_.insert(base);
    }
    leaving_.clear();
    mark_ = mark_wanted_ = offsets.removed_tombstone_mark;
    log_start_ = log_start_wanted_ = offsets.log_start;
    attempted_end_ = offsets.log_end;
    acknowledged_ = offsets.high_watermark;
  }

  std::map<Offset, Known> batches_{};
  std::map<std::int64_t, std::int32_t> sequences_{};
  std::set<Offset> gone_{};     // by a pass that was committed
  std::set<Offset> leaving_{};  // by one that may have been
  std::set<Offset> lost_{};     // never acknowledged, though later ones are there
  Offset acknowledged_ = 0;
  Offset attempted_end_ = 0;
  Offset log_start_ = 0;
  Offset log_start_wanted_ = 0;
  Offset mark_ = 0;
  Offset mark_wanted_ = 0;
};

}  // namespace lastword::test
