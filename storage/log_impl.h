// SPDX-License-Identifier: Apache-2.0
// The inside of a Log: what is kept, and which lock guards it.
//
// Parts     log.cpp: opening, looking; log_append.cpp: appends and rolls; log_sync.cpp: syncs,
// fence,
//           checkpoints, close; log_heal.cpp; log_read.cpp; log_lookup.cpp: by time and epoch;
//           log_replace.cpp: what removes or replaces segments; log_damage.cpp.
// Threads   order of taking: sync_mutex_, append_mutex_, then one of data_sync_mutex_ (held across
// a
//           sync) and state_mutex_ (never held across I/O). Readers that build an index anew take
//           rebuild_mutex_ in front of append_mutex_.
// Lifetime  private to storage/log*.cpp.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/batch_walk.h"
#include "storage/log.h"
#include "storage/log_state.h"
#include "storage/recovery.h"
#include "storage/segment_scan.h"

namespace lastword::storage {

class Log::Impl {
 public:
  Impl(const Environment& env, Identity identity, std::shared_ptr<const TopicOptions> options,
       Recovered recovered);

  Result<Appended> append(CheckedBatch& batch);
  Result<Offsets> sync();
  TimestampMs flush_due_ms() const;
  Result<Offsets> heal();
  Result<ReadPlan> read(Offset from, const ReadLimits& limits);
  Offsets offsets() const;
  std::uint64_t readable_bytes(Offset from) const;
  LogView view() const;
  Result<TimestampOffset> find_timestamp(TimestampMs at);
  Result<TimestampOffset> find_max_timestamp();
  std::int32_t leader_epoch_at(Offset offset) const;
  EpochEnd end_of_epoch(std::int32_t epoch) const;
  TimestampMs active_close_due_ms() const;
  Result<bool> close_active(std::optional<TimestampMs> if_due_at);
  Result<> drop_before(Offset start);
  Result<> checkpoint();
  std::uint32_t take_generation();
  Result<> replace(const CleanedSegments& cleaned);
  Result<> set_clean_end(Offset clean_end);
  Result<> add_damage(const DamagedRange& range);
  Result<> remove_damage(const DamagedRange& range);
  TimestampMs remove_old_files(TimestampMs now);
  void expire_producers(TimestampMs now);
  void set_options(std::shared_ptr<const TopicOptions> options);
  std::shared_ptr<const TopicOptions> options() const;
  Result<> close();
  bool begin_use() EXCLUDES(use_mutex_);
  void end_use() EXCLUDES(use_mutex_);
  void abandon();
  const Identity& identity() const { return identity_; }

 private:
  using DamageList = LogDamageList;
  using State = LogState;
  using Change = LogChange;
  using SyncPoint = LogSyncPoint;
  using Place = LogPlace;
  using ReadView = LogReadView;

  bool fsync() const { return env_.durability == Durability::kFsync; }
  void report(Severity severity, const std::string& text) const;
  std::string path_of(const SegmentInfo& info, SegmentFile file = SegmentFile::kLog) const {
    return segment_path(identity_.directory, info, file);
  }

  // log.cpp
  Result<> usable() const;    // kClosed
  Result<> writable() const;  // kClosed, kFenced
  Change change() const REQUIRES(append_mutex_);
  /// Makes `change` the truth: saved, then published together with what `also` changes. On failure
  /// nothing has changed here, but the disk may hold either: see settle_manifest().
  Result<> commit(Change change, const std::function<void(State&)>& also = {})
      REQUIRES(append_mutex_);
  void adopt(Change change, const std::function<void(State&)>& also) REQUIRES(append_mutex_);
  Result<> save(const Change& change) REQUIRES(append_mutex_);
  /// After a failed save the manifest on disk is in doubt; nothing may be acknowledged that it
  /// might not list. Saves the present one again.
  Result<> settle_manifest() REQUIRES(append_mutex_);
  void remove_file(const std::string& path);
  void remove_segment_files(const SegmentInfo& info);

  // log_append.cpp
  Result<> room_for(ByteView batch) const;
  Result<Appended> duplicate(const ProducerBatch& original) const;
  bool roll_wanted(const BatchHeader& header, std::size_t batch_bytes, TimestampMs now) const
      REQUIRES(append_mutex_);
  Result<> roll() REQUIRES(append_mutex_);
  Result<> begin_segment(const SegmentPtr& closing, std::optional<Offset> snapshot)
      REQUIRES(append_mutex_);
  Appended publish_append(const BatchHeader& header, std::uint64_t batch_bytes);

  // log_sync.cpp
  SyncPoint sync_point() const;
  Result<> sync_files(const SyncPoint& point);
  Result<> sync_file(const std::string& path);
  Result<> publish_durable(const SyncPoint& point);
  Result<> sync_everything() REQUIRES(append_mutex_);
  Result<> save_checkpoint() REQUIRES(append_mutex_);
  void fence() REQUIRES(append_mutex_);
  Result<> settle_fence() REQUIRES(append_mutex_);

