// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest: refused, or understood so well that encoding gives the same bytes. The
// first byte says whether they get the frame that they need to be looked at.
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/check.h"
#include "storage/checked_file.h"
#include "storage/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lastword;
  constexpr storage::CheckedFormat kFormat{{'L', 'W', 'M', 'F'}, 1, "manifest"};
  if (size == 0) return 0;
  const ByteView input = std::as_bytes(std::span(data, size)).subspan(1);
  Bytes bytes(input.begin(), input.end());
  if (data[0] % 2 == 0) bytes = storage::seal_file(kFormat, bytes);
  const auto manifest = storage::decode_manifest(bytes);
  if (manifest) LW_CHECK(storage::encode(*manifest) == bytes);
  return 0;
}
