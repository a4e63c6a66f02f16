// SPDX-License-Identifier: Apache-2.0
// Record batch v2, the unit on the wire and on disk: its header, its records, its making.
//
// Layout    (big endian; KIP-98)                     at
//           base offset             i64               0   outside the CRC, the broker writes it
//           batch length            i32               8   bytes after this field
//           partition leader epoch  i32              12   outside the CRC, the broker writes it
//           magic                   i8               16   2
//           CRC-32C                 u32              17   over [21, end)
//           attributes              i16              21   0-2 codec, 3 log append time,
//                                                         4 transactional, 5 control, 6 horizon
//           last offset delta       i32              23   kept when compaction removes records
//           base timestamp          i64              27   delete horizon if bit 6 (KIP-534)
//           max timestamp           i64              35
//           producer id             i64              43
//           producer epoch          i16              51
//           base sequence           i32              53
//           record count            i32              57   0 in an empty batch
//           records                 …                61   one packed blob when codec != none
//
// Threads   plain data and pure functions.
// Lifetime  a RecordView points into the bytes it was read from (the batch itself, or the scratch
//           buffer that it was unpacked into), and is valid while its cursor lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/bytes.h"
#include "protocol/compression.h"
#include "protocol/result.h"

namespace lastword {

using Offset = std::int64_t;
using TimestampMs = std::int64_t;

inline constexpr std::size_t kBatchHeaderBytes = 61;
inline constexpr std::size_t kBatchPrefixBytes = 12;  // base offset and batch length
inline constexpr std::size_t kBatchCrcFrom = 21;
inline constexpr std::int8_t kBatchMagic = 2;
inline constexpr std::int64_t kNoProducerId = -1;
inline constexpr std::uint32_t kBatchBytesMax = 1u << 30;  // longer is taken for damage

namespace batch_attribute {
inline constexpr std::int16_t kCodecMask = 0x07;
inline constexpr std::int16_t kLogAppendTime = 0x08;
inline constexpr std::int16_t kTransactional = 0x10;
inline constexpr std::int16_t kControl = 0x20;
inline constexpr std::int16_t kDeleteHorizon = 0x40;
}  // namespace batch_attribute

/// The header's fields by name.
struct BatchHeader {
  Offset base_offset = 0;
  std::int32_t batch_length = 0;
  std::int32_t leader_epoch = -1;
  std::int8_t magic = kBatchMagic;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  TimestampMs base_timestamp = -1;
  TimestampMs max_timestamp = -1;
  std::int64_t producer_id = kNoProducerId;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t record_count = 0;

  std::size_t size_bytes() const {
    return kBatchPrefixBytes + static_cast<std::size_t>(batch_length);
  }
  Offset last_offset() const { return base_offset + last_offset_delta; }
  std::uint8_t codec_bits() const {
    return static_cast<std::uint8_t>(attributes & batch_attribute::kCodecMask);
  }
  Codec codec() const { return static_cast<Codec>(codec_bits()); }
  bool has(std::int16_t attribute) const { return (attributes & attribute) != 0; }
  bool has_producer() const { return producer_id >= 0; }
  std::int32_t last_sequence() const;  // wraps at 2^31 - 1 as Kafka's do
  /// When its tombstones may go (KIP-534), if a pass has stamped it.
  std::optional<TimestampMs> delete_horizon() const {
    if (!has(batch_attribute::kDeleteHorizon)) return std::nullopt;
    return base_timestamp;
  }
  bool operator==(const BatchHeader&) const = default;
};

/// The header at the front of `bytes`; empty if there are too few. Checks nothing else.
std::optional<BatchHeader> read_batch_header(ByteView bytes);
/// True if magic, length (a header to kBatchBytesMax), codec, counts and offsets could be those of
/// a batch in a log: what a walk over headers may rely on without reading the records.
bool plausible(const BatchHeader& header);
/// Writes all 61 bytes, CRC field included as it is in `header`.
void write_batch_header(const BatchHeader& header, std::span<std::byte> bytes);
/// True if the CRC over [21, end) is the one in the header. `batch` is exactly one batch.
bool crc_holds(ByteView batch);
/// Sets base offset and leader epoch in place, which the CRC leaves out.
void stamp_offset(std::span<std::byte> batch, Offset base_offset, std::int32_t leader_epoch);
/// Recomputes the CRC in place.
void seal_batch(std::span<std::byte> batch);

struct HeaderView {
  ByteView key{};
  std::optional<ByteView> value{};
};

/// One record. `key` and `value` empty optionals are nulls; a null value is a tombstone.
struct RecordView {
  Offset offset = 0;
  TimestampMs timestamp = 0;  // log append time already applied
  std::optional<ByteView> key{};
  std::optional<ByteView> value{};
  ByteView headers{};  // encoded: count and pairs, see read_record_headers
  std::int32_t offset_delta = 0;
  bool is_tombstone() const { return !value.has_value(); }
};

/// The pairs in RecordView::headers; empty if they do not parse.
std::optional<std::vector<HeaderView>> read_record_headers(ByteView headers);

/// Walks the records of one batch. Safe on any bytes; does not look at the CRC. Offsets may have
/// gaps, and there may be fewer records than offsets.
class RecordCursor {
 public:
  /// `batch` is one whole batch; `scratch` holds what was unpacked and must outlive the cursor. A
  /// large output (kLargeOutputBytes) is freed with the cursor, and only one is held at a time: let
  /// the cursor go soon, on the thread that opened it. Errors as decompress() says.
  static Result<RecordCursor> open(ByteView batch, std::size_t decompressed_bytes_max,
                                   Bytes& scratch);

