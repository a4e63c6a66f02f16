// SPDX-License-Identifier: Apache-2.0
// The files of the operating system (Linux).
//
// Threads   any.
// Lifetime  files may outlive it.
#pragma once

#include "storage/file_system.h"

namespace lastword::storage {

class PosixFileSystem : public FileSystem {
 public:
  /// EMFILE and ENFILE are kTooManyOpenFiles.
  Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<FileStatus> status(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& directory) const override;
  Result<> rename(const std::string& from, const std::string& to) override;
  Result<> remove(const std::string& path) override;
  Result<> remove_tree(const std::string& directory) override;
  Result<> create_directories(const std::string& directory) override;
  Result<> sync_directory(const std::string& directory) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  /// The kernel's; empty if it does not tell.
  std::string boot_id() const override;
};

}  // namespace lastword::storage
