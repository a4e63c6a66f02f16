// SPDX-License-Identifier: Apache-2.0
// Any bytes as a batch: the produce check must answer, a cursor must come to an end, and what the
// check let through must read back as it says. The first byte steers; the checksum and the length
// are made right on most inputs, or nothing would get behind them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "protocol/batch_check.h"
#include "protocol/check.h"
#include "protocol/record_batch.h"

namespace {

using namespace lastword;

constexpr std::size_t kUnpackedBytesMax = 1u << 20;
constexpr TimestampMs kNow = 1'700'000'000'000;

struct Steering {
  bool repair;
  bool key_required;
  bool append_time;
  Codec recompress;
  explicit Steering(std::uint8_t byte)
      : repair((byte & 1) == 0),
        key_required((byte & 2) != 0),
        append_time((byte & 4) != 0),
        recompress(static_cast<Codec>((byte >> 3) % 5)) {}
};

void repair(Bytes& batch) {
  if (batch.size() < kBatchHeaderBytes) return;
  BatchHeader header = *read_batch_header(batch);
  header.batch_length = static_cast<std::int32_t>(batch.size() - kBatchPrefixBytes);
  header.magic = kBatchMagic;
  write_batch_header(header, batch);
  seal_batch(batch);
}

/// Reads to the end; the count of records, or -1 for a refusal.
std::int64_t walk(ByteView batch) {
  Bytes scratch;
  auto cursor = RecordCursor::open(batch, kUnpackedBytesMax, scratch);
  if (!cursor) return -1;
  for (std::int64_t count = 0;; ++count) {
    const auto record = cursor->next();
    if (!record) return -1;
    if (!*record) return count;
    LW_CHECK(read_record_headers((*record)->headers).has_value());
    LW_CHECK(count <= static_cast<std::int64_t>(kUnpackedBytesMax + batch.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kUnpackedBytesMax) return 0;
  const Steering steering(data[0]);
  const ByteView input = std::as_bytes(std::span(data, size)).subspan(1);
  Bytes batch(input.begin(), input.end());
  if (steering.repair) repair(batch);
  walk(batch);

  BatchRules rules;
  rules.key_required = steering.key_required;
  rules.decompressed_bytes_max = kUnpackedBytesMax;
  rules.timestamp_after_max_ms = kUnlimited;
  if (steering.append_time) rules.timestamp_type = TimestampType::kLogAppendTime;
  rules.recompress = CompressionChoice{steering.recompress, kDefaultLevel};
  const auto result = check_batch(std::span(batch), rules, kNow);
  if (const auto* checked = std::get_if<CheckedBatch>(&result)) {
    LW_CHECK(crc_holds(checked->bytes()));
    LW_CHECK(read_batch_header(checked->bytes()) == checked->header());
    LW_CHECK(walk(checked->bytes()) == checked->header().record_count);
  }
  return 0;
}
