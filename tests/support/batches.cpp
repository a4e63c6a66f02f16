// SPDX-License-Identifier: Apache-2.0
#include "tests/support/batches.h"

#include <limits>
#include <stdexcept>

namespace lastword::test {
namespace {

constexpr std::size_t kUnpackedBytesMax = 256u << 20;

std::optional<ByteView> optional_view(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return view_of(*text);
}

std::optional<std::string> optional_text(const std::optional<ByteView>& bytes) {
  if (!bytes) return std::nullopt;
  return to_text(*bytes);
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return *std::move(result);
}

Bytes encoded_headers(const Record& record) {
  std::vector<HeaderView> pairs;
  for (const auto& [key, value] : record.headers) {
    pairs.push_back({view_of(key), optional_view(value)});
  }
  Bytes out;
  if (!pairs.empty()) write_record_headers(pairs, out);
  return out;
}

BatchHeader header_of(const BatchSpec& spec) {
  BatchHeader header;
  header.base_offset = spec.base_offset;
  header.leader_epoch = spec.leader_epoch;
  header.attributes = spec.attributes;
  if (spec.producer_id >= 0) {
    header.producer_id = spec.producer_id;
    header.producer_epoch = spec.producer_epoch;
    header.base_sequence = spec.base_sequence;
  }
  if (spec.delete_horizon) {
    header.attributes =
        static_cast<std::int16_t>(header.attributes | batch_attribute::kDeleteHorizon);
    header.base_timestamp = *spec.delete_horizon;
  }
  return header;
}

OwnedRecord owned(const RecordView& record) {
  OwnedRecord copy{.offset = record.offset,
                   .timestamp = record.timestamp,
                   .key = optional_text(record.key),
                   .value = optional_text(record.value)};
  const auto pairs = read_record_headers(record.headers);
  if (!pairs) throw std::runtime_error("record headers do not parse");
  for (const HeaderView& pair : *pairs) {
    copy.headers.emplace_back(to_text(pair.key), optional_text(pair.value));
  }
  return copy;
}

template <class Each>
void for_each_batch(ByteView batches, Each each) {
  while (!batches.empty()) {
    const auto header = read_batch_header(batches);
    if (!header || !plausible(*header) || header->size_bytes() > batches.size()) {
      throw std::runtime_error("not a run of whole batches");
    }
    const ByteView one = batches.first(header->size_bytes());
    if (!crc_holds(one)) throw std::runtime_error("checksum of a batch does not hold");
    each(*header, one);
    batches = batches.subspan(one.size());
  }
}

}  // namespace

Bytes batch(const BatchSpec& spec) {
  BatchBuilder builder(header_of(spec), {spec.codec, kDefaultLevel});
  std::int32_t delta = -1;
  for (const Record& record : spec.records) {
    const Bytes headers = encoded_headers(record);
    delta = record.offset_delta.value_or(delta + 1);
    builder.add({.offset_delta = delta,
                 .timestamp = record.timestamp.value_or(spec.timestamp),
                 .key = optional_view(record.key),
                 .value = optional_view(record.value),
                 .headers = headers});
  }
  BatchBuilder::Overrides overrides{.last_offset_delta = spec.last_offset_delta};
  if ((spec.attributes & batch_attribute::kLogAppendTime) != 0) {
    overrides.max_timestamp = spec.timestamp;
  }
  return value_or_throw(builder.finish(overrides));
}

BatchRules lenient_rules() {
  BatchRules rules;
  rules.max_message_bytes = std::numeric_limits<std::int32_t>::max();
  rules.timestamp_after_max_ms = kUnlimited;
  rules.decompressed_bytes_max = kUnpackedBytesMax;
  return rules;
}

CheckedBatch checked_batch(const BatchSpec& spec) {
  BatchRules rules = lenient_rules();
  BatchSpec sent = spec;
  if ((spec.attributes & batch_attribute::kLogAppendTime) != 0) {
    rules.timestamp_type = TimestampType::kLogAppendTime;
    sent.attributes = static_cast<std::int16_t>(spec.attributes & ~batch_attribute::kLogAppendTime);
  }
  return checked_batch(sent, rules, spec.timestamp);
}

CheckedBatch checked_batch(const BatchSpec& spec, const BatchRules& rules, TimestampMs now) {
  auto result = check_batch(batch(spec), rules, now);
  if (const auto* refusal = std::get_if<BatchRefusal>(&result)) {
    throw std::runtime_error("batch refused: " + refusal->text);
  }
  return std::get<CheckedBatch>(std::move(result));
}

std::vector<OwnedRecord> records_of(ByteView batches) {
  std::vector<OwnedRecord> records;
  Bytes scratch;
  for_each_batch(batches, [&](const BatchHeader&, ByteView one) {
    RecordCursor cursor = value_or_throw(RecordCursor::open(one, kUnpackedBytesMax, scratch));
    while (const auto record = value_or_throw(cursor.next())) records.push_back(owned(*record));
  });
  return records;
}

std::vector<BatchHeader> headers_of(ByteView batches) {
  std::vector<BatchHeader> headers;
  for_each_batch(batches, [&](const BatchHeader& header, ByteView) { headers.push_back(header); });
  return headers;
}

ByteView view_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Bytes to_bytes(std::string_view text) {
  const ByteView view = view_of(text);
  return {view.begin(), view.end()};
}

std::string to_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append(Bytes& out, ByteView more) { out.insert(out.end(), more.begin(), more.end()); }

}  // namespace lastword::test
