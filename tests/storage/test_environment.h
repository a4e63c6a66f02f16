// SPDX-License-Identifier: Apache-2.0
// An Environment over files in memory, and the few steps that segment tests share.
//
// Threads   one.
// Lifetime  owns everything that `env` refers to.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "storage/disk_reserve.h"
#include "storage/environment.h"
#include "storage/file_cache.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/recording_file_system.h"

namespace lastword::test {

struct TestEnvironment {
  explicit TestEnvironment(std::int64_t reserve_bytes = 0)
      : reserve(calls, "reserve", reserve_bytes) {
    static_cast<void>(files.create_directories("p-0"));
  }

  ManualClock clock;
  MemoryFileSystem files{&clock};
  RecordingFileSystem calls{files};
  storage::FileCache cache{calls, 16};
  storage::DiskReserve reserve;
  std::vector<std::string> lines{};
  storage::Environment env{
      .files = calls,
      .clock = clock,
      .cache = cache,
      .reserve = reserve,
      .report = [this](storage::Severity, const std::string& line) { lines.push_back(line); }};
};

/// Bytes as something that can be read, as far as they go.
class BytesSource : public ByteSource {
 public:
  explicit BytesSource(Bytes bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> read_at(std::uint64_t position, std::span<std::byte> into) const override {
    if (position >= bytes_.size()) return std::size_t{0};
    const auto start = static_cast<std::size_t>(position);
    const std::size_t count = std::min(into.size(), bytes_.size() - start);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(start), count, into.begin());
    read_bytes_ += count;
    return count;
  }
  int descriptor() const override { return -1; }
  std::size_t read_bytes() const { return read_bytes_; }

 private:
  Bytes bytes_;
  mutable std::size_t read_bytes_ = 0;
};

}  // namespace lastword::test
