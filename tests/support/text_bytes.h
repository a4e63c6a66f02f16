// SPDX-License-Identifier: Apache-2.0
// Text as bytes and back, for tests whose files hold words.
//
// Threads   pure functions.
#pragma once

#include <string>
#include <string_view>

#include "protocol/bytes.h"

namespace lastword::test {

inline Bytes to_bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return Bytes(view.begin(), view.end());
}

inline std::string to_text(ByteView bytes) {
  std::string text;
  for (const std::byte b : bytes) text += static_cast<char>(b);
  return text;
}

}  // namespace lastword::test
