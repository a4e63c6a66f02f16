// SPDX-License-Identifier: Apache-2.0
#include "protocol/uuid.h"

#include <cstdint>

namespace lastword {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kTextLength = 22;  // of six bits each; the last four are zero

}  // namespace

std::string to_string(const Uuid& id) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::byte b : id.bytes) {
    bits = bits << 8 | std::to_integer<std::uint32_t>(b);
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63];
  }
  text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  Uuid id;
  std::uint32_t bits = 0;
  int count = 0;
  std::size_t filled = 0;
  for (char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8 || filled == id.bytes.size()) continue;
    count -= 8;
    id.bytes[filled++] = std::byte(bits >> count);
  }
  if ((bits & 15) != 0) return std::nullopt;
  return id;
}

}  // namespace lastword
