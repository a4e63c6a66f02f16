// SPDX-License-Identifier: Apache-2.0
// What one partition was given, as a list of records and a map of keys, without any files.
//
// Purpose   the other side of every comparison: the real log may lack records of the list (what may
//           lack, invariants.h says), but must never show one that is not in it.
// Threads   plain data.
// Lifetime  outlives the logs that it is compared with: it lives through their crashes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/batches.h"

namespace lastword::model {

/// A batch as it was sent, with what the log answered.
struct SentBatch {
  test::BatchSpec spec{};
  Offset base_offset = 0;
  Offset last_offset = 0;
  TimestampMs appended_ms = 0;
  TimestampMs log_append_time = -1;  // -1 under create time
};

struct SentRecord {
  test::OwnedRecord record{};
  TimestampMs appended_ms = 0;
};

class PartitionModel {
 public:
  /// The offset that the next batch gets.
  Offset log_end() const { return log_end_; }
  /// The batch as it will stand at the end of the log; changes nothing.
  SentBatch next_batch(const test::BatchSpec& spec, TimestampMs now, bool log_append_time) const;
  void append(const SentBatch& batch);
  /// A crash took what was at and behind `log_end`.
  void cut(Offset log_end);
  /// A crash took these, though not what is behind them.
  void lose(Offset first, Offset last);

  const std::map<Offset, SentRecord>& records() const { return records_; }
  /// By base offset.
  const std::map<Offset, SentBatch>& batches() const { return batches_; }
  bool has_lost() const { return has_lost_; }

  /// The next record of the same key; empty if there is none, or no key.
  std::optional<Offset> next_of_key(Offset offset) const;
  /// All offsets of a key, ascending.
  const std::set<Offset>& offsets_of(const std::string& key) const;
  /// The newest record of each key below `end`.
  std::map<std::string, Offset> newest(Offset end) const;

  /// The batches that the log still knows of a producer, oldest first: those of its newest epoch,
  /// at most five.
  std::vector<const SentBatch*> remembered(std::int64_t producer_id) const;
  /// False when a batch of it was lost, so that nobody can say what the log knows.
  bool predictable(std::int64_t producer_id) const { return !unpredictable_.contains(producer_id); }

 private:
  void erase(std::map<Offset, SentRecord>::iterator from,
             std::map<Offset, SentRecord>::iterator to);

  Offset log_end_ = 0;
  std::map<Offset, SentRecord> records_{};
  std::map<Offset, SentBatch> batches_{};
  std::map<std::string, std::set<Offset>> keys_{};
  std::set<std::int64_t> unpredictable_{};
  bool has_lost_ = false;
};

}  // namespace lastword::model
