// SPDX-License-Identifier: Apache-2.0
#include "tests/model/model.h"

#include <algorithm>
#include <iterator>

namespace lastword::model {
namespace {

constexpr std::size_t kRememberedBatches = 5;

}  // namespace

SentBatch PartitionModel::next_batch(const test::BatchSpec& spec, TimestampMs now,
                                     bool log_append_time) const {
  return {.spec = spec,
          .base_offset = log_end_,
          .last_offset = log_end_ + static_cast<Offset>(spec.records.size()) - 1,
          .appended_ms = now,
          .log_append_time = log_append_time ? now : -1};
}

void PartitionModel::append(const SentBatch& batch) {
  Offset offset = batch.base_offset;
  for (const test::Record& sent : batch.spec.records) {
    const TimestampMs timestamp = batch.log_append_time >= 0
                                      ? batch.log_append_time
                                      : sent.timestamp.value_or(batch.spec.timestamp);
    if (sent.key) keys_[*sent.key].insert(offset);
    records_[offset] = {.record = {.offset = offset,
                                   .timestamp = timestamp,
                                   .key = sent.key,
                                   .value = sent.value,
                                   .headers = sent.headers},
                        .appended_ms = batch.appended_ms};
    ++offset;
  }
  batches_[batch.base_offset] = batch;
  log_end_ = batch.last_offset + 1;
}

void PartitionModel::erase(std::map<Offset, SentRecord>::iterator from,
                           std::map<Offset, SentRecord>::iterator to) {
  for (auto lost = from; lost != to; ++lost) {
    if (lost->second.record.key) keys_[*lost->second.record.key].erase(lost->first);
  }
  records_.erase(from, to);
}

void PartitionModel::cut(Offset log_end) {
  erase(records_.lower_bound(log_end), records_.end());
  batches_.erase(batches_.lower_bound(log_end), batches_.end());
  log_end_ = log_end;
}

void PartitionModel::lose(Offset first, Offset last) {
  erase(records_.lower_bound(first), records_.upper_bound(last));
  for (auto batch = batches_.lower_bound(first); batch != batches_.upper_bound(last);) {
    if (batch->second.spec.producer_id >= 0) unpredictable_.insert(batch->second.spec.producer_id);
    batch = batches_.erase(batch);
  }
  has_lost_ = true;
}

std::optional<Offset> PartitionModel::next_of_key(Offset offset) const {
  const auto found = records_.find(offset);
  if (found == records_.end() || !found->second.record.key) return std::nullopt;
  const std::set<Offset>& offsets = offsets_of(*found->second.record.key);
  const auto next = offsets.upper_bound(offset);
  return next == offsets.end() ? std::nullopt : std::optional<Offset>(*next);
}

const std::set<Offset>& PartitionModel::offsets_of(const std::string& key) const {
  static const std::set<Offset> none;
  const auto found = keys_.find(key);
  return found == keys_.end() ? none : found->second;
}

std::map<std::string, Offset> PartitionModel::newest(Offset end) const {
  std::map<std::string, Offset> newest;
  for (const auto& [key, offsets] : keys_) {
    const auto behind = offsets.lower_bound(end);
    if (behind != offsets.begin()) newest[key] = *std::prev(behind);
  }
  return newest;
}

std::vector<const SentBatch*> PartitionModel::remembered(std::int64_t producer_id) const {
  std::vector<const SentBatch*> known;
  for (auto batch = batches_.rbegin(); batch != batches_.rend(); ++batch) {
    const SentBatch& sent = batch->second;
    if (sent.spec.producer_id != producer_id) continue;
    if (!known.empty() && sent.spec.producer_epoch != known.front()->spec.producer_epoch) break;
    known.push_back(&sent);
    if (known.size() == kRememberedBatches) break;
  }
  std::reverse(known.begin(), known.end());
  return known;
}

}  // namespace lastword::model
