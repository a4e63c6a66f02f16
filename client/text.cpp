// SPDX-License-Identifier: Apache-2.0
#include "client/text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>

#include "config/topic_settings.h"

namespace lastword::client {

namespace {

constexpr std::string_view kNull = "(null)";
constexpr std::string_view kEmpty = "(empty)";

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '\\':
      out += "\\\\";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7f) {
    out += fmt::format("\\x{:02x}", byte);
  } else {
    out += c;
  }
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

struct TimeUnit {
  std::int64_t ms;
  const char* name;
};
constexpr std::array<TimeUnit, 5> kTimeUnits{
    {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "min"}, {1000, "s"}, {1, "ms"}}};

// The largest unit of which `duration_ms` has one; the end if that is none.
auto first_unit(std::int64_t duration_ms) {
  return std::ranges::find_if(kTimeUnits,
                              [&](const TimeUnit& unit) { return duration_ms >= unit.ms; });
}

// The unit that is told beside `first`, if one is: milliseconds are told alone.
const TimeUnit* second_unit(const TimeUnit& first) {
  const TimeUnit* second = &first + 1;
  return first.ms == 1 || second->ms == 1 ? nullptr : second;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // UTF-8: one a character
  }));
}

}  // namespace

std::string visible(const Field& field) {
  if (!field) return std::string(kNull);
  if (field->empty()) return std::string(kEmpty);
  std::string out;
  if (*field == kNull || *field == kEmpty) out += '\\';
  for (const char c : *field) append_escaped(out, c);
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case '0':
        out += '\0';
        break;
      case '\\':
        out += '\\';
        break;
      case 'x': {
        if (i + 2 >= text.size()) return std::nullopt;
        const auto high = hex_digit(text[i + 1]);
        const auto low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return out;
}

std::string time_text(TimestampMs time_ms) {
  if (time_ms < 0) return "-";
  const std::time_t seconds = time_ms / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     time_ms % 1000);
}

std::string duration_text(std::int64_t duration_ms) {
  const std::int64_t total = std::max<std::int64_t>(duration_ms, 0);
  const auto first = first_unit(total);
  if (first == kTimeUnits.end()) return "0 s";
  std::string text = fmt::format("{} {}", total / first->ms, first->name);
  const TimeUnit* second = second_unit(*first);
  if (second == nullptr) return text;
  const std::int64_t rest = total % first->ms / second->ms;
  return rest == 0 ? text : text + fmt::format(" {} {}", rest, second->name);
}

std::string duration_left_text(std::int64_t duration_ms) {
  const auto first = first_unit(duration_ms);
  if (first == kTimeUnits.end()) return duration_text(duration_ms);
  const TimeUnit* second = second_unit(*first);
  const std::int64_t step = second == nullptr ? first->ms : second->ms;
  const std::int64_t short_of = duration_ms % step;
  return duration_text(short_of == 0 ? duration_ms : duration_ms - short_of + step);
}

std::string size_text(std::int64_t bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string setting_text(std::string_view name, const std::string& value) {
  const lastword::TopicSetting* row = find_topic_setting(name);
  if (row == nullptr || row->unit == SettingUnit::kNone) return value;
  const auto number = parse_quantity(value, row->unit);
  if (!number) return value;
  if (*number == std::numeric_limits<std::int64_t>::max()) return "no limit";
  if (*number == -1) return "no limit (-1)";
  const std::string text = format_quantity(*number, row->unit);
  const bool same = text.starts_with(value);  // "5ms" says no more than "5"
  return same ? value : text + " (" + value + ")";
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - columns(row[i]) + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

}  // namespace lastword::client
