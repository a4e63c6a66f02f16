// SPDX-License-Identifier: Apache-2.0
// Any bytes as an index file: refused, or the same bytes again and the same answers from the file
// as from memory; a search in a file that is refused still comes to an end. The first byte chooses
// the kind, the next eight the base offset.
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/check.h"
#include "storage/sparse_index.h"
#include "tests/storage/test_environment.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastword;
  using namespace lastword::storage;
  constexpr std::size_t kFrontBytes = 9;
  if (size < kFrontBytes) return 0;
  const IndexKind kind = data[0] % 2 == 0 ? IndexKind::kOffset : IndexKind::kTime;
  Reader front(std::as_bytes(std::span(data, kFrontBytes)).subspan(1));
  Offset base_offset = 0;
  front.number(base_offset);
  base_offset &= std::numeric_limits<Offset>::max();

  const ByteView bytes = std::as_bytes(std::span(data, size)).subspan(kFrontBytes);
  const test::BytesSource file(Bytes(bytes.begin(), bytes.end()));
  const auto index = SparseIndex::decode(kind, base_offset, bytes);
  if (index) {
    const Bytes encoded = index->encode();
    LW_CHECK(std::equal(encoded.begin(), encoded.end(), bytes.begin(), bytes.end()));
  }
  for (const std::int64_t wanted : {std::int64_t{0}, base_offset, base_offset / 2 + 1000,
                                    std::numeric_limits<std::int64_t>::max()}) {
    const auto by_key = floor_in_file(file, bytes.size(), kind, base_offset, wanted);
    const auto by_value = floor_value_in_file(file, bytes.size(), kind, base_offset, wanted);
    if (!index) continue;
    LW_CHECK(by_key && *by_key == index->floor(wanted));
    LW_CHECK(by_value && *by_value == index->floor_value(wanted));
  }
  return 0;
}
