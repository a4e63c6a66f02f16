// SPDX-License-Identifier: Apache-2.0
// One partition's log: record batches in offset order, kept in segment files.
//
// Promises  what was acknowledged stays, offsets never change, readers see only below the high
//           watermark. FORMAT.md gives every file and what a crash can leave.
// Threads   any thread may call any member. append_mutex_ orders everything that changes the log
//           and may be held while the disk works; state_mutex_ guards what is published and is
//           never held across I/O; sync_mutex_ lets one sync run at a time beside appends. Order of
//           taking: sync_mutex_, append_mutex_, state_mutex_. Members marked "never blocks" take at
//           most state_mutex_; only those may be called on a loop thread.
// Lifetime  readers may hold file ranges and segments longer than the log; close() before the end,
//           or the next open() recovers.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/options.h"
#include "protocol/batch_check.h"
#include "protocol/byte_source.h"
#include "storage/environment.h"
#include "storage/manifest.h"
#include "storage/mutex.h"
#include "storage/producer_state.h"
#include "storage/segment.h"

namespace lastword::storage {

class SegmentWriter;

/// What append() did. For a duplicate the offsets are those of the original.
struct Appended {
  Offset base_offset = 0;
  Offset last_offset = 0;
  TimestampMs log_append_time = -1;  // -1 for create time
  Offset log_start = 0;
  bool duplicate = false;
  bool sync_wanted = false;  // the flusher should call sync(): always under fsync; flush.messages
  std::uint64_t fences = 0;  // see Offsets
  bool opened_segment = false;  // first batch of its segment: active_close_due_ms() has changed
  bool first_unsynced = false;  // all before it was durable: flush_due_ms() has changed
};

/// Offsets at one moment. log_start <= high_watermark <= log_end.
struct Offsets {
  Offset log_start = 0;
  Offset high_watermark = 0;
  Offset log_end = 0;
  Offset removed_tombstone_mark = 0;
  std::int32_t leader_epoch = 0;
  bool fenced = false;
  /// How often a sync has failed since open(). Who waits for an append to become durable compares
  /// it with what append() told: if it changed, the batch may be lost though its offset is reached.
  std::uint64_t fences = 0;
};

/// Whole batches from the one that holds the asked offset (or the next after a gap).
struct ReadPlan {
  std::vector<FileRange> ranges{};
  std::uint64_t size_bytes = 0;
  Offset next_offset = 0;  // where a reader goes on: behind the last batch, perhaps behind a gap
  Offsets offsets{};       // as of the plan: mark and segments belong together
};

struct ReadLimits {
  std::uint64_t bytes_max = 0;
  bool first_batch_whole = true;  // even above bytes_max (KIP-74)
};

struct TimestampOffset {
  TimestampMs timestamp = -1;
  Offset offset = -1;
  std::int32_t leader_epoch = -1;
};

/// What the cleaner, retention and the scheduler look at. Taken at one moment, never blocks.
struct LogView {
  std::shared_ptr<const SegmentList> closed{};  // ascending
  SegmentInfo active{};                         // written, not necessarily durable
  Offsets offsets{};
  Offset clean_end = 0;
  std::vector<DamagedRange> damaged{};
  std::shared_ptr<const TopicOptions> options{};
  std::string directory{};
};

/// A segment made by the cleaner, complete and synced, not yet listed.
struct CleanedSegments {
  std::vector<SegmentPtr> replaced{};  // neighbours in the log
  std::vector<SegmentInfo> made{};     // may be empty only if nothing of the range must stay
  Offset removed_tombstone_mark = 0;   // the log's becomes the larger of both
};

class Log {
 public:
  struct Identity {
    std::string name{};  // "topic-0", for messages
    std::string directory{};
    TopicId topic_id{};
  };

  /// Opens the log, creating it if absent, recovering after an unclean stop: a torn tail is cut,
  /// indexes are rebuilt, and what is readable afterwards is synced first. A directory that
  /// belongs to another topic id is kDamaged (the caller moves it away).
  static Result<std::unique_ptr<Log>> open(const Environment& env, Identity identity,
                                           std::shared_ptr<const TopicOptions> options);
  ~Log();

  /// Keeps the partition's folder in its place for as long as it lives: files are found by their
  /// names, and a topic that is made again has the same ones. Members that touch files have one of
  /// their own; a pass, which makes files itself, holds one throughout. kClosed once the log is
  /// being abandoned.
  class Use;
  Result<Use> use() const;

  /// Gives the batch its offsets and writes it at the end, rolling first when due. Every failure
  /// (kOutOfOrderSequence, kInvalidProducerEpoch, kDiskFull, kFenced, kStorage, kClosed) leaves the
  /// log as it was. Under durability os the high watermark moves with it.
  Result<Appended> append(CheckedBatch& batch);

