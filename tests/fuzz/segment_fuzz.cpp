// SPDX-License-Identifier: Apache-2.0
// Any bytes as a segment: a reader gets to the end, every batch that it gives is good, ascends and
// lies in the range, and what it skips is not. The first byte steers: checksums are made right on
// most inputs, and some ranges are longer than the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "protocol/check.h"
#include "storage/segment_reader.h"
#include "tests/storage/test_environment.h"

namespace {

using namespace lastword;
using namespace lastword::storage;

/// Wherever a header could be one, its checksum is made right.
void repair(Bytes& bytes) {
  for (std::size_t at = 0; at + kBatchHeaderBytes <= bytes.size();) {
    const std::span rest = std::span(bytes).subspan(at);
    const auto header = read_batch_header(rest);
    if (plausible(*header) && header->size_bytes() <= rest.size()) {
      seal_batch(rest.first(header->size_bytes()));
      at += header->size_bytes();
    } else {
      ++at;
    }
  }
}

struct Progress {
  std::uint64_t position = 0;
  Offset last_offset = -1;

  void take(const BatchAt& batch, const Bytes& bytes) {
    LW_CHECK(batch.position == position);
    LW_CHECK(crc_holds(batch.bytes) && read_batch_header(batch.bytes) == batch.header);
    LW_CHECK(std::equal(batch.bytes.begin(), batch.bytes.end(),
                        bytes.begin() + static_cast<std::ptrdiff_t>(position)));
    LW_CHECK(batch.header.base_offset > last_offset);
    last_offset = batch.header.last_offset();
    position += batch.bytes.size();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView input = std::as_bytes(std::span(data, size)).subspan(1);
  Bytes bytes(input.begin(), input.end());
  if (data[0] % 4 != 0) repair(bytes);
  const std::uint64_t end = bytes.size() + (data[0] % 16 == 1 ? 1u << 30 : 0);
  const auto range = SegmentReader::Range::of_segment(data[0] >> 4, end);

  Bytes buffer;
  SegmentReader reader(std::make_shared<test::BytesSource>(bytes), range, buffer);
  Progress progress{.position = 0, .last_offset = range.first_offset - 1};
  while (true) {
    const auto batch = reader.next();
    if (batch && !*batch) break;
    if (batch) {
      progress.take(**batch, bytes);
    } else {
      LW_CHECK(batch.error().kind == ErrorKind::kDamaged);
      LW_CHECK(reader.position() == progress.position);
      const auto skipped = reader.skip_damage();
      LW_CHECK(skipped && *skipped > progress.position && *skipped <= end);
      progress.position = *skipped;
    }
  }
  LW_CHECK(progress.position == end);
  LW_CHECK(buffer.size() <= (1u << 20) + bytes.size());
  return 0;
}
