// SPDX-License-Identifier: Apache-2.0
// A run of bytes in a file, as an answer carries it without looking inside.
//
// Purpose   lets the encoder yield file pages next to encoded bytes, so that a fetch can be sent
//           with sendfile; keeps protocol/ free of I/O.
// Threads   a ByteSource may be read by any number of threads at once.
// Lifetime  a FileRange keeps its source alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "protocol/result.h"

namespace lastword {

/// Something with positions that bytes can be read from.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `into.size()` bytes at `position`; fewer only at the end. May wait for the disk.
  virtual Result<std::size_t> read_at(std::uint64_t position, std::span<std::byte> into) const = 0;
  /// A descriptor that sendfile takes, or -1: then the bytes go through read_at.
  virtual int descriptor() const = 0;
};

struct FileRange {
  std::shared_ptr<const ByteSource> source{};
  std::uint64_t position = 0;
  std::uint32_t length_bytes = 0;
};

}  // namespace lastword
