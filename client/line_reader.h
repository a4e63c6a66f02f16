// SPDX-License-Identifier: Apache-2.0
// Lines from a file, a pipe or a terminal, without waiting longer than told.
//
// Purpose   so that a producer can send what it has while a pipe is quiet.
// Threads   one at a time.
// Lifetime  the descriptor stays the caller's.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "protocol/result.h"

namespace lastword::client {

class LineReader {
 public:
  static constexpr std::size_t kLineBytesMax = 256u << 20;

  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  enum class Got { kLine, kNothingYet, kEnd };
  /// The next line, without its "\n"; the last one may end with the input. Waits at most
  /// `wait_max`, as long as it takes if that is negative.
  Result<Got> next(std::string& line, std::chrono::milliseconds wait_max);

  /// Bytes read so far.
  std::size_t bytes_read() const { return bytes_read_; }

 private:
  Got take(std::string& line, std::size_t end, std::size_t skip);

  const int descriptor_;
  std::string buffer_{};
  std::size_t start_ = 0;    // of the next line in buffer_
  std::size_t scanned_ = 0;  // no line ends before this
  std::size_t bytes_read_ = 0;
  bool ended_ = false;
};

}  // namespace lastword::client
