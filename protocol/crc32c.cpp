// SPDX-License-Identifier: Apache-2.0
#include "protocol/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace lastword {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
  constexpr std::size_t kStepBytes = 1u << 30;  // the library counts in int
  // The library works on the bare register; the usual inversion before and after is ours.
  std::uint32_t state = ~seed;
  while (!bytes.empty()) {
    const auto step = bytes.first(std::min(bytes.size(), kStepBytes));
    // It only reads, but its signature does not say so.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(step.data()));
    state = crc32_iscsi(data, static_cast<int>(step.size()), state);
    bytes = bytes.subspan(step.size());
  }
  return ~state;
}

}  // namespace lastword
