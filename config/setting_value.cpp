// SPDX-License-Identifier: Apache-2.0
#include "config/setting_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <vector>

namespace lastword {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
  bool preferred;  // used when a value is written
};

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kKilo = 1000;

// Largest first within each system, as writing looks for the largest that divides the value.
constexpr std::array kByteUnits{
    Unit{"TiB", kKi* kKi* kKi* kKi, true},
    Unit{"GiB", kKi* kKi* kKi, true},
    Unit{"MiB", kKi* kKi, true},
    Unit{"KiB", kKi, true},
    Unit{"TB", kKilo* kKilo* kKilo* kKilo, false},
    Unit{"GB", kKilo* kKilo* kKilo, false},
    Unit{"MB", kKilo* kKilo, false},
    Unit{"kB", kKilo, false},
    Unit{"B", 1, false},
};

constexpr std::array kTimeUnits{
    Unit{"d", 24 * 60 * 60 * kKilo, true},
    Unit{"h", 60 * 60 * kKilo, true},
    Unit{"min", 60 * kKilo, true},
    Unit{"s", kKilo, true},
    Unit{"ms", 1, true},
};

std::span<const Unit> units_of(SettingUnit unit) {
  switch (unit) {
    case SettingUnit::kBytes:
      return kByteUnits;
    case SettingUnit::kMilliseconds:
      return kTimeUnits;
    case SettingUnit::kNone:
      break;
  }
  return {};
}

bool is_blank(char character) { return character == ' ' || character == '\t'; }

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t changed = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// What someone may have meant who wrote a fraction or a unit that there is not; may be empty.
std::string quantity_hint(std::string_view text, SettingUnit unit) {
  const std::size_t digits = text.find_first_not_of("-0123456789");
  if (unit == SettingUnit::kNone || digits == 0 || digits == std::string_view::npos) return {};
  if (text[digits] == '.') return "; there are no fractions: take a smaller unit";
  const std::string_view suffix = trimmed(text.substr(digits));
  const auto lower = [](char letter) {
    return static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  };
  std::string names;
  for (const Unit& candidate : units_of(unit)) {
    if (candidate.name == suffix) return {};
    if (suffix.empty() || lower(candidate.name.front()) != lower(suffix.front())) continue;
    if (!names.empty()) names += " or ";
    names += candidate.name;
  }
  return names.empty() ? names : "; did you mean " + names + "?";
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> parse_quantity(std::string_view text, SettingUnit unit) {
  text = trimmed(text);
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix = trimmed({stopped, static_cast<std::size_t>(end - stopped)});
  if (suffix.empty()) return number;
  const auto units = units_of(unit);
  const auto found = std::ranges::find(units, suffix, &Unit::name);
  if (found == units.end()) return std::nullopt;
  std::int64_t value = 0;
  if (__builtin_mul_overflow(number, found->factor, &value)) return std::nullopt;
  return value;
}

std::string format_quantity(std::int64_t value, SettingUnit unit) {
  if (value > 0) {
    for (const Unit& candidate : units_of(unit)) {
      if (!candidate.preferred || value % candidate.factor != 0) continue;
      // Nobody reads 9223372036854775807 better for an "ms" behind it.
      if (value == std::numeric_limits<std::int64_t>::max()) break;
      return std::to_string(value / candidate.factor) + std::string(candidate.name);
    }
  }
  return std::to_string(value);
}

std::string unit_names(SettingUnit unit, std::string_view separator) {
  std::string names;
  const auto units = units_of(unit);
  for (auto one = units.rbegin(); one != units.rend(); ++one) {
    if (!names.empty()) names += separator;
    names += one->name;
  }
  return names;
}

std::string quantity_refusal(std::string_view text, std::string_view allowed, SettingUnit unit) {
  text = trimmed(text);
  std::string refusal;
  const bool digits_only =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (digits_only && !parse_quantity(text, unit)) refusal = "too large: ";
  refusal += "expected " + std::string(allowed);
  switch (unit) {
    case SettingUnit::kNone:
      return refusal + ", a whole number";
    case SettingUnit::kBytes:
      refusal += ", bytes as a whole number";
      break;
    case SettingUnit::kMilliseconds:
      refusal += ", milliseconds as a whole number";
      break;
  }
  return refusal + " or text with a unit (" + unit_names(unit, ", ") + ")" +
         quantity_hint(text, unit);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kBytesMax = 80;
  std::string out = "\"";
  for (const char character : text.substr(0, kBytesMax)) {
    const bool control = static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
    out += control ? '?' : character;
  }
  return out + (text.size() > kBytesMax ? "…\"" : "\"");
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // A client chooses `name`; no setting is nearly as long as this.
  constexpr std::size_t kLengthMax = 100;
  if (name.empty() || name.size() > kLengthMax) return {};
  std::string_view nearest;
  std::size_t smallest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= smallest) continue;
    smallest = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace lastword
