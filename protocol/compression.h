// SPDX-License-Identifier: Apache-2.0
// The four codecs of record batches, in and out.
//
// Purpose   gzip (several members), snappy (raw blocks and xerial framing), lz4 frames, zstd
//           frames, with or without content size. What is unpacked never exceeds a given limit.
// Threads   pure functions, reentrant. More than kLargeOutputBytes unpacked is held by one thread
//           at a time (LargeOutputTurn), so that many hostile batches at once cannot add up.
// Lifetime  outputs are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/result.h"

namespace lastword {

/// Attribute bits 0-2 of a batch.
enum class Codec : std::uint8_t { kNone = 0, kGzip = 1, kSnappy = 2, kLz4 = 3, kZstd = 4 };

std::string_view codec_name(Codec codec);

inline constexpr std::size_t kLargeOutputBytes = 4u << 20;

/// The right to hold more than kLargeOutputBytes of unpacked bytes. One thread at a time has it in
/// each line; whoever needs it waits, and keeps it until this object goes, on the same thread.
/// Taking it again while holding it is fine.
class LargeOutputTurn {
 public:
  /// Appends never wait for reads: those may wait for the disk between two records.
  enum class Line { kAppend, kRead };

  explicit LargeOutputTurn(Line line);
  void take() {
    if (!lock_.owns_lock()) lock_.lock();
  }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// How much may come out, and for how long a large output counts.
struct OutputLimit {
  OutputLimit(std::size_t max, LargeOutputTurn* until = nullptr)  // NOLINT: a number will do
      : bytes_max(max), turn(until) {}
  std::size_t bytes_max;
  LargeOutputTurn* turn;  // null: only while decompress() runs
};

/// Replaces `out` with the unpacked bytes, reusing its storage. kCorruptBatch if `in` is not what
/// `codec` writes, kInvalidRecord (naming limits.decompressed_bytes) above the limit, then with at
/// most that much memory used. Codec::kNone copies.
Result<> decompress(Codec codec, std::span<const std::byte> in, const OutputLimit& limit,
                    std::vector<std::byte>& out);

/// Codec and level; `level` is ignored by snappy and kNone. kDefaultLevel is the codec's own.
inline constexpr int kDefaultLevel = -32768;
struct CompressionChoice {
  Codec codec = Codec::kNone;
  int level = kDefaultLevel;
};

/// Appends the packed form of `in` to `out`: one gzip member, xerial-framed snappy, one lz4 frame
/// with 64 KiB independent blocks, one zstd frame: what every client reads.
Result<> compress(CompressionChoice choice, std::span<const std::byte> in,
                  std::vector<std::byte>& out);

}  // namespace lastword
