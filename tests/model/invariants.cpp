// SPDX-License-Identifier: Apache-2.0
#include "tests/model/invariants.h"

#include <algorithm>

namespace lastword::model {
namespace {

constexpr std::int64_t kSlackMaxMs = 5 * kMinuteMs;

std::string at(Offset offset) { return " at offset " + std::to_string(offset); }

const TopicOptions& options_of(const Step& step) { return *step.after.view.options; }

bool compacted(const Step& step) { return step.passes && options_of(step).cleanup_policy.compact; }

/// A pass that was interrupted may have put segments in place without having moved clean end.
Offset cleaned_below(const Step& step) {
  return step.settled ? step.after.view.clean_end : step.after.offsets().high_watermark;
}

bool went(const Step& step, Offset offset) {
  return offset >= step.after.offsets().log_start && step.before.records.contains(offset) &&
         !step.after.records.contains(offset);
}

bool superseded(const Step& step, Offset offset) {
  const auto next = step.model.next_of_key(offset);
  return next && *next < cleaned_below(step);
}

/// The tombstone's time was up, as far as anybody could see.
bool time_was_up(const Step& step, Offset offset) {
  const auto stamped = step.before.waiting.find(offset);
  if (stamped != step.before.waiting.end()) return stamped->second <= step.after.at_ms;
  return options_of(step).delete_retention_ms == 0;  // one look may stamp and drop it
}

/// A pass may have taken it, just before retention took its segment.
bool compacted_away(const Step& step, const test::OwnedRecord& record) {
  if (!compacted(step) || record.offset >= cleaned_below(step)) return false;
  return !record.key || superseded(step, record.offset) ||
         (record.is_tombstone() && time_was_up(step, record.offset));
}

// ---- the rules -------------------------------------------------------------------------------

std::string check_offsets(const Step& step) {
  const storage::Offsets& before = step.before.offsets();
  const storage::Offsets& after = step.after.offsets();
  if (after.log_start < before.log_start) return "log start went back";
  if (after.high_watermark < before.high_watermark) return "the high watermark went back";
  if (!step.restarted && after.log_end < before.log_end) return "the log end went back";
  if (after.removed_tombstone_mark < before.removed_tombstone_mark) return "the mark went back";
  if (after.log_start > after.high_watermark || after.high_watermark > after.log_end) {
    return "log start, high watermark and log end are out of order";
  }
  if (after.log_end != step.model.log_end()) {
    return "the log ends" + at(after.log_end) + ", not" + at(step.model.log_end());
  }
  if (!step.after.view.damaged.empty() && !step.model.has_lost()) return "a damaged range";
  return {};
}

std::string check_log_start(const Step& step) {
  const Offset start = step.after.offsets().log_start;
  if (start == step.before.offsets().log_start) return {};
  const TopicOptions& options = options_of(step);
  if (!step.passes || !options.cleanup_policy.remove) return "log start moved without retention";
  if (options.retention_bytes >= 0) return {};
  for (const auto& [offset, record] : step.before.records) {
    if (offset >= start) break;
    if (compacted_away(step, record)) continue;
    const auto sent = step.model.records().find(offset);
    const TimestampMs counted = std::min(record.timestamp, sent->second.appended_ms);
    if (options.retention_ms < 0 || counted + options.retention_ms >= step.after.at_ms) {
      return "retention took the record" + at(offset) + " too early";
    }
  }
  return {};
}

std::string check_records(const Step& step) {
  for (const auto& [offset, record] : step.after.records) {
    const auto sent = step.model.records().find(offset);
    if (sent == step.model.records().end()) return "a record that nobody sent" + at(offset);
    if (sent->second.record != record) return "a record is not what was sent" + at(offset);
    if (offset < step.before.offsets().high_watermark && !step.before.records.contains(offset)) {
      return "a record came back" + at(offset);
    }
  }
  for (const BatchHeader& batch : step.after.batches) {
    const auto sent = step.model.batches().find(batch.base_offset);
    if (sent == step.model.batches().end() || sent->second.last_offset != batch.last_offset()) {
      return "a batch that nobody sent" + at(batch.base_offset);
    }
    const test::BatchSpec& spec = sent->second.spec;
    if (batch.producer_id != spec.producer_id ||
        (batch.has_producer() && (batch.base_sequence != spec.base_sequence ||
                                  batch.producer_epoch != spec.producer_epoch))) {
      return "a batch changed its producer" + at(batch.base_offset);
    }
  }
  return {};
}

std::string check_missing(const Step& step, Offset offset) {
  const test::OwnedRecord& record = step.model.records().at(offset).record;
  if (!compacted(step)) return "a record went without compaction" + at(offset);
  if (offset >= cleaned_below(step)) return "a record above clean end went" + at(offset);
  if (!record.key || superseded(step, offset)) return {};
  if (!record.is_tombstone()) return "the newest value of a key went" + at(offset);
  if (!time_was_up(step, offset)) return "a tombstone went too early" + at(offset);
  for (const Offset older : step.model.offsets_of(*record.key)) {
    if (older >= offset) break;
    if (step.after.records.contains(older)) {
      return "a tombstone went" + at(offset) + " before an older value" + at(older);
    }
  }
  return {};
}

std::string check_what_lacks(const Step& step) {
  const storage::Offsets& offsets = step.after.offsets();
  for (auto sent = step.model.records().lower_bound(offsets.log_start);
       sent != step.model.records().end() && sent->first < offsets.high_watermark; ++sent) {
    if (step.after.records.contains(sent->first)) continue;
    const bool lacked_before = sent->first < step.before.offsets().high_watermark &&
                               !step.before.records.contains(sent->first);
    if (lacked_before) continue;
    if (auto wrong = check_missing(step, sent->first); !wrong.empty()) return wrong;
  }
  return {};
}

std::string check_clean_part(const Step& step) {
  const Offset clean_end = step.after.view.clean_end;
  if (clean_end > step.after.offsets().high_watermark) return "clean end is above high watermark";
  std::map<std::string, Offset> found;
  for (const auto& [offset, record] : step.after.records) {
    if (offset >= clean_end) break;
    if (!record.key) return "a record without a key in the clean part" + at(offset);
    if (const auto [first, added] = found.emplace(*record.key, offset); !added) {
      return "key " + *record.key + " is in the clean part twice," + at(first->second) + " and" +
             at(offset);
    }
  }
  for (const BatchHeader& batch : step.after.batches) {
    if (batch.last_offset() >= clean_end || batch.delete_horizon()) continue;
    for (auto record = step.after.records.lower_bound(batch.base_offset);
         record != step.after.records.end() && record->first <= batch.last_offset(); ++record) {
      if (record->second.is_tombstone()) {
        return "an unstamped tombstone in the clean part" + at(record->first);
      }
    }
  }
  return {};
}

std::string check_horizons(const Step& step) {
  for (const BatchHeader& batch : step.after.batches) {
    const auto before = step.before.horizons.find(batch.base_offset);
    const auto horizon = batch.delete_horizon();
    if (before != step.before.horizons.end()) {
      const bool kept = horizon ? *horizon == before->second : batch.record_count == 0;
      if (!kept) return "the horizon of a batch changed" + at(batch.base_offset);
    } else if (horizon) {
      if (!compacted(step)) return "a batch was stamped without a pass" + at(batch.base_offset);
      if (*horizon != step.after.at_ms + options_of(step).delete_retention_ms) {
        return "a horizon is not pass start + delete.retention.ms" + at(batch.base_offset);
      }
    }
  }
  return {};
}

std::string check_mark(const Step& step) {
  const Offset mark = step.after.offsets().removed_tombstone_mark;
  bool explained = mark == step.before.offsets().removed_tombstone_mark;
  for (const auto& [offset, sent] : step.model.records()) {
    if (!sent.record.is_tombstone() || step.after.records.contains(offset)) continue;
    // Retention may have taken what an expiry had taken just before.
    const bool seen_before =
        step.before.records.contains(offset) || offset >= step.before.offsets().high_watermark;
    if (!seen_before || offset >= step.after.offsets().high_watermark) continue;
    if (offset + 1 == mark && time_was_up(step, offset)) explained = true;
    if (offset >= step.after.offsets().log_start && sent.record.key && !superseded(step, offset) &&
        mark <= offset) {
      return "the mark is not behind the tombstone that went" + at(offset);
    }
  }
  return explained ? "" : "the mark moved to " + std::to_string(mark) + " without a reason";
}

std::string check_table(const Step& step) {
  const storage::Offsets& offsets = step.after.offsets();
  std::map<std::string, Offset> ends_with;
  for (const auto& [offset, record] : step.after.records) {
    if (record.key) ends_with[*record.key] = offset;
  }
  for (const auto& [key, newest] : step.model.newest(offsets.high_watermark)) {
    const auto found = ends_with.find(key);
    const bool has_value =
        found != ends_with.end() && !step.after.records.at(found->second).is_tombstone();
    const bool wanted =
        newest >= offsets.log_start && !step.model.records().at(newest).record.is_tombstone();
    if (has_value && !wanted) return "a reader ends with a value of the deleted key " + key;
    if (wanted && (!has_value || found->second != newest)) {
      return "a reader does not end with the value of key " + key + at(newest);
    }
  }
  return {};
}

std::string check_in_time(const Step& step) {
  const storage::LogView& view = step.after.view;
  const TopicOptions& options = *view.options;
  const TimestampMs now = step.after.at_ms;
  if (!step.settled) return {};
  if (options.cleanup_policy.remove && options.retention_ms >= 0) {
    const storage::SegmentInfo& oldest =
        view.closed->empty() ? view.active : view.closed->front()->info;
    const Offset end = view.closed->size() > 1 ? (*view.closed)[1]->info.base_offset
                       : view.closed->empty()  ? view.offsets.log_end
                                               : view.active.base_offset;
    if (!oldest.empty() && end <= view.offsets.high_watermark &&
        oldest.retention_timestamp() + options.retention_ms < now) {
      return "retention left segment " + std::to_string(oldest.base_offset);
    }
  }
  if (!options.cleanup_policy.compact || !view.damaged.empty()) return {};
  const std::int64_t slack = std::min(kSlackMaxMs, options.delete_retention_ms / 10);
  for (const auto& [offset, horizon] : step.after.waiting) {
    if (horizon + slack <= now) return "a tombstone is still there" + at(offset);
  }
  if (options.min_compaction_lag_ms > 0) return {};
  if (view.active.empty() && !view.closed->empty() && view.clean_end < view.active.base_offset &&
      view.offsets.log_start < view.active.base_offset) {
    return "an idle log is not clean";
  }
  if (options.max_compaction_lag_ms == kUnlimited) return {};
  for (const auto& [offset, record] : step.after.records) {
    const TimestampMs appended = step.model.records().at(offset).appended_ms;
    if (offset >= view.clean_end && appended + options.max_compaction_lag_ms < now) {
      return "max.compaction.lag.ms does not hold for the record" + at(offset);
    }
  }
  return {};
}

}  // namespace

std::string broken_invariant(const Step& step) {
  using Rule = std::string (*)(const Step&);
  static constexpr Rule kRules[] = {check_offsets,    check_log_start,  check_records,
                                    check_what_lacks, check_clean_part, check_horizons,
                                    check_mark,       check_table,      check_in_time};
  for (const Rule rule : kRules) {
    if (auto wrong = rule(step); !wrong.empty()) return wrong;
  }
  return {};
}

std::size_t expired_tombstones(const Step& step) {
  std::size_t expired = 0;
  for (const auto& [offset, horizon] : step.before.waiting) {
    expired += went(step, offset) && !superseded(step, offset);
  }
  return expired;
}

}  // namespace lastword::model
