// SPDX-License-Identifier: Apache-2.0
// The frame around a small file that is replaced whole: magic, version, length and checksum.
//
// Layout    magic 4 bytes, version u16, length of the body u32, the body, CRC-32C u32 over
// everything
//           in front of it; big endian. Nothing may follow.
// Threads   pure functions.
// Lifetime  open_sealed_file() yields a view into its input.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/bytes.h"
#include "protocol/result.h"

namespace lastword::storage {

struct CheckedFormat {
  std::array<char, 4> magic;
  std::uint16_t version;
  const char* name;  // for messages
};

/// `body` in its frame.
Bytes seal_file(const CheckedFormat& format, ByteView body);

/// The body. kDamaged, with a text that begins with the format's name, if anything does not hold.
Result<ByteView> open_sealed_file(const CheckedFormat& format, ByteView bytes);

}  // namespace lastword::storage
