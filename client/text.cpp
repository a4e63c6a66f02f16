// SPDX-License-Identifier: Apache-2.0
#include "client/text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <ctime>

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
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  static constexpr std::array<Unit, 5> kUnits{
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "min"}, {1000, "s"}, {1, "ms"}}};
  const std::int64_t total = std::max<std::int64_t>(duration_ms, 0);
  const auto first = std::ranges::find_if(kUnits, [&](const Unit& u) { return total >= u.ms; });
  if (first == kUnits.end()) return "0 s";
  std::string text = fmt::format("{} {}", total / first->ms, first->name);
  const auto second = first + 1;
  if (second == kUnits.end() || second->ms == 1) return text;
  const std::int64_t rest = total % first->ms / second->ms;
  return rest == 0 ? text : text + fmt::format(" {} {}", rest, second->name);
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
