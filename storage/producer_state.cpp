// SPDX-License-Identifier: Apache-2.0
#include "storage/producer_state.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "protocol/bytes.h"
#include "protocol/check.h"
#include "storage/checked_file.h"

namespace lastword::storage {
namespace {

constexpr CheckedFormat kFormat{{'L', 'W', 'P', 'S'}, 1, "producer snapshot"};
constexpr std::int32_t kSequenceMax = std::numeric_limits<std::int32_t>::max();

std::int32_t following(std::int32_t sequence) {
  return sequence == kSequenceMax ? 0 : sequence + 1;
}

ProducerBatch batch_of(const BatchHeader& header, TimestampMs append_ms) {
  const bool log_append_time = header.has(batch_attribute::kLogAppendTime);
  return {
      .first_sequence = header.base_sequence,
      .last_sequence = header.last_sequence(),
      .base_offset = header.base_offset,
      .last_offset = header.last_offset(),
      .append_ms = std::max<TimestampMs>(append_ms, -1),
      .log_append_time = log_append_time ? std::max<TimestampMs>(header.max_timestamp, -1) : -1};
}

// One field list for both directions.
template <class Cursor, class Batch>
void walk(Cursor& cursor, Batch& batch) {
  cursor.number(batch.first_sequence);
  cursor.number(batch.last_sequence);
  cursor.number(batch.base_offset);
  cursor.number(batch.last_offset);
  cursor.number(batch.append_ms);
  cursor.number(batch.log_append_time);
}

bool possible(const ProducerBatch& batch, Offset end) {
  return batch.first_sequence >= 0 && batch.last_sequence >= 0 && batch.base_offset >= 0 &&
         batch.last_offset >= batch.base_offset && batch.last_offset < end &&
         batch.append_ms >= -1 && batch.log_append_time >= -1;
}

Error producer_error(ErrorKind kind, const BatchHeader& header, const std::string& reason) {
  return {kind, "producer " + std::to_string(header.producer_id) + " epoch " +
                    std::to_string(header.producer_epoch) + ": " + reason};
}

Error out_of_order(const BatchHeader& header, std::int32_t expected) {
  return producer_error(ErrorKind::kOutOfOrderSequence, header,
                        "sequence " + std::to_string(header.base_sequence) + " came where " +
                            std::to_string(expected) + " was due");
}

}  // namespace

ProducerState::ProducerState(std::int64_t producers_max, std::int64_t expiration_ms)
    : producers_max_(producers_max), expiration_ms_(expiration_ms) {
  LW_CHECK(producers_max >= 0);
}

void ProducerState::Producer::add(const ProducerBatch& batch) {
  if (count == recent.size()) {
    std::move(recent.begin() + 1, recent.end(), recent.begin());
    --count;
  }
  recent.at(count++) = batch;
}

void ProducerState::count_in(std::shared_ptr<ProducerBudget> budget) {
  share_ = ProducerShare(std::move(budget));
  share_.add(static_cast<std::int64_t>(size()));
  limit();
}

void ProducerState::clear() {
  share_.add(-static_cast<std::int64_t>(size()));
  producers_.clear();
  by_last_offset_.clear();
}

bool ProducerState::expired(const Producer& producer, TimestampMs now) const {
  const TimestampMs idle_ms = now - producer.last().append_ms;
  return idle_ms >= expiration_ms_;
}

Result<std::optional<ProducerBatch>> ProducerState::check(const BatchHeader& header,
                                                          TimestampMs now) const {
  const std::optional<ProducerBatch> may_be_appended;
  if (!header.has_producer()) return may_be_appended;
  const auto found = producers_.find(header.producer_id);
  if (found == producers_.end() || expired(found->second, now)) return may_be_appended;
  const Producer& producer = found->second;
  if (header.producer_epoch < producer.epoch) {
    return producer_error(
        ErrorKind::kInvalidProducerEpoch, header,
        "a newer epoch, " + std::to_string(producer.epoch) + ", has written already");
  }
  if (header.producer_epoch > producer.epoch) {
    if (header.base_sequence == 0) return may_be_appended;
    return out_of_order(header, 0);
  }
  for (const ProducerBatch& batch : producer.batches()) {
    if (batch.first_sequence == header.base_sequence &&
        batch.last_sequence == header.last_sequence()) {
      return std::optional<ProducerBatch>(batch);
    }
  }
  const std::int32_t expected = following(producer.last().last_sequence);
  if (header.base_sequence == expected) return may_be_appended;
  return out_of_order(header, expected);
}

void ProducerState::note(const BatchHeader& header, TimestampMs append_ms) {
  // Control batches have a producer but no sequence.
  if (!header.has_producer() || header.producer_epoch < 0 || header.base_sequence < 0) return;
  const ProducerBatch batch = batch_of(header, append_ms);
  const auto [found, added] = producers_.try_emplace(header.producer_id);
  Producer& producer = found->second;
  if (added) {
    share_.add(1);
  } else {
    const Offset known = producer.last().last_offset;
    if (batch.last_offset <= known) return;
    by_last_offset_.erase(known);
  }
  if (producer.epoch != header.producer_epoch) producer.count = 0;
  producer.epoch = header.producer_epoch;
  producer.add(batch);
  by_last_offset_[batch.last_offset] = header.producer_id;
  limit();
}

void ProducerState::limit() {
  while (std::cmp_greater(size(), producers_max_) || (size() > 1 && share_.exceeded())) {
    forget(producers_.find(by_last_offset_.begin()->second));
  }
}

void ProducerState::forget(Producers::iterator producer) {
  share_.add(-1);
  by_last_offset_.erase(producer->second.last().last_offset);
  producers_.erase(producer);
}

void ProducerState::expire(TimestampMs now) {
  for (auto producer = producers_.begin(); producer != producers_.end();) {
    const auto next = std::next(producer);
    if (expired(producer->second, now)) forget(producer);
    producer = next;
  }
}

// ---- snapshot ------------------------------------------------------------------------------

Bytes ProducerState::encode(Offset end) const {
  // Sorted by the last offset below `end`, so that equal states have equal bytes.
  std::map<Offset, std::pair<std::int64_t, std::vector<ProducerBatch>>> rows;
  for (const auto& [producer_id, producer] : producers_) {
    std::vector<ProducerBatch> below;
    std::ranges::copy_if(producer.batches(), std::back_inserter(below),
                         [end](const ProducerBatch& batch) { return batch.last_offset < end; });
    if (below.empty()) continue;
    const Offset last_offset = below.back().last_offset;
    rows[last_offset] = {producer_id, std::move(below)};
  }
  Writer body;
  body.number(end);
  body.number(static_cast<std::uint32_t>(rows.size()));
  for (const auto& [last_offset, row] : rows) {
    const auto& [producer_id, batches] = row;
    body.number(producer_id);
    body.number(producers_.at(producer_id).epoch);
    body.number(static_cast<std::uint8_t>(batches.size()));
    for (const ProducerBatch& batch : batches) walk(body, batch);
  }
  return seal_file(kFormat, body.take());
}

const char* ProducerState::read_producer(Reader& in, Offset end) {
  std::int64_t producer_id = -1;
  std::uint8_t count = 0;
  Producer producer;
  in.number(producer_id);
  in.number(producer.epoch);
  in.number(count);
  if (producer_id < 0 || producer.epoch < 0) return "has an impossible producer";
  if (count == 0 || count > kBatchesPerProducer) return "has an impossible count of batches";
  for (Offset before = -1; count > 0; --count) {
    ProducerBatch batch;
    walk(in, batch);
    if (in.failed()) return "is shorter than its counts say";
    if (!possible(batch, end) || batch.base_offset <= before) return "has an impossible batch";
    before = batch.last_offset;
    producer.add(batch);
  }
  const Offset last_offset = producer.last().last_offset;
  if (!by_last_offset_.empty() && last_offset <= by_last_offset_.rbegin()->first) {
    return "has producers out of order";
  }
  if (!producers_.emplace(producer_id, std::move(producer)).second) return "has a producer twice";
  by_last_offset_[last_offset] = producer_id;
  return nullptr;
}

Result<std::pair<ProducerState, Offset>> ProducerState::decode(ByteView bytes,
                                                               std::int64_t producers_max,
                                                               std::int64_t expiration_ms) {
  const auto damaged = [](const char* reason) {
    return Error{ErrorKind::kDamaged, std::string("producer snapshot ").append(reason)};
  };
  auto body = open_sealed_file(kFormat, bytes);
  if (!body) return body.take_error();
  Reader in(*body);
  ProducerState state(producers_max, expiration_ms);
  Offset end = 0;
  std::uint32_t count = 0;
  in.number(end);
  in.number(count);
  if (end < 0) return damaged("has a negative end");
  for (; count > 0; --count) {
    if (const char* fault = state.read_producer(in, end)) return damaged(fault);
    state.limit();
  }
  if (!in.done()) return damaged("is not as long as its counts say");
  return std::pair(std::move(state), end);
}

}  // namespace lastword::storage
