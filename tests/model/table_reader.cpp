// SPDX-License-Identifier: Apache-2.0
#include "tests/model/table_reader.h"

#include <algorithm>

namespace lastword::model {

void TableReader::start(const storage::Offsets& offsets) {
  scanning_ = true;
  position_ = offsets.log_start;
  kept_mark_ = offsets.removed_tombstone_mark;
  table_.clear();
}

std::string TableReader::read_some(const storage::Log& log, const PartitionModel& model,
                                   std::uint64_t bytes_max) {
  const storage::Offsets now = log.offsets();
  if (!scanning_) start(now);
  if (position_ < now.log_start) {
    ++told_;
    start(now);
  }
  const auto answer = read(log, position_, bytes_max);
  if (!answer) return answer.error().text;
  const storage::Offsets& offsets = answer->plan.offsets;
  if (offsets.removed_tombstone_mark > std::max(kept_mark_, position_)) {
    ++told_;
    start(offsets);
    return {};
  }
  for (const test::OwnedRecord& record : answer->records) {
    if (record.offset < position_ || !record.key) continue;
    if (record.is_tombstone()) {
      table_.erase(*record.key);
    } else {
      table_[*record.key] = *record.value;
    }
  }
  position_ = answer->plan.next_offset;
  if (position_ < offsets.high_watermark) return {};
  ++compared_;
  return compare(offsets, model);
}

/// What retention took may still be in the table: nobody said that it was deleted.
std::string TableReader::compare(const storage::Offsets& offsets,
                                 const PartitionModel& model) const {
  const auto newest = model.newest(offsets.high_watermark);
  for (const auto& [key, offset] : newest) {
    const test::OwnedRecord& wanted = model.records().at(offset).record;
    const auto found = table_.find(key);
    if (found == table_.end()) {
      if (wanted.is_tombstone() || offset < offsets.log_start) continue;
      return "a table reader lacks key " + key;
    }
    if (wanted.is_tombstone()) return "a table reader was not told that key " + key + " is gone";
    if (*wanted.value != found->second) return "a table reader has an old value of key " + key;
  }
  for (const auto& [key, value] : table_) {
    if (!newest.contains(key)) return "a table reader has key " + key + " that nobody sent";
  }
  return {};
}

}  // namespace lastword::model
