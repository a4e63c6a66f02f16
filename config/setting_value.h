// SPDX-License-Identifier: Apache-2.0
// What one setting is: its row in a table, how its value is written, and how a refusal reads.
//
// Purpose   shared by the tables of topic and broker settings and by all that is made from them
//           (config loader, JSON schema, reference page, CreateTopics, DescribeConfigs).
// Threads   plain values and pure functions.
// Lifetime  rows are constants; what their views and spans point at lives for the whole program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lastword {

/// Kafka's `config_type` of DescribeConfigs, so that no second list of types is needed.
enum class SettingType : std::int8_t {
  kBool = 1,
  kString = 2,
  kInt = 3,
  kLong = 5,
  kDouble = 6,
  kList = 7
};

/// How a number may be written besides plain digits: "64MiB" for bytes, "24h" for milliseconds.
enum class SettingUnit : std::uint8_t { kNone, kBytes, kMilliseconds };

/// Both ends belong to it.
struct SettingRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// One row of a table of settings.
template <typename Options>
struct Setting {
  std::string_view name;        // of a topic: Kafka's; of the broker: the path in the file
  std::string_view kafka_name;  // what Kafka calls it on a broker; empty when it has none
  SettingType type;
  SettingUnit unit;
  std::string_view allowed;  // "0 or more", "fsync, os", for messages and the page
  std::string_view meaning;  // one sentence
  /// Parses `text` into `options`; on refusal says what is allowed and changes nothing.
  std::optional<std::string> (*set)(Options& options, std::string_view text);
  /// The value as Kafka writes it: decimal numbers, comma-joined lists, lower case.
  std::string (*get)(const Options& options);
  std::optional<SettingRange> range{};          // whole numbers only
  std::span<const std::string_view> choices{};  // settings that take one or more of these words
};

/// Values that JSON or a client gives as number or with a unit: "64MiB" → 67108864, "24h" →
/// 86400000, "-1" → -1. Exact: no fractions. Empty on garbage or overflow.
std::optional<std::int64_t> parse_quantity(std::string_view text, SettingUnit unit);

/// The shortest exact spelling that `parse_quantity` reads back: 67108864 → "64MiB".
std::string format_quantity(std::int64_t value, SettingUnit unit);

/// The units that `parse_quantity` knows, for messages: "ms, s, min, h, d"; empty for `kNone`.
std::string unit_names(SettingUnit unit, std::string_view separator);

/// Why a whole number was refused, ending with what is allowed.
std::string quantity_refusal(std::string_view text, std::string_view allowed, SettingUnit unit);

/// `text` in quotes, fit for a log line: at most 80 bytes of it, control characters replaced.
std::string in_quotes(std::string_view text);

/// The candidate nearest to `name` by edit distance, or empty when nothing is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// `text` without the blanks around it.
std::string_view trimmed(std::string_view text);

}  // namespace lastword
