// SPDX-License-Identifier: Apache-2.0
// Wraps any file system: records its calls in order, holds them back, lets them fail.
//
// Threads   any; a held call blocks its own thread only.
// Lifetime  the wrapped one outlives it; files may outlive both wrappers' owners as theirs do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/file_system.h"

namespace lastword::test {

enum class CallKind {
  kOpen,
  kCreate,
  kRead,
  kWrite,
  kSyncData,
  kTruncate,
  kAllocate,
  kRename,
  kRemove,
  kRemoveTree,
  kCreateDirectories,
  kSyncDirectory,
};

struct Call {
  CallKind kind = CallKind::kOpen;
  std::string path{};  // of a rename: the new one
  std::uint64_t position = 0;
  std::uint64_t length_bytes = 0;
  bool succeeded = false;
};

class RecordingFileSystem : public storage::FileSystem {
 public:
  explicit RecordingFileSystem(storage::FileSystem& inner);

  /// Finished calls in the order of their ends.
  std::vector<Call> calls() const;
  std::size_t count(CallKind kind, const std::string& path_part = "") const;
  void clear();

  /// Calls of that kind whose path contains `path_part` wait, before they do anything, until
  /// release(). A later hold adds to earlier ones.
  void hold(CallKind kind, const std::string& path_part = "");
  void release();
  /// Waits until so many calls are held; false after ten seconds.
  bool wait_until_held(std::size_t calls = 1) const;

  /// The n-th call of that kind from now on (1 is the next) fails, undone.
  void fail_call(CallKind kind, std::uint64_t n, ErrorKind error = ErrorKind::kStorage);
  /// Every sync, of data or directory, of a path that contains `path_part` fails, until let_sync().
  void fail_syncs(const std::string& path_part = "");
  void let_sync();
  /// Called with the path whenever a sync of data was made to fail; for lose_unsynced().
  void on_failed_sync(std::function<void(const std::string&)> notify);
  /// Files tell no descriptor, so that whatever is sent from them is seen as reads.
  void hide_descriptors();

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

 private:
  class Recorder;
  friend class RecordedFile;
  storage::FileSystem& inner_;
  const std::shared_ptr<Recorder> recorder_;
};

}  // namespace lastword::test
