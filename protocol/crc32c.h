// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), as Kafka's record batches use it; ISA-L does the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lastword {

/// Checksum of `bytes`. To go on over several runs give the last result as `seed`:
/// crc32c(b, crc32c(a)) == crc32c(a followed by b).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0);

}  // namespace lastword
