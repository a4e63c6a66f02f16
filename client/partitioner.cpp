// SPDX-License-Identifier: Apache-2.0
#include "client/partitioner.h"

#include <cstddef>

#include "protocol/check.h"

namespace lastword::client {

std::int32_t murmur2(std::string_view bytes) {
  constexpr std::uint32_t kSeed = 0x9747b28c;
  constexpr std::uint32_t kMultiplier = 0x5bd1e995;
  constexpr int kShift = 24;
  const auto at = [bytes](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(bytes.size());
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    std::uint32_t word = at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24;
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash *= kMultiplier;
    hash ^= word;
  }
  const std::size_t left = bytes.size() - i;
  if (left >= 3) hash ^= at(i + 2) << 16;
  if (left >= 2) hash ^= at(i + 1) << 8;
  if (left >= 1) {
    hash ^= at(i);
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  hash ^= hash >> 15;
  return static_cast<std::int32_t>(hash);
}

std::int32_t partition_of_key(std::string_view key, std::int32_t partitions) {
  LW_CHECK(partitions > 0);
  return (murmur2(key) & 0x7fffffff) % partitions;
}

}  // namespace lastword::client
