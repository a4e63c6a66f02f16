// SPDX-License-Identifier: Apache-2.0
// Makes rows of the settings tables from a path of members, so that a row is one line and its
// bounds are written once: parser, message, page and schema all take them from there.
//
// Purpose   only for topic_settings.cpp and broker_settings.cpp.
// Threads   constants and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "config/setting_value.h"

namespace lastword::setting_row {

struct Names {
  std::string_view name;
  std::string_view kafka_name;
  std::string_view meaning;
};

/// `owner.*first.*second…`
template <auto kFirst, auto... kRest, typename Owner>
constexpr auto& field(Owner& owner) {
  if constexpr (sizeof...(kRest) == 0) {
    return owner.*kFirst;
  } else {
    return field<kRest...>(owner.*kFirst);
  }
}

/// Text put together by the compiler.
struct FixedText {
  std::array<char, 100> characters{};
  std::size_t size = 0;

  constexpr void append(std::string_view text) {
    for (const char character : text) characters.at(size++) = character;
  }
  constexpr void append(std::int64_t number, SettingUnit unit) {
    constexpr std::array<std::string_view, 5> kPowersOf1024{"", "KiB", "MiB", "GiB", "TiB"};
    std::size_t power = 0;
    while (unit == SettingUnit::kBytes && number != 0 && number % 1024 == 0 && power < 4) {
      number /= 1024;
      ++power;
    }
    if (number < 0) append("-");
    std::array<char, 20> digits{};
    std::size_t count = 0;
    do {
      digits.at(count++) = static_cast<char>('0' + (number < 0 ? -(number % 10) : number % 10));
      number /= 10;
    } while (number != 0);
    while (count > 0) characters.at(size++) = digits.at(--count);
    append(kPowersOf1024.at(power));
  }
  constexpr std::string_view view() const { return {characters.data(), size}; }
};

template <SettingUnit kUnit, SettingRange kRange>
inline constexpr FixedText kRangeText = [] {
  FixedText text;
  text.append(kRange.low, kUnit);
  if (kRange.high == std::numeric_limits<std::int64_t>::max()) {
    text.append(" or more");
  } else if (kRange.high != kRange.low) {
    text.append(" to ");
    text.append(kRange.high, kUnit);
    // A bound of 32 bits says little as bytes or milliseconds.
    if (kRange.high == std::numeric_limits<std::int32_t>::max()) {
      if (kUnit == SettingUnit::kBytes) text.append(" (2GiB - 1)");
      if (kUnit == SettingUnit::kMilliseconds) text.append(" (24.8 days)");
    }
  }
  return text;
}();

template <const auto& kWords>
inline constexpr FixedText kChoiceText = [] {
  FixedText text;
  for (const std::string_view word : kWords) {
    if (text.size > 0) text.append(", ");
    text.append(word);
  }
  return text;
}();

template <typename Options, SettingUnit kUnit, SettingRange kRange, auto... kPath>
std::optional<std::string> set_integer(Options& options, std::string_view text) {
  const std::optional<std::int64_t> value = parse_quantity(text, kUnit);
  if (!value || *value < kRange.low || *value > kRange.high) {
    return quantity_refusal(text, kRangeText<kUnit, kRange>.view(), kUnit);
  }
  auto& target = field<kPath...>(options);
  target = static_cast<std::remove_reference_t<decltype(target)>>(*value);
  return std::nullopt;
}

template <typename Options, auto... kPath>
std::string get_integer(const Options& options) {
  return std::to_string(field<kPath...>(options));
}

/// A whole number. Its type for clients follows from its bounds, as in Kafka's own tables.
template <typename Options, SettingUnit kUnit, SettingRange kRange, auto... kPath>
constexpr Setting<Options> integer_row(const Names& names) {
  constexpr bool kFitsInt = kRange.high <= std::numeric_limits<std::int32_t>::max();
  return {.name = names.name,
          .kafka_name = names.kafka_name,
          .type = kFitsInt ? SettingType::kInt : SettingType::kLong,
          .unit = kUnit,
          .allowed = kRangeText<kUnit, kRange>.view(),
          .meaning = names.meaning,
          .set = &set_integer<Options, kUnit, kRange, kPath...>,
          .get = &get_integer<Options, kPath...>,
          .range = kRange};
}

/// One word; `kWords` is indexed by the value of the enumeration (or by false and true).
template <typename Options, const auto& kWords, auto... kPath>
std::optional<std::string> set_choice(Options& options, std::string_view text) {
  const auto found = std::ranges::find(kWords, trimmed(text));
  if (found == kWords.end()) return "expected one of " + std::string(kChoiceText<kWords>.view());
  auto& target = field<kPath...>(options);
  target = static_cast<std::remove_reference_t<decltype(target)>>(found - kWords.begin());
  return std::nullopt;
}

template <typename Options, const auto& kWords, auto... kPath>
std::string get_choice(const Options& options) {
  return std::string(kWords.at(static_cast<std::size_t>(field<kPath...>(options))));
}

template <typename Options, const auto& kWords, auto... kPath>
constexpr Setting<Options> choice_row(const Names& names) {
  return {.name = names.name,
          .kafka_name = names.kafka_name,
          .type = SettingType::kString,
          .unit = SettingUnit::kNone,
          .allowed = kChoiceText<kWords>.view(),
          .meaning = names.meaning,
          .set = &set_choice<Options, kWords, kPath...>,
          .get = &get_choice<Options, kWords, kPath...>,
          .choices = kWords};
}

inline constexpr std::array<std::string_view, 2> kBoolWords{"false", "true"};

template <typename Options, auto... kPath>
constexpr Setting<Options> bool_row(const Names& names) {
  Setting<Options> row = choice_row<Options, kBoolWords, kPath...>(names);
  row.type = SettingType::kBool;
  return row;
}

}  // namespace lastword::setting_row
