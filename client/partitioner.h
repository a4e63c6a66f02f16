// SPDX-License-Identifier: Apache-2.0
// Which partition a record goes to: the same one that Kafka's Java client chooses.
//
// Threads   pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace lastword::client {

/// The 32-bit MurmurHash2 of Kafka's Java client, with its seed.
std::int32_t murmur2(std::string_view bytes);

/// The partition of a key, as Java's default partitioner has it. `partitions` is at least 1.
std::int32_t partition_of_key(std::string_view key, std::int32_t partitions);

}  // namespace lastword::client