  /// Makes everything written so far durable and returns the offsets then; one fdatasync, beside
  /// which appends go on. A failure fences the log (kFenced). Checkpoints from time to time.
  Result<Offsets> sync();

  /// The moment at which the oldest append that is not durable is flush.ms old, and sync() is
  /// wanted; kUnlimited if there is none, under fsync, and while fenced. Never blocks.
  TimestampMs flush_due_ms() const;

  /// After a fence: closes the active file at its durable end, copies what lies behind it and is
  /// good into a new file, syncs that, and goes on there. Fails (still fenced) while syncs fail.
  Result<Offsets> heal();

  /// Batches at or behind `from`, below the high watermark. Empty ranges at the high watermark;
  /// kOffsetOutOfRange outside [log start, log end]. An offset in a gap is answered with the next
  /// batch; where none is left, with one that is made for the answer and holds no records, so that
  /// every reader gets to the high watermark. May wait for the disk.
  Result<ReadPlan> read(Offset from, const ReadLimits& limits) const;

  /// Never blocks.
  Offsets offsets() const;
  /// Bytes from `from` to the high watermark, at most; an estimate that is 0 only if there is
  /// nothing to read. Never blocks. For deciding whether a waiting fetch has enough.
  std::uint64_t readable_bytes(Offset from) const;
  /// Never blocks.
  LogView view() const;

  /// First record below the high watermark with timestamp >= `at` and offset >= log start; offset
  /// -1 if there is none (ListOffsets). Looks into batches.
  Result<TimestampOffset> find_timestamp(TimestampMs at) const;
  /// The record with the largest timestamp (ListOffsets -3).
  Result<TimestampOffset> find_max_timestamp() const;
  /// Epoch of the record at `offset`, -1 if unknown; KIP-101's end of an epoch. Never blocks.
  std::int32_t leader_epoch_at(Offset offset) const;
  struct EpochEnd {
    std::int32_t epoch = -1;
    Offset end_offset = -1;
  };
  EpochEnd end_of_epoch(std::int32_t epoch) const;

  /// The moment from which close_active() has something to do by the clock (segment.ms, and
  /// max.compaction.lag.ms for compacted topics); kUnlimited when the active segment is empty.
  TimestampMs active_close_due_ms() const;
  /// Closes the active segment if `now` is at or past that moment; true if it did.
  Result<bool> close_active_if_due(TimestampMs now);
  /// Closes it whatever the clock says; false if it is empty.
  Result<bool> close_active();

  /// Raises log start to `start` (at most the high watermark) and removes the segments that lie
  /// wholly below; if that is every segment with data, a new active one is made first. Log start is
  /// raised durably before files go.
  Result<> drop_before(Offset start);

  /// Makes producer state and recovery point durable up to the end of the closed segments: to be
  /// called before a pass removes batches.
  Result<> checkpoint();
  /// A generation number for a segment that the cleaner is going to make.
  std::uint32_t take_generation();
  /// Puts cleaned segments in place of their sources, in one manifest write. kCancelled if one of
  /// `replaced` is no longer there (retention was faster) or was found damaged; the caller removes
  /// what it made. After any other failure that is the log's: the manifest on disk may list it.
  Result<> replace(const CleanedSegments& cleaned);
  Result<> set_clean_end(Offset clean_end);
  /// Lists a damaged range found by a reader or a pass.
  Result<> add_damage(const DamagedRange& range);
  /// Takes out a range whose bytes were verified to be good again. Its segment, which is closed
  /// first if it is the active one, is summed up anew: the sum may be that of the bad bytes.
  Result<> remove_damage(const DamagedRange& range);

  /// Unlinks replaced and dropped files whose file.delete.delay.ms is over; the earliest moment at
  /// which there is more to do, or kUnlimited.
  TimestampMs remove_old_files(TimestampMs now);
  void expire_producers(TimestampMs now);

  /// Takes effect at the next append, look or pass. Never blocks.
  void set_options(std::shared_ptr<const TopicOptions> options);
  std::shared_ptr<const TopicOptions> options() const;

  /// Syncs, saves indexes and producer state, so that the next open() reads no segment. Later calls
  /// that change the log answer kClosed.
  Result<> close();
  /// As close() without saving anything: the partition is being deleted. Waits for those who use
  /// its folder.
  void abandon();

  const Identity& identity() const;

 private:
  class Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  template <class Work>
  auto in_use(Work work) const -> decltype(work());
  std::unique_ptr<Impl> impl_;
};

class Log::Use {
 public:
  Use(Use&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  Use& operator=(Use&& other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~Use();

 private:
  friend class Log;
  explicit Use(Impl& of) : of_(&of) {}
  Impl* of_;
};

}  // namespace lastword::storage
