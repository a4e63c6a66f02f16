// SPDX-License-Identifier: Apache-2.0
// A JSON text as a small tree that knows its lines, for messages that point at a place.
//
// Purpose   the library's own tree drops positions and lets the last of two equal keys win.
// Threads   plain values.
// Lifetime  values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lastword {

enum class JsonKind : std::uint8_t { kNull, kBool, kNumber, kString, kList, kObject };

struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  int line = 1;        // of its key; of the list for what stands in a list
  std::string key{};   // as a member of an object
  std::string text{};  // of a bool, a number (as written) or a string
  std::vector<JsonValue> children{};
};

/// The tree, or what is wrong, beginning with "line N". `//` comments are skipped; a key that an
/// object has twice is an error, and so are more than 8 levels.
std::variant<JsonValue, std::string> parse_json(std::string_view text);

/// "a number", "an object", … for messages.
std::string_view kind_name(JsonKind kind);

}  // namespace lastword
