// SPDX-License-Identifier: Apache-2.0
// Bytes written as hexadecimal text, with blanks and `# …` comments between them.
//
// Threads   pure functions.
#pragma once

#include <string>
#include <string_view>

#include "protocol/bytes.h"

namespace lastword {

inline Bytes from_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Bytes bytes;
  int high = -1;
  bool comment = false;
  for (char c : text) {
    comment = c == '\n' ? false : comment || c == '#';
    const std::size_t digit = kDigits.find(c);
    if (comment || digit == std::string_view::npos) continue;
    if (high < 0) {
      high = static_cast<int>(digit);
    } else {
      bytes.push_back(std::byte(static_cast<unsigned>(high) * 16 + digit));
      high = -1;
    }
  }
  return bytes;
}

inline std::string to_hex(ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::byte b : bytes) {
    const auto value = std::to_integer<std::size_t>(b);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
    text += ' ';
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace lastword
