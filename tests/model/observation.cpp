// SPDX-License-Identifier: Apache-2.0
#include "tests/model/observation.h"

#include <algorithm>
#include <stdexcept>

namespace lastword::model {
namespace {

constexpr std::uint64_t kEverything = 1u << 30;

Error broken(const std::string& text) { return Error{ErrorKind::kDamaged, text}; }

/// The batch of an answer that begins behind `from` leaves out one that should be there.
const BatchHeader* first_behind(const Observation& whole, Offset from) {
  const auto found =
      std::find_if(whole.batches.begin(), whole.batches.end(),
                   [&](const BatchHeader& batch) { return batch.last_offset() >= from; });
  return found == whole.batches.end() ? nullptr : &*found;
}

Result<> check_timestamp(const storage::Log& log, const Observation& whole, TimestampMs at) {
  const auto found = log.find_timestamp(at);
  if (!found) return broken("find_timestamp: " + found.error().text);
  Offset expected = -1;
  for (const auto& [offset, record] : whole.records) {
    if (record.timestamp < at) continue;
    expected = offset;
    break;
  }
  if (found->offset == expected) return {};
  return broken("the first record at " + std::to_string(at) + " has offset " +
                std::to_string(expected) + ", not " + std::to_string(found->offset));
}

}  // namespace

Result<Answer> read(const storage::Log& log, Offset from, std::uint64_t bytes_max) {
  auto plan = log.read(from, {.bytes_max = bytes_max});
  if (!plan) return broken("read at " + std::to_string(from) + ": " + plan.error().text);
  Answer answer{.plan = *std::move(plan)};
  for (const FileRange& range : answer.plan.ranges) {
    Bytes part(range.length_bytes);
    const auto bytes = range.source->read_at(range.position, part);
    if (!bytes) return broken("the file of a read plan: " + bytes.error().text);
    if (*bytes != part.size()) return broken("a read plan goes beyond its file");
    test::append(answer.bytes, part);
  }
  try {
    answer.batches = test::headers_of(answer.bytes);
    answer.records = test::records_of(answer.bytes);
  } catch (const std::runtime_error& error) {
    return broken("read at " + std::to_string(from) + ": " + error.what());
  }
  return answer;
}

Result<Observation> observe(const storage::Log& log, TimestampMs now) {
  Observation seen{.at_ms = now, .view = log.view()};
  Offset from = seen.offsets().log_start;
  while (from < seen.offsets().high_watermark) {
    auto answer = read(log, from, kEverything);
    if (!answer) return answer.take_error();
    if (answer->plan.next_offset <= from) {
      return broken("a reader would stand still at " + std::to_string(from) +
                    ", below the high watermark");
    }
    auto record = answer->records.begin();
    for (const BatchHeader& batch : answer->batches) {
      if (!seen.batches.empty() && batch.base_offset <= seen.batches.back().last_offset()) {
        return broken("batch " + std::to_string(batch.base_offset) + " overlaps the one before");
      }
      seen.batches.push_back(batch);
      const auto horizon = batch.delete_horizon();
      if (horizon) seen.horizons[batch.base_offset] = *horizon;
      for (; record != answer->records.end() && record->offset <= batch.last_offset(); ++record) {
        if (record->offset < seen.offsets().log_start) continue;
        if (horizon && record->is_tombstone()) seen.waiting[record->offset] = *horizon;
        seen.records[record->offset] = std::move(*record);
      }
    }
    from = answer->plan.next_offset;
  }
  if (from > seen.offsets().high_watermark) return broken("readers get beyond the high watermark");
  return seen;
}

Result<> observe_each_offset(const storage::Log& log, const Observation& whole) {
  const storage::Offsets& offsets = whole.offsets();
  for (Offset from = offsets.log_start; from < offsets.high_watermark; ++from) {
    auto answer = read(log, from, 1);
    if (!answer) return answer.take_error();
    const BatchHeader* expected = first_behind(whole, from);
    if (expected == nullptr) {
      return broken("nothing to read at " + std::to_string(from) + ", below the high watermark");
    }
    if (answer->batches.size() != 1 || answer->batches.front() != *expected) {
      return broken("offset " + std::to_string(from) + " is not answered with batch " +
                    std::to_string(expected->base_offset));
    }
    if (answer->plan.next_offset != expected->last_offset() + 1) {
      return broken("offset " + std::to_string(from) + " goes on at " +
                    std::to_string(answer->plan.next_offset));
    }
  }
  const auto end = log.read(offsets.high_watermark, {.bytes_max = 1});
  if (!end || end->size_bytes != 0)
    return broken("the high watermark is not answered with nothing");
  TimestampMs newest = -1;
  for (const auto& [offset, record] : whole.records) {
    newest = std::max(newest, record.timestamp);
    LW_TRY(check_timestamp(log, whole, record.timestamp));
    LW_TRY(check_timestamp(log, whole, record.timestamp + 1));
  }
  const auto max = log.find_max_timestamp();
  if (!max) return broken("find_max_timestamp: " + max.error().text);
  if (max->offset >= 0) {
    const auto found = whole.records.find(max->offset);
    if (found == whole.records.end() || found->second.timestamp != max->timestamp) {
      return broken("the newest timestamp is said to be at " + std::to_string(max->offset));
    }
  }
  if (max->timestamp != newest) {
    return broken("the newest timestamp is " + std::to_string(newest) + ", not " +
                  std::to_string(max->timestamp));
  }
  return {};
}

}  // namespace lastword::model
