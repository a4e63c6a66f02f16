// SPDX-License-Identifier: Apache-2.0
// A record as applications hold it: bytes in strings, null kept apart from empty.
//
// Purpose   what producer and consumer give and take.
// Threads   plain data.
// Lifetime  owns its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/record_batch.h"

namespace lastword::client {

/// What a key or a value may be: null (for a value: the key is deleted), or bytes, perhaps none.
using Field = std::optional<std::string>;

struct Header {
  std::string key{};
  Field value{};
  bool operator==(const Header&) const = default;
};

/// To be produced. Without a timestamp it gets the time of sending, without a partition the one
/// that the partitioner says.
struct Record {
  Field key{};
  Field value{};
  std::vector<Header> headers{};
  std::optional<TimestampMs> timestamp{};
  std::optional<std::int32_t> partition{};
};

/// As it was read.
struct ConsumedRecord {
  std::int32_t partition = 0;
  Offset offset = 0;
  TimestampMs timestamp = 0;
  Field key{};
  Field value{};
  std::vector<Header> headers{};
  bool is_tombstone() const { return !value.has_value(); }
  bool operator==(const ConsumedRecord&) const = default;
};

}  // namespace lastword::client
