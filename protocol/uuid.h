// SPDX-License-Identifier: Apache-2.0
// 16 bytes that name a topic or a cluster. Making random ones is not done here.
//
// Threads   plain data.
// Lifetime  a value.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lastword {

struct Uuid {
  std::array<std::byte, 16> bytes{};

  /// All zero stands for "none" on the wire.
  bool is_zero() const { return *this == Uuid{}; }
  auto operator<=>(const Uuid&) const = default;
};

/// 22 characters of url-safe base64 without padding, as Kafka prints ids.
std::string to_string(const Uuid& id);

/// The reverse of to_string; empty if `text` is not what it writes.
std::optional<Uuid> parse_uuid(std::string_view text);

}  // namespace lastword
