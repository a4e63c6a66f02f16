// SPDX-License-Identifier: Apache-2.0
// A data directory that is in use: its lock, its identity, its disk reserve, its producer ids.
//
// Promises  at most one daemon has it. A producer id is handed out once, ever.
// Threads   any.
// Lifetime  as long as the directory is in use; the lock goes with it.
#pragma once

#include <memory>
#include <string>

#include "config/options.h"
#include "storage/disk_reserve.h"
#include "storage/environment.h"
#include "storage/identity.h"
#include "storage/mutex.h"

namespace lastword::storage {

class DataDirectory {
 public:
  /// Makes it if absent, and notes that a daemon runs. With a full disk it opens all the same,
  /// unless it is new. kStorage if another daemon has it, kDamaged for a bad identity file.
  static Result<std::unique_ptr<DataDirectory>> open(FileSystem& files,
                                                     const BrokerOptions& options,
                                                     const Report& report);

  const std::string& path() const { return path_; }
  DiskReserve& reserve() { return reserve_; }
  /// The machine went down under a daemon with durability os: what it had not written is gone.
  bool lost_writes() const { return lost_writes_; }
  const std::string& cluster_id() const { return cluster_id_; }
  const std::array<std::byte, 16>& hash_key() const { return hash_key_; }

  Result<std::int64_t> next_producer_id() EXCLUDES(mutex_);
  /// Tries again to save what a full disk kept from being saved.
  Result<> save_pending() EXCLUDES(mutex_);
  Result<> mark_stopped_cleanly() EXCLUDES(mutex_);

 private:
  DataDirectory(FileSystem& files, const BrokerOptions& options, std::unique_ptr<FileLock> lock);
  Result<> start(const BrokerOptions& options, const Report& report) EXCLUDES(mutex_);
  Result<bool> read_identity(const Report& report) REQUIRES(mutex_);
  Result<> save(const Identity& identity) REQUIRES(mutex_);

  FileSystem& files_;
  const std::string path_;
  const std::unique_ptr<FileLock> lock_;
  DiskReserve reserve_;
  bool lost_writes_ = false;
  std::string cluster_id_{};
  std::array<std::byte, 16> hash_key_{};

  Mutex mutex_;
  Identity identity_ GUARDED_BY(mutex_);
  bool save_pending_ GUARDED_BY(mutex_) = false;
  std::int64_t next_id_ GUARDED_BY(mutex_) = 0;  // below the end of the block in identity_
};

}  // namespace lastword::storage