  // log_replace.cpp
  Result<> replace_locked(const CleanedSegments& cleaned, const std::vector<SegmentInfo>& gone)
      REQUIRES(append_mutex_);
  void retire(const std::vector<SegmentInfo>& gone);

  // log_heal.cpp
  struct Source {
    SegmentInfo info{};
    std::uint64_t from = 0;
    bool times_from_file = false;  // the facts are of an earlier run
  };
  static SegmentInfo durable_segment(const State& state);
  std::vector<Source> sources_behind(const SegmentInfo& durable) const REQUIRES(append_mutex_);
  Result<bool> copy_behind(const Source& source, SegmentWriter& into);
  Result<> fill_up_to(Offset end, SegmentWriter& into);
  Result<ProducerState> producers_of(const Change& healed) const REQUIRES(append_mutex_);
  void remove_behind(const Source& source);
  Result<> heal_locked() REQUIRES(append_mutex_);
  Result<> finish_heal(const State& before, std::shared_ptr<SegmentWriter> writer, bool whole)
      REQUIRES(append_mutex_);

  // log_read.cpp, log_lookup.cpp, log_damage.cpp
  ReadView read_view() const;
  Result<std::optional<IndexEntry>> index_floor(const SegmentInfo& info, IndexKind kind,
                                                std::int64_t IndexEntry::*field,
                                                std::int64_t limit);
  Result<std::optional<std::uint64_t>> indexed_start(const Place& place,
                                                     const std::shared_ptr<File>& file,
                                                     Offset from);
  bool rebuild_indexes(const SegmentInfo& info) REQUIRES(rebuild_mutex_);
  Result<> save_indexes_of(const SegmentInfo& info, SegmentWriter& built);
  Result<std::uint64_t> start_near(const Place& place, const std::shared_ptr<File>& file,
                                   Offset from);
  Result<bool> read_segment(const Place& place, Offset from, const ReadLimits& limits,
                            ReadPlan& plan);
  /// A batch without records that stands for the offsets [from, end), as far as one can.
  static Bytes gap_batch(Offset from, Offset end, std::int32_t leader_epoch);
  void plan_gap(Offset from, const ReadLimits& limits, ReadPlan& plan) const;
  struct Cut;
  Result<Cut> cut_run(const Place& place, const std::shared_ptr<File>& file, const Run& run,
                      std::uint64_t bytes_max);
  template <class Found>
  Result<Found> retry(const std::function<Result<Found>(const ReadView&)>& attempt);
  Result<> handle_bad_bytes(const Place& place, const std::shared_ptr<File>& file,
                            const BatchWalk::Range& trusted);
  Result<> handle_missing_file(const Place& place);
  struct RecordWanted;
  Result<TimestampOffset> find_in_segment(const Place& place, const RecordWanted& wanted);
  Result<TimestampOffset> find_in_batch(const Place& place, const std::shared_ptr<File>& file,
                                        const HeaderAt& batch, const RecordWanted& wanted);

  const Environment& env_;
  const Identity identity_;

  Mutex use_mutex_;  // nothing is taken inside
  std::condition_variable_any unused_;
  int users_ GUARDED_BY(use_mutex_) = 0;
  bool abandoned_ GUARDED_BY(use_mutex_) = false;

  Mutex sync_mutex_;     // one sync at a time
  Mutex append_mutex_;   // everything that changes the log
  Mutex rebuild_mutex_;  // one index rebuild at a time; before append_mutex_
  struct UnsavedRebuild {
    SegmentInfo info{};
    TimestampMs again_ms = 0;
  };
  std::vector<UnsavedRebuild> unsaved_rebuilds_ GUARDED_BY(rebuild_mutex_);

  // A failed fdatasync tells only one of those who call it: the flag tells the others.
  Mutex data_sync_mutex_;
  bool sync_failed_ GUARDED_BY(data_sync_mutex_) = false;

  Change committed_ GUARDED_BY(append_mutex_);
  ProducerState producers_ GUARDED_BY(append_mutex_);
  bool manifest_in_doubt_ GUARDED_BY(append_mutex_) = false;
  std::vector<SegmentInfo> doubtful_ GUARDED_BY(append_mutex_);  // the manifest may list them

  mutable Mutex state_mutex_;
  State state_ GUARDED_BY(state_mutex_);
  std::shared_ptr<const TopicOptions> options_ GUARDED_BY(state_mutex_);
  struct OldSegment {
    SegmentInfo info{};
    TimestampMs due_ms = 0;
  };
  std::vector<OldSegment> old_ GUARDED_BY(state_mutex_);
};

}  // namespace lastword::storage
