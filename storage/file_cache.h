// SPDX-License-Identifier: Apache-2.0
// Open segment and index files, at most a fixed number at once.
//
// Purpose   a log of any number of segments costs descriptors only for those in use: files are
//           opened when asked for and the least recently used one that nobody holds is closed.
// Threads   any; opening happens outside the lock. May wait for the disk.
// Lifetime  a file stays open while its pointer is held, also after drop() or removal.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "storage/file_system.h"
#include "storage/mutex.h"

namespace lastword::storage {

class FileCache {
 public:
  FileCache(FileSystem& files, std::size_t files_max);

  /// The file at `path`, opened for reading and writing. kTooManyOpenFiles (retriable) when
  /// `files_max` are held by others; kNotFound if there is no such file.
  Result<std::shared_ptr<File>> open(const std::string& path);

  /// Takes a file that the caller has just created, so that it counts.
  Result<std::shared_ptr<File>> create(const std::string& path);

  /// Forgets `path`, because it is removed or replaced.
  void drop(const std::string& path);

  std::size_t open_count() const;

 private:
  struct Entry {
    std::shared_ptr<File> file;
    std::list<std::string>::iterator used;
  };
  Result<> make_room() REQUIRES(mutex_);

  FileSystem& files_;
  const std::size_t files_max_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Entry> entries_ GUARDED_BY(mutex_);
  std::list<std::string> order_ GUARDED_BY(mutex_);  // most recently used first
};

}  // namespace lastword::storage
