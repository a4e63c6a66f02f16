// SPDX-License-Identifier: Apache-2.0
// Disk space kept back, so that a full disk stops producers and nothing else.
//
// Purpose   a file `reserve` of fixed size is allocated in the data directory. What must go on with
//           a full disk (rolls, manifests, the cleaner, deletes, a start) gives it up on kDiskFull
//           and tries again; produces are refused until refill() has it whole once more.
// Threads   any. whole() never blocks.
// Lifetime  as long as the data directory is open.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "storage/file_system.h"
#include "storage/mutex.h"

namespace lastword::storage {

class DiskReserve {
 public:
  /// `size_bytes` 0 switches the reserve off: whole() is then always true.
  DiskReserve(FileSystem& files, std::string path, std::int64_t size_bytes);

  /// Allocates the file if there is room; at start and from time to time. Returns whether it is
  /// whole.
  bool refill();
  bool whole() const { return whole_.load(std::memory_order_relaxed); }
  /// Frees the space; true if there was any to free.
  bool give_up();

  /// Runs `work` (which returns a Result); if the disk is full, gives the reserve up and runs it
  /// once more. A sync is no part of it, unless `work` writes all that it covers anew.
  template <class Work>
  auto with_reserve(Work work) -> decltype(work()) {
    const std::uint64_t before = times_given_up_.load();
    auto result = work();
    if (result || result.error().kind != ErrorKind::kDiskFull) return result;
    // Another thread may have given it up meanwhile: then there is room too.
    return give_up() || times_given_up_.load() != before ? work() : std::move(result);
  }

 private:
  FileSystem& files_;
  const std::string path_;
  const std::int64_t size_bytes_;
  std::atomic<bool> whole_;
  std::atomic<std::uint64_t> times_given_up_{0};
  Mutex mutex_;
};

}  // namespace lastword::storage
