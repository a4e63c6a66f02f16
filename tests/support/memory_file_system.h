// SPDX-License-Identifier: Apache-2.0
// Files in memory that know what was synced, and what a crash may leave of the rest.
//
// Purpose   crash tests run the real storage over it: stop at any operation, crash, open again. A
//           file keeps what is durable and the changes since; a directory keeps its durable names
//           and the changes since.
// Threads   any.
// Lifetime  files and locks may outlive it. Those from before a crash fail afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/clock.h"
#include "storage/file_system.h"

namespace lastword::test {

/// kProcess: everything that returned is still there. kPower: what was not synced is in doubt.
enum class CrashKind { kProcess, kPower };

/// What a power cut leaves of the changes that were not synced.
enum class Unsynced {
  kBySeed,   // one of the others
  kDropped,  // nothing
  kKept,     // everything
  kPrefix,   // those made before some moment, the last write torn
  kSubset,   // any of them, each write whole or torn: later ones may survive earlier ones
};

struct PowerCut {
  Unsynced unsynced = Unsynced::kBySeed;
  /// Of the last write that is kept only so many bytes are.
  std::optional<std::uint64_t> tear_at_bytes{};
};

class MemoryState;

class MemoryFileSystem : public storage::FileSystem {
 public:
  /// Without a clock all file times are 0.
  explicit MemoryFileSystem(const storage::Clock* clock = nullptr);
  ~MemoryFileSystem() override;

  Result<std::shared_ptr<storage::File>> open(const std::string& path,
                                              storage::OpenMode mode) override;
  Result<storage::FileStatus> status(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& directory) const override;
  Result<> rename(const std::string& from, const std::string& to) override;
  Result<> remove(const std::string& path) override;
  Result<> remove_tree(const std::string& directory) override;
  Result<> create_directories(const std::string& directory) override;
  Result<> sync_directory(const std::string& directory) override;
  Result<std::unique_ptr<storage::FileLock>> lock(const std::string& path) override;
  std::string boot_id() const override;

  /// Changing calls so far: each write, sync, truncate, allocate, rename, directory sync, file or
  /// folder made or removed. Reads do not count.
  std::uint64_t operations() const;
  /// The operation with this number (the next is operations() + 1) does not happen, or in part if
  /// it is a write; it and every call after it fail with kStorage "crashed" until crash().
  void stop_at(std::uint64_t operation);
  bool stopped() const;

  /// The state that the next start finds. Open handles and locks are void; a power cut changes the
  /// boot id. Equal seeds on equal histories give equal states.
  void crash(std::uint64_t seed, CrashKind kind, const PowerCut& cut = {});

  /// Growth and allocation beyond it are kDiskFull; a write is done in part.
  void limit_space(std::uint64_t bytes);
  std::uint64_t space_used() const;

  /// Everything that the file holds now; empty if there is none.
  Bytes content(const std::string& path) const;
  /// Overwrites bytes, synced ones too, as a failing disk does.
  void damage(const std::string& path, std::uint64_t position, ByteView bytes);
  /// What a failed fdatasync does on Linux: the pages keep what was written, are called clean, and
  /// no later sync brings them to the disk.
  void lose_unsynced(const std::string& path);

 private:
  std::shared_ptr<MemoryState> state_;
};

}  // namespace lastword::test