  /// Next record; an empty optional at the end. kInvalidRecord when lengths do not fit, offsets do
  /// not ascend within the batch, the count is not what the header says, or bytes are left over.
  Result<std::optional<RecordView>> next();

  const BatchHeader& header() const { return header_; }

 private:
  struct FreeLarge {
    void operator()(Bytes* scratch) const;
  };
  RecordCursor(const BatchHeader& header, ByteView records) : header_(header), records_(records) {}
  BatchHeader header_;
  ByteView records_;
  std::int32_t read_ = 0;
  std::int32_t last_delta_ = -1;
  LargeOutputTurn turn_{LargeOutputTurn::Line::kRead};
  std::unique_ptr<Bytes, FreeLarge> scratch_{};  // the caller's; goes before the turn does
};

/// A record to be written, as producers, tests and the cleaner give it.
struct RecordToWrite {
  std::int32_t offset_delta = 0;
  TimestampMs timestamp = 0;
  std::optional<ByteView> key{};
  std::optional<ByteView> value{};
  ByteView headers{};  // encoded; empty stands for none
};

/// Appends "count and pairs" for RecordToWrite::headers.
void write_record_headers(std::span<const HeaderView> pairs, Bytes& out);

/// Builds one batch. Records are encoded as they come and packed at the end.
class BatchBuilder {
 public:
  /// `header` gives base offset, leader epoch, attributes other than the codec, producer fields and
  /// base timestamp (which record deltas are relative to, KIP-534; -1: that of the first record).
  BatchBuilder(const BatchHeader& header, CompressionChoice compression);

  /// Offset deltas ascend.
  void add(const RecordToWrite& record);
  std::int32_t count() const { return count_; }
  /// Encoded size so far, before packing.
  std::size_t size_bytes() const { return records_.size() + kBatchHeaderBytes; }

  /// The batch, once. Without overrides both values are those of the records.
  struct Overrides {
    std::optional<std::int32_t> last_offset_delta{};
    std::optional<TimestampMs> max_timestamp{};
  };
  Result<Bytes> finish(const Overrides& overrides);
  Result<Bytes> finish() { return finish(Overrides{}); }

 private:
  BatchHeader header_;
  CompressionChoice compression_;
  Bytes records_{};
  std::int32_t count_ = 0;
  std::int32_t last_delta_ = -1;
  TimestampMs max_timestamp_ = -1;
};

/// A batch without records that keeps offsets, producer fields, max timestamp, type and
/// transactional/control bits of `header` (Kafka's RETAIN_EMPTY): 61 bytes.
Bytes make_empty_batch(const BatchHeader& header);

}  // namespace lastword
