// SPDX-License-Identifier: Apache-2.0
#include "client/consumer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lastword::client {

namespace {

constexpr std::int16_t kLastVersionWithNames = 12;
constexpr std::size_t kRecordOverheadBytes = sizeof(ConsumedRecord);

std::string text_of(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
Field field_of(const std::optional<ByteView>& bytes) {
  if (!bytes) return std::nullopt;
  return text_of(*bytes);
}

bool for_caller(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOffsetOutOfRange:
    case ErrorCode::kFencedLeaderEpoch:
    case ErrorCode::kUnknownLeaderEpoch:
    case ErrorCode::kUnknownTopicOrPartition:
    case ErrorCode::kUnknownTopicId:
    case ErrorCode::kInconsistentTopicId:
      return true;
    default:
      return false;
  }
}

ConsumedRecord record_of(const RecordView& view, std::int32_t partition) {
  ConsumedRecord record{.partition = partition,
                        .offset = view.offset,
                        .timestamp = view.timestamp,
                        .key = field_of(view.key),
                        .value = field_of(view.value)};
  if (const auto headers = read_record_headers(view.headers)) {
    for (const HeaderView& header : *headers) {
      record.headers.push_back({text_of(header.key), field_of(header.value)});
    }
  }
  return record;
}

std::size_t size_of(const ConsumedRecord& record) {
  std::size_t bytes = kRecordOverheadBytes;
  if (record.key) bytes += record.key->size();
  if (record.value) bytes += record.value->size();
  for (const Header& header : record.headers) {
    bytes += sizeof(Header) + header.key.size() + (header.value ? header.value->size() : 0);
  }
  return bytes;
}

// The worst error that is nobody's but ours to deal with, and where.
const FetchResponse::Topic::Partition* failed_partition(const FetchResponse& response) {
  const FetchResponse::Topic::Partition* failed = nullptr;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions) {
      if (partition.error_code == ErrorCode::kNone || for_caller(partition.error_code)) continue;
      if (failed == nullptr || !is_retriable(partition.error_code)) failed = &partition;
    }
  }
  return failed;
}

}  // namespace

void Consumer::seek(std::int32_t partition, Offset offset, std::int32_t epoch) {
  positions_[partition] = {offset, epoch};
}

FetchRequest Consumer::request() {
  FetchRequest request{.max_wait_ms = static_cast<std::int32_t>(options_.wait_max.count()),
                       .min_bytes = 1,
                       .max_bytes = options_.fetch_bytes_max,
                       .want_removed_tombstone_mark = options_.want_removed_tombstone_mark};
  auto& topic = request.topics.emplace_back();
  topic.topic = topic_.name;
  topic.topic_id = topic_.id;
  auto at = positions_.lower_bound(first_asked_);
  for (std::size_t n = 0; n < positions_.size(); ++n, ++at) {
    if (at == positions_.end()) at = positions_.begin();
    topic.partitions.push_back({.partition = at->first,
                                .current_leader_epoch = at->second.epoch,
                                .fetch_offset = at->second.offset,
                                .partition_max_bytes = options_.partition_bytes_max});
  }
  if (!topic.partitions.empty()) first_asked_ = topic.partitions.front().partition + 1;
  return request;
}

Result<std::vector<PartitionChunk>> Consumer::poll() {
  const Link::CallOptions call_options{
      .version_max = topic_.id.is_zero() ? kLastVersionWithNames : Connection::kAnyVersion,
      .extra = options_.wait_max};
  for (Retries retries;;) {
    auto response = link_.call<FetchResponse>(request(), call_options);
    if (!response) {
      const bool lost = response.error().kind == ErrorKind::kClosed;
      if (lost && !link_.outlasts_restarts() && retries.again()) continue;
      return response.error();
    }
    ErrorCode code = response->error_code;
    std::string where = topic_.name;
    const auto* failed = failed_partition(*response);
    if (code == ErrorCode::kNone && failed != nullptr) {
      code = failed->error_code;
      where += " partition " + std::to_string(failed->partition_index);
    }
    if (code == ErrorCode::kNone) return take(*response);
    if (!is_retriable(code) || !retries.again()) return broker_error("cannot read " + where, code);
  }
}

std::vector<PartitionChunk> Consumer::take(const FetchResponse& response) {
  std::vector<PartitionChunk> chunks;
  memory_bytes_ = 0;
  for (const auto& topic : response.responses) {
    for (const auto& partition : topic.partitions) {
      const auto at = positions_.find(partition.partition_index);
      if (at == positions_.end()) continue;
      auto& chunk = chunks.emplace_back(
          PartitionChunk{.partition = partition.partition_index,
                         .error = partition.error_code,
                         .from = at->second.offset,
                         .next = at->second.offset,
                         .high_watermark = partition.high_watermark,
                         .log_start = partition.log_start_offset,
                         .removed_tombstone_mark = partition.removed_tombstone_mark});
      if (chunk.error != ErrorCode::kNone) continue;
      read_records(partition.records.view(), chunk);
      at->second.offset = chunk.next;
    }
  }
  return chunks;
}

// Up to the first batch that cannot be read; that one is the next fetch's, and the first there.
void Consumer::read_records(ByteView batches, PartitionChunk& chunk) {
  while (const auto header = read_batch_header(batches)) {
    const std::size_t size = header->batch_length < 0 ? 0 : header->size_bytes();
    if (size > batches.size()) return;  // the answer was cut there; the next fetch has it whole
    if (memory_bytes_ >= options_.memory_bytes_max) return;
    const std::size_t records_before = chunk.records.size();
    const std::size_t memory_before = memory_bytes_;
    if (const auto read = read_batch(batches.first(size), *header, chunk); !read) {
      chunk.records.resize(records_before);
      memory_bytes_ = memory_before;
      if (chunk.next > chunk.from) return;
      chunk.error = ErrorCode::kCorruptMessage;
      chunk.unreadable = read.error();
      return;
    }
    chunk.next = std::max(chunk.next, header->last_offset() + 1);
    chunk.leader_epoch = header->leader_epoch;
    batches = batches.subspan(size);
  }
}

Result<> Consumer::read_batch(ByteView batch, const BatchHeader& header, PartitionChunk& chunk) {
  if (batch.size() < kBatchHeaderBytes || header.magic != kBatchMagic) {
    return at_offset(chunk, {ErrorKind::kCorruptBatch, "that is no record batch of version 2"});
  }
  if (!crc_holds(batch)) {
    return at_offset(chunk, {ErrorKind::kCorruptBatch, "the checksum of a batch does not hold"});
  }
  auto cursor = RecordCursor::open(batch, options_.batch_bytes_max, scratch_);
  if (!cursor) return at_offset(chunk, cursor.error());
  if (header.has(batch_attribute::kControl)) return {};
  for (;;) {
    const auto record = cursor->next();
    if (!record) return at_offset(chunk, record.error());
    if (!*record) return {};
    if ((*record)->offset < chunk.from) continue;  // the batch began before the position
    chunk.records.push_back(record_of(**record, chunk.partition));
    memory_bytes_ += size_of(chunk.records.back());
  }
}

Error Consumer::at_offset(const PartitionChunk& chunk, const Error& error) const {
  return {error.kind, topic_.name + " partition " + std::to_string(chunk.partition) + ", offset " +
                          std::to_string(chunk.next) + ": " + error.text};
}

}  // namespace lastword::client
