// SPDX-License-Identifier: Apache-2.0
#include "protocol/record_batch.h"

#include <algorithm>
#include <array>
#include <limits>

#include "protocol/check.h"
#include "protocol/crc32c.h"
#include "protocol/record_codec.h"

namespace lastword {
namespace {

using record_codec::load;
using record_codec::store;

// Where each field is; see the table in the header.
constexpr std::size_t kBaseOffsetAt = 0;
constexpr std::size_t kBatchLengthAt = 8;
constexpr std::size_t kLeaderEpochAt = 12;
constexpr std::size_t kMagicAt = 16;
constexpr std::size_t kCrcAt = 17;
constexpr std::size_t kAttributesAt = 21;
constexpr std::size_t kLastOffsetDeltaAt = 23;
constexpr std::size_t kBaseTimestampAt = 27;
constexpr std::size_t kMaxTimestampAt = 35;
constexpr std::size_t kProducerIdAt = 43;
constexpr std::size_t kProducerEpochAt = 51;
constexpr std::size_t kBaseSequenceAt = 53;
constexpr std::size_t kRecordCountAt = 57;

constexpr std::int32_t kBatchLengthMin = kBatchHeaderBytes - kBatchPrefixBytes;
constexpr auto kCodecLast = static_cast<std::uint8_t>(Codec::kZstd);

Error corrupt(std::string text) { return {ErrorKind::kCorruptBatch, std::move(text)}; }
Error invalid(std::string text) { return {ErrorKind::kInvalidRecord, std::move(text)}; }

std::optional<ByteView> optional_view(const record_codec::Blob& blob) {
  if (blob.is_null()) return std::nullopt;
  return blob.view();
}

std::int64_t length_of(const std::optional<ByteView>& bytes) {
  return bytes ? static_cast<std::int64_t>(bytes->size()) : -1;
}

void append(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_varint(Bytes& out, std::int64_t value) {
  std::array<std::byte, 10> buffer;
  const std::byte* const end = record_codec::write_varint(buffer.data(), value);
  out.insert(out.end(), std::as_const(buffer).data(), end);
}

void append_blob(Bytes& out, const std::optional<ByteView>& bytes) {
  append_varint(out, length_of(bytes));
  if (bytes) append(out, *bytes);
}

std::size_t blob_bytes(const std::optional<ByteView>& bytes) {
  return record_codec::varint_bytes(length_of(bytes)) + (bytes ? bytes->size() : 0);
}

}  // namespace

std::int32_t BatchHeader::last_sequence() const {
  if (base_sequence < 0) return base_sequence;
  const std::int64_t sum = std::int64_t{base_sequence} + last_offset_delta;
  return static_cast<std::int32_t>(sum & std::numeric_limits<std::int32_t>::max());
}

std::optional<BatchHeader> read_batch_header(ByteView bytes) {
  if (bytes.size() < kBatchHeaderBytes) return std::nullopt;
  const std::byte* const at = bytes.data();
  BatchHeader header;
  header.base_offset = load<std::int64_t>(at + kBaseOffsetAt);
  header.batch_length = load<std::int32_t>(at + kBatchLengthAt);
  header.leader_epoch = load<std::int32_t>(at + kLeaderEpochAt);
  header.magic = load<std::int8_t>(at + kMagicAt);
  header.crc = load<std::uint32_t>(at + kCrcAt);
  header.attributes = load<std::int16_t>(at + kAttributesAt);
  header.last_offset_delta = load<std::int32_t>(at + kLastOffsetDeltaAt);
  header.base_timestamp = load<std::int64_t>(at + kBaseTimestampAt);
  header.max_timestamp = load<std::int64_t>(at + kMaxTimestampAt);
  header.producer_id = load<std::int64_t>(at + kProducerIdAt);
  header.producer_epoch = load<std::int16_t>(at + kProducerEpochAt);
  header.base_sequence = load<std::int32_t>(at + kBaseSequenceAt);
  header.record_count = load<std::int32_t>(at + kRecordCountAt);
  return header;
}

bool plausible(const BatchHeader& header) {
  const std::int64_t length_max = kBatchBytesMax - kBatchPrefixBytes;
  return header.magic == kBatchMagic && header.batch_length >= kBatchLengthMin &&
         header.batch_length <= length_max && header.codec_bits() <= kCodecLast &&
         header.last_offset_delta >= 0 && header.record_count >= 0 &&
         header.record_count <= std::int64_t{header.last_offset_delta} + 1 &&
         header.base_offset >= 0 &&
         header.base_offset < std::numeric_limits<Offset>::max() - header.last_offset_delta;
}

void write_batch_header(const BatchHeader& header, std::span<std::byte> bytes) {
  LW_CHECK(bytes.size() >= kBatchHeaderBytes);
  std::byte* const at = bytes.data();
  store(at + kBaseOffsetAt, header.base_offset);
  store(at + kBatchLengthAt, header.batch_length);
  store(at + kLeaderEpochAt, header.leader_epoch);
  store(at + kMagicAt, header.magic);
  store(at + kCrcAt, header.crc);
  store(at + kAttributesAt, header.attributes);
  store(at + kLastOffsetDeltaAt, header.last_offset_delta);
  store(at + kBaseTimestampAt, header.base_timestamp);
  store(at + kMaxTimestampAt, header.max_timestamp);
  store(at + kProducerIdAt, header.producer_id);
  store(at + kProducerEpochAt, header.producer_epoch);
  store(at + kBaseSequenceAt, header.base_sequence);
  store(at + kRecordCountAt, header.record_count);
}

bool crc_holds(ByteView batch) {
  return batch.size() >= kBatchHeaderBytes &&
         load<std::uint32_t>(batch.data() + kCrcAt) == crc32c(batch.subspan(kBatchCrcFrom));
}

void stamp_offset(std::span<std::byte> batch, Offset base_offset, std::int32_t leader_epoch) {
  LW_CHECK(batch.size() >= kBatchHeaderBytes);
  store(batch.data() + kBaseOffsetAt, base_offset);
  store(batch.data() + kLeaderEpochAt, leader_epoch);
}

void seal_batch(std::span<std::byte> batch) {
  LW_CHECK(batch.size() >= kBatchHeaderBytes);
  store(batch.data() + kCrcAt, crc32c(batch.subspan(kBatchCrcFrom)));
}

// ---- reading -------------------------------------------------------------------------------

std::optional<std::vector<HeaderView>> read_record_headers(ByteView headers) {
  std::vector<HeaderView> pairs;
  if (headers.empty()) return pairs;
  record_codec::Span in{headers.data(), headers.data() + headers.size()};
  const std::int64_t count = record_codec::read_varint<32>(in);
  if (count < 0) return std::nullopt;
  for (std::int64_t i = 0; i < count && !in.failed(); ++i) {
    const auto pair = record_codec::read_pair(in);
    if (!in.failed()) pairs.push_back({pair.key.view(), optional_view(pair.value)});
  }
  if (in.failed() || !in.empty()) return std::nullopt;
  return pairs;
}

void RecordCursor::FreeLarge::operator()(Bytes* scratch) const {
  if (scratch->capacity() > kLargeOutputBytes) Bytes().swap(*scratch);
}

Result<RecordCursor> RecordCursor::open(ByteView batch, std::size_t decompressed_bytes_max,
                                        Bytes& scratch) {
  const auto header = read_batch_header(batch);
  if (!header) return corrupt("batch is shorter than its header");
  if (header->magic != kBatchMagic) {
    return corrupt("batch format " + std::to_string(header->magic) + " is not known");
  }
  if (header->batch_length < kBatchLengthMin || header->size_bytes() != batch.size()) {
    return corrupt("batch length " + std::to_string(header->batch_length) + " does not fit " +
                   std::to_string(batch.size()) + " bytes");
  }
  if (header->record_count < 0) return invalid("batch has a negative count of records");

  RecordCursor cursor(*header, batch.subspan(kBatchHeaderBytes));
  if (header->codec_bits() == 0 || (header->record_count == 0 && cursor.records_.empty())) {
    return cursor;
  }
  cursor.scratch_.reset(&scratch);
  const OutputLimit limit{decompressed_bytes_max, &cursor.turn_};
  LW_TRY(decompress(header->codec(), cursor.records_, limit, scratch));
  cursor.records_ = scratch;
  return cursor;
}

Result<std::optional<RecordView>> RecordCursor::next() {
  if (read_ == header_.record_count) {
    if (records_.empty()) return std::optional<RecordView>{};
    return invalid("batch has bytes left over after its " + std::to_string(read_) + " records");
  }
  if (records_.empty()) {
    return invalid("batch has " + std::to_string(read_) + " records, its header says " +
                   std::to_string(header_.record_count));
  }
  record_codec::Span in{records_.data(), records_.data() + records_.size()};
  record_codec::ParsedRecord parsed;
  if (const char* problem = record_codec::parse_record(in, parsed)) {
    return invalid("record " + std::to_string(read_) + " " + problem);
  }
  if (parsed.offset_delta <= last_delta_ || parsed.offset_delta > header_.last_offset_delta) {
    return invalid("record " + std::to_string(read_) + " has an offset outside its batch");
  }
  records_ = {in.at, in.end};
  last_delta_ = static_cast<std::int32_t>(parsed.offset_delta);
  ++read_;

  RecordView record;
  record.offset = record_codec::wrapping_add(header_.base_offset, last_delta_);
  record.offset_delta = last_delta_;
  record.timestamp =
      header_.has(batch_attribute::kLogAppendTime)
          ? header_.max_timestamp
          : record_codec::wrapping_add(header_.base_timestamp, parsed.timestamp_delta);
  record.key = optional_view(parsed.key);
  record.value = optional_view(parsed.value);
  record.headers = parsed.headers;
  return std::optional(record);
}

// ---- writing -------------------------------------------------------------------------------

void write_record_headers(std::span<const HeaderView> pairs, Bytes& out) {
  append_varint(out, static_cast<std::int64_t>(pairs.size()));
  for (const HeaderView& pair : pairs) {
    append_blob(out, pair.key);
    append_blob(out, pair.value);
  }
}

BatchBuilder::BatchBuilder(const BatchHeader& header, CompressionChoice compression)
    : header_(header), compression_(compression) {}

void BatchBuilder::add(const RecordToWrite& record) {
  LW_CHECK(record.offset_delta > last_delta_);
  if (count_ == 0 && header_.base_timestamp == -1) header_.base_timestamp = record.timestamp;
  max_timestamp_ = count_ == 0 ? record.timestamp : std::max(max_timestamp_, record.timestamp);
  last_delta_ = record.offset_delta;
  ++count_;

  const std::int64_t timestamp_delta =
      record_codec::wrapping_subtract(record.timestamp, header_.base_timestamp);
  const std::size_t length = 1 + record_codec::varint_bytes(timestamp_delta) +
                             record_codec::varint_bytes(record.offset_delta) +
                             blob_bytes(record.key) + blob_bytes(record.value) +
                             std::max<std::size_t>(1, record.headers.size());
  append_varint(records_, static_cast<std::int64_t>(length));
  records_.push_back(std::byte{0});  // attributes: unused
  append_varint(records_, timestamp_delta);
  append_varint(records_, record.offset_delta);
  append_blob(records_, record.key);
  append_blob(records_, record.value);
  if (record.headers.empty()) {
    records_.push_back(std::byte{0});  // no headers
  } else {
    append(records_, record.headers);
  }
}

Result<Bytes> BatchBuilder::finish(const Overrides& overrides) {
  const Codec codec = count_ == 0 ? Codec::kNone : compression_.codec;
  Bytes batch(kBatchHeaderBytes);
  LW_TRY(compress({codec, compression_.level}, records_, batch));
  if (batch.size() > kBatchBytesMax) {
    return Error{ErrorKind::kBatchTooLarge,
                 "a batch of " + std::to_string(batch.size()) + " bytes: make smaller ones"};
  }
  BatchHeader header = header_;
  header.magic = kBatchMagic;
  header.batch_length = static_cast<std::int32_t>(batch.size() - kBatchPrefixBytes);
  header.attributes = static_cast<std::int16_t>((header.attributes & ~batch_attribute::kCodecMask) |
                                                static_cast<int>(codec));
  header.last_offset_delta = overrides.last_offset_delta.value_or(last_delta_);
  header.max_timestamp = overrides.max_timestamp.value_or(max_timestamp_);
  header.record_count = count_;
  write_batch_header(header, batch);
  seal_batch(batch);
  return batch;
}

Bytes make_empty_batch(const BatchHeader& header) {
  BatchHeader empty = header;
  empty.magic = kBatchMagic;
  empty.batch_length = kBatchLengthMin;
  empty.attributes = static_cast<std::int16_t>(
      header.attributes & (batch_attribute::kLogAppendTime | batch_attribute::kTransactional |
                           batch_attribute::kControl));
  empty.base_timestamp = -1;
  empty.record_count = 0;
  Bytes batch(kBatchHeaderBytes);
  write_batch_header(empty, batch);
  seal_batch(batch);
  return batch;
}

}  // namespace lastword
