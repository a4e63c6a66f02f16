// SPDX-License-Identifier: Apache-2.0
// The operations that send batches: new ones, the same again, and such as must be refused.
#include <limits>

#include "tests/model/operations.h"

namespace lastword::model {
namespace {

using test::BatchSpec;
using test::Record;

constexpr std::size_t kKeys = 12;
constexpr std::size_t kUnpackedBytesMax = 64u << 20;

const TopicOptions& options_of(const storage::Log& log) { return *log.options(); }

/// As the produce handler does.
std::variant<CheckedBatch, BatchRefusal> check(const storage::Log& log, const BatchSpec& spec,
                                               TimestampMs now) {
  return check_batch(test::batch(spec), BatchRules::of(options_of(log), kUnpackedBytesMax), now);
}

std::string text_of_length(Random& random, std::size_t length) {
  std::string text;
  while (text.size() < length) text += static_cast<char>('a' + random.below(26));
  return text;
}

std::int32_t next_sequence(const SentBatch& batch) {
  return batch.spec.base_sequence + static_cast<std::int32_t>(batch.spec.records.size());
}

}  // namespace

Record History::random_record(const PartitionWorld& partition) {
  const TopicOptions& options = options_of(world_.log(partition));
  const TimestampMs now = world_.clock.now_ms();
  Record record;
  const bool keyless = !options.cleanup_policy.compact && random_.percent(15);
  const std::size_t key = random_.below(kKeys);
  if (!keyless) record.key = key == 0 ? "" : "key-" + std::to_string(key);
  const std::size_t kind = random_.below(100);
  if (kind >= 30) {
    const std::size_t length = kind < 40 ? 0 : kind < 95 ? random_.below(50) : random_.below(900);
    record.value = text_of_length(random_, length);
  }
  record.timestamp = now - static_cast<std::int64_t>(random_.below(20));
  if (random_.percent(6)) *record.timestamp -= random_.pick<std::int64_t>({kHourMs, 400 * kHourMs});
  if (random_.percent(4)) *record.timestamp += 59 * kMinuteMs;
  if (random_.percent(10)) record.headers.emplace_back("h", std::nullopt);
  if (random_.percent(10)) record.headers.emplace_back("trace", text_of_length(random_, 5));
  return record;
}

BatchSpec History::random_batch(const PartitionWorld& partition) {
  BatchSpec spec{.codec = random_.pick({Codec::kNone, Codec::kNone, Codec::kGzip, Codec::kSnappy,
                                        Codec::kLz4, Codec::kZstd}),
                 .timestamp = world_.clock.now_ms()};
  const std::size_t count = 1 + random_.below(random_.percent(10) ? 30 : 6);
  while (spec.records.size() < count) spec.records.push_back(random_record(partition));
  return spec;
}

std::string History::send(PartitionWorld& partition, const BatchSpec& spec) {
  say(partition);
  touched_ = &partition;
  storage::Log& log = world_.log(partition);
  const TimestampMs now = world_.clock.now_ms();
  auto checked = check(log, spec, now);
  if (const auto* refusal = std::get_if<BatchRefusal>(&checked)) {
    return "a good batch is refused: " + refusal->text;
  }
  const bool log_append_time =
      options_of(log).message_timestamp_type == TimestampType::kLogAppendTime;
  const SentBatch sent = partition.model.next_batch(spec, now, log_append_time);
  const auto appended = log.append(std::get<CheckedBatch>(checked));
  if (!appended) {
    if (world_.memory.stopped()) partition.pending = sent;
    if (world_.hindered(partition)) return {};
    return "an append fails: " + appended.error().text;
  }
  if (appended->duplicate || appended->base_offset != sent.base_offset ||
      appended->last_offset != sent.last_offset ||
      appended->log_append_time != sent.log_append_time) {
    return "an append is answered with offset " + std::to_string(appended->base_offset) + ", not " +
           std::to_string(sent.base_offset);
  }
  say("at " + std::to_string(sent.base_offset) + " to " + std::to_string(sent.last_offset));
  partition.model.append(sent);
  world_.coverage.records += spec.records.size();
  return {};
}

std::string History::append() {
  PartitionWorld& partition = any_partition();
  return send(partition, random_batch(partition));
}

std::string History::append_idempotent() {
  PartitionWorld& partition = any_partition();
  const std::int64_t id = world_.producer_ids[random_.below(world_.producer_ids.size())];
  if (!partition.model.predictable(id)) return {};
  BatchSpec spec = random_batch(partition);
  spec.producer_id = id;
  if (const auto known = partition.model.remembered(id); !known.empty()) {
    spec.producer_epoch = known.back()->spec.producer_epoch;
    spec.base_sequence = next_sequence(*known.back());
    if (random_.percent(4)) {
      ++spec.producer_epoch;
      spec.base_sequence = 0;
    }
  }
  return send(partition, spec);
}

std::string History::send_again(PartitionWorld& partition, const SentBatch& original) {
  storage::Log& log = world_.log(partition);
  auto checked = check(log, original.spec, world_.clock.now_ms());
  // The topic may have become a compacted one since.
  if (std::holds_alternative<BatchRefusal>(checked)) return {};
  const auto appended = log.append(std::get<CheckedBatch>(checked));
  if (!appended) {
    return world_.hindered(partition) ? "" : "a resend fails: " + appended.error().text;
  }
  ++world_.coverage.duplicates;
  if (!appended->duplicate) return "a batch that was sent again is stored again";
  if (appended->base_offset != original.base_offset ||
      appended->last_offset != original.last_offset ||
      appended->log_append_time != original.log_append_time) {
    return "a duplicate is answered with offset " + std::to_string(appended->base_offset) +
           ", not " + std::to_string(original.base_offset);
  }
  return {};
}

std::string History::resend() {
  PartitionWorld& partition = any_partition();
  say(partition);
  touched_ = &partition;
  for (const std::int64_t id : world_.producer_ids) {
    if (!partition.model.predictable(id)) continue;
    for (const SentBatch* original : partition.model.remembered(id)) {
      if (auto wrong = send_again(partition, *original); !wrong.empty()) return wrong;
    }
  }
  return {};
}

std::string History::must_be_refused(PartitionWorld& partition, const BatchSpec& spec,
                                     ErrorKind kind) {
  storage::Log& log = world_.log(partition);
  ++world_.coverage.refused;
  auto checked = check(log, spec, world_.clock.now_ms());
  if (const auto* refusal = std::get_if<BatchRefusal>(&checked)) {
    return refusal->kind == kind ? "" : "a batch is refused for another reason: " + refusal->text;
  }
  const auto appended = log.append(std::get<CheckedBatch>(checked));
  if (appended) return "a bad batch is taken";
  if (appended.error().kind == kind || world_.hindered(partition)) return {};
  return "a batch is refused for another reason: " + appended.error().text;
}

std::string History::send_wrongly() {
  PartitionWorld& partition = any_partition();
  say(partition);
  touched_ = &partition;
  const TopicOptions& options = options_of(world_.log(partition));
  BatchSpec keyless = random_batch(partition);
  keyless.records.back().key.reset();
  if (options.cleanup_policy.compact) {
    auto wrong = must_be_refused(partition, keyless, ErrorKind::kInvalidRecord);
    if (!wrong.empty()) return wrong;
  }
  BatchSpec future = random_batch(partition);
  future.records.front().timestamp = world_.clock.now_ms() + 2 * kHourMs;
  if (options.message_timestamp_type == TimestampType::kCreateTime) {
    auto wrong = must_be_refused(partition, future, ErrorKind::kInvalidTimestamp);
    if (!wrong.empty()) return wrong;
  }
  const std::int64_t id = world_.producer_ids.front();
  const auto known = partition.model.remembered(id);
  if (known.empty() || !partition.model.predictable(id)) return {};
  BatchSpec gap = random_batch(partition);
  gap.producer_id = id;
  gap.producer_epoch = known.back()->spec.producer_epoch;
  gap.base_sequence = next_sequence(*known.back()) + 1;
  auto wrong = must_be_refused(partition, gap, ErrorKind::kOutOfOrderSequence);
  if (!wrong.empty() || gap.producer_epoch == 0) return wrong;
  --gap.producer_epoch;
  return must_be_refused(partition, gap, ErrorKind::kInvalidProducerEpoch);
}

}  // namespace lastword::model
