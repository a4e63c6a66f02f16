// SPDX-License-Identifier: Apache-2.0
#include "client/batch_queue.h"

#include <string_view>
#include <utility>

namespace lastword::client {

namespace {

constexpr std::size_t kRecordOverheadBytes = 32;

ByteView view_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::optional<ByteView> view_of_field(const Field& field) {
  if (!field) return std::nullopt;
  return view_of(*field);
}

TimestampMs now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::size_t size_of(const Record& record) {
  std::size_t bytes = kRecordOverheadBytes + (record.key ? record.key->size() : 0) +
                      (record.value ? record.value->size() : 0);
  for (const Header& header : record.headers) {
    bytes += header.key.size() + (header.value ? header.value->size() : 0);
  }
  return bytes;
}

}  // namespace

Result<bool> BatchQueue::add(std::int32_t partition, const Record& record, std::uint64_t number) {
  auto open = open_.find(partition);
  bool closed = false;
  if (open != open_.end() &&
      open->second.builder.size_bytes() + size_of(record) > limits_.batch_bytes_max) {
    LW_TRY(close(open));
    closed = true;
    open = open_.end();
  }
  if (open == open_.end()) {
    open = open_
               .emplace(partition, Open{.builder = BatchBuilder({}, limits_.compression),
                                        .created = std::chrono::steady_clock::now()})
               .first;
  }
  std::vector<HeaderView> pairs;
  for (const Header& header : record.headers) {
    pairs.push_back({view_of(header.key), view_of_field(header.value)});
  }
  headers_.clear();
  if (!pairs.empty()) write_record_headers(pairs, headers_);
  open->second.builder.add({.offset_delta = open->second.builder.count(),
                            .timestamp = record.timestamp.value_or(now_ms()),
                            .key = view_of_field(record.key),
                            .value = view_of_field(record.value),
                            .headers = headers_});
  open->second.numbers.push_back(number);
  return closed;
}

Result<> BatchQueue::close(std::map<std::int32_t, Open>::iterator open) {
  auto bytes = open->second.builder.finish();
  if (!bytes) return bytes.error();
  ready_.push_back({.partition = open->first,
                    .bytes = *std::move(bytes),
                    .numbers = std::move(open->second.numbers),
                    .created = open->second.created});
  open_.erase(open);
  return {};
}

Result<> BatchQueue::close_overdue(std::chrono::steady_clock::time_point now) {
  for (auto at = open_.begin(); at != open_.end();) {
    const auto open = at++;
    if (open->second.created + limits_.linger <= now) LW_TRY(close(open));
  }
  return {};
}

Result<> BatchQueue::close_all() {
  while (!open_.empty()) LW_TRY(close(open_.begin()));
  return {};
}

Result<std::vector<OutgoingBatch>> split(const OutgoingBatch& batch,
                                         CompressionChoice compression) {
  Bytes scratch;
  auto cursor = RecordCursor::open(batch.bytes, kBatchBytesMax, scratch);
  if (!cursor) return cursor.error();
  std::vector<OutgoingBatch> halves;
  for (const std::size_t end : {batch.numbers.size() / 2, batch.numbers.size()}) {
    auto& half =
        halves.emplace_back(OutgoingBatch{.partition = batch.partition, .created = batch.created});
    BatchBuilder builder({}, compression);
    for (std::size_t at = halves.size() == 1 ? 0 : batch.numbers.size() / 2; at < end; ++at) {
      const auto record = cursor->next();
      if (!record) return record.error();
      builder.add({.offset_delta = builder.count(),
                   .timestamp = (*record)->timestamp,
                   .key = (*record)->key,
                   .value = (*record)->value,
                   .headers = (*record)->headers});
      half.numbers.push_back(batch.numbers[at]);
    }
    auto bytes = builder.finish();
    if (!bytes) return bytes.error();
    half.bytes = *std::move(bytes);
  }
  return halves;
}

void stamp_producer(OutgoingBatch& batch, std::int64_t producer_id, std::int16_t producer_epoch) {
  BatchHeader header = *read_batch_header(batch.bytes);
  header.producer_id = producer_id;
  header.producer_epoch = producer_epoch;
  header.base_sequence = batch.base_sequence;
  write_batch_header(header, batch.bytes);
  seal_batch(batch.bytes);
}

}  // namespace lastword::client
