// SPDX-License-Identifier: Apache-2.0
#include "cleaner/filter.h"

#include <algorithm>

namespace lastword::cleaner {

void FilterCounts::add(const FilterCounts& other) {
  records_kept += other.records_kept;
  records_dropped += other.records_dropped;
  keyless_dropped += other.keyless_dropped;
  tombstones_dropped += other.tombstones_dropped;
  newest_expired = std::max(newest_expired, other.newest_expired);
}

void BatchFilter::judge_chunk(const BatchHeader& header, const FilterRules& rules,
                              std::size_t count, Outcome& outcome) {
  const bool expired = rules.drop_expired && header.delete_horizon().has_value() &&
                       *header.delete_horizon() <= rules.pass_start;
  FilterCounts& counts = outcome.counts;
  for (std::size_t i = 0; i < count; ++i) {
    const RecordView& record = chunk_[i];
    Verdict verdict = Verdict::kKeep;
    if (record.offset >= rules.map_end) {
      verdict = Verdict::kKeep;
    } else if (rules.keys != nullptr && !record.key) {
      verdict = Verdict::kKeyless;
    } else if (rules.keys != nullptr && record.offset < rules.keys->find(hashes_[i])) {
      verdict = Verdict::kSuperseded;
    } else if (record.is_tombstone() && expired) {
      verdict = Verdict::kExpired;
      counts.newest_expired = std::max(counts.newest_expired, record.offset);
    }
    verdicts_.push_back(verdict);
    counts.records_kept += verdict == Verdict::kKeep;
    counts.records_dropped += verdict != Verdict::kKeep;
    counts.keyless_dropped += verdict == Verdict::kKeyless;
    counts.tombstones_dropped += verdict == Verdict::kExpired;
    outcome.tombstones += verdict == Verdict::kKeep && record.is_tombstone();
  }
}

Result<> BatchFilter::judge(ByteView batch, const FilterRules& rules, Outcome& outcome) {
  verdicts_.clear();
  auto cursor = RecordCursor::open(batch, rules.decompressed_bytes_max, scratch_);
  if (!cursor) return cursor.take_error();
  for (bool more = true; more;) {
    std::size_t count = 0;
    while (count < kChunkRecords) {
      auto record = cursor->next();
      if (!record) return record.take_error();
      if (!*record) break;
      chunk_[count] = **record;
      if (rules.keys != nullptr && chunk_[count].key) {
        hashes_[count] = rules.keys->hash(*chunk_[count].key);
        rules.keys->prefetch(hashes_[count]);
      }
      ++count;
    }
    more = count == kChunkRecords;
    judge_chunk(outcome.header, rules, count, outcome);
  }
  return {};
}

Result<> BatchFilter::rewrite(ByteView batch, const FilterRules& rules, bool stamp,
                              Outcome& outcome) {
  BatchHeader header = outcome.header;
  if (stamp) {
    header.attributes =
        static_cast<std::int16_t>(header.attributes | batch_attribute::kDeleteHorizon);
    header.base_timestamp = rules.horizon;
  }
  BatchBuilder builder(header, {header.codec(), kDefaultLevel});
  {
    auto cursor = RecordCursor::open(batch, rules.decompressed_bytes_max, scratch_);
    if (!cursor) return cursor.take_error();
    for (const Verdict verdict : verdicts_) {
      auto record = cursor->next();
      if (!record) return record.take_error();
      if (verdict != Verdict::kKeep) continue;
      const RecordView& kept = **record;
      builder.add({kept.offset_delta, kept.timestamp, kept.key, kept.value, kept.headers});
    }
  }
  BatchBuilder::Overrides overrides;
  overrides.last_offset_delta = header.last_offset_delta;
  if (header.has(batch_attribute::kLogAppendTime)) overrides.max_timestamp = header.max_timestamp;
  auto bytes = builder.finish(overrides);
  if (!bytes) return bytes.take_error();
  rewritten_ = std::move(*bytes);
  return {};
}

Result<BatchFilter::Outcome> BatchFilter::filter(ByteView batch, const FilterRules& rules) {
  const auto header = read_batch_header(batch);
  if (!header) return Error{ErrorKind::kCorruptBatch, "batch is shorter than its header"};
  Outcome outcome;
  outcome.bytes = batch;
  outcome.header = *header;
  if (header->has(batch_attribute::kControl)) {
    outcome.counts.records_kept = header->record_count;
    return outcome;
  }
  LW_TRY(judge(batch, rules, outcome));
  const FilterCounts& counts = outcome.counts;
  const bool stamp = outcome.tombstones > 0 && rules.keys != nullptr && !header->delete_horizon() &&
                     header->last_offset() < rules.map_end;
  if (counts.records_kept == 0) {
    const bool is_tail = header->last_offset() + 1 == rules.high_watermark;
    const bool beyond_map = header->last_offset() >= rules.map_end;
    if (header->record_count == 0 && (is_tail || beyond_map)) return outcome;
    if (!is_tail) {
      outcome.fate = Fate::kGone;
      outcome.bytes = {};
      return outcome;
    }
    rewritten_ = make_empty_batch(*header);
  } else if (counts.records_dropped > 0 || stamp) {
    LW_TRY(rewrite(batch, rules, stamp, outcome));
  } else {
    return outcome;
  }
  outcome.fate = Fate::kRewritten;
  outcome.bytes = rewritten_;
  outcome.header = *read_batch_header(rewritten_);
  return outcome;
}

Result<bool> for_each_key(ByteView batch, Offset from, const KeyMap& keys, Bytes& scratch,
                          std::size_t decompressed_bytes_max,
                          const std::function<bool(Offset, const KeyHash&)>& each) {
  constexpr std::size_t kChunk = 128;
  auto cursor = RecordCursor::open(batch, decompressed_bytes_max, scratch);
  if (!cursor) return cursor.take_error();
  if (cursor->header().has(batch_attribute::kControl)) return true;
  std::array<KeyHash, kChunk> hashes;
  std::array<Offset, kChunk> offsets;
  for (bool more = true; more;) {
    std::size_t count = 0;
    while (count < kChunk) {
      auto record = cursor->next();
      if (!record) return record.take_error();
      more = record->has_value();
      if (!more) break;
      if (!(*record)->key || (*record)->offset < from) continue;
      hashes[count] = keys.hash(*(*record)->key);
      keys.prefetch(hashes[count]);
      offsets[count++] = (*record)->offset;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!each(offsets[i], hashes[i])) return false;
    }
  }
  return true;
}

Result<std::int64_t> count_tombstones(ByteView batch, std::size_t decompressed_bytes_max,
                                      Bytes& scratch) {
  auto cursor = RecordCursor::open(batch, decompressed_bytes_max, scratch);
  if (!cursor) return cursor.take_error();
  if (cursor->header().has(batch_attribute::kControl)) return 0;
  std::int64_t tombstones = 0;
  for (;;) {
    auto record = cursor->next();
    if (!record) return record.take_error();
    if (!*record) return tombstones;
    tombstones += (*record)->is_tombstone();
  }
}

}  // namespace lastword::cleaner
