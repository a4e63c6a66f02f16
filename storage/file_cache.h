// SPDX-License-Identifier: Apache-2.0
// Open segment and index files, at most a fixed number at once.
//
// Purpose   a log of any number of segments costs descriptors only for those in use: files are
//           opened when asked for and the least recently used one that nobody holds is closed.
// Threads   any; opening and closing happen outside the lock, and who asks for a path that another
//           is opening waits for that. May wait for the disk.
// Lifetime  a file stays open while its pointer is held, also after drop() or removal.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/file_system.h"
#include "storage/mutex.h"

namespace lastword::storage {

class FileCache {
 public:
  FileCache(FileSystem& files, std::size_t files_max);
  ~FileCache();

  /// The file at `path`, opened for reading and writing. kTooManyOpenFiles (retriable) when
  /// `files_max` are held by others; kNotFound if there is no such file.
  Result<std::shared_ptr<File>> open(const std::string& path);

  /// `file` for somebody who may hold it long, such as an answer that a slow client takes.
  /// kTooManyOpenFiles when three quarters of `files_max` are lent: appends and syncs need the
  /// rest. May be given back after the cache has gone.
  Result<std::shared_ptr<const File>> lend(std::shared_ptr<File> file);

  /// Takes a file that the caller has just created, so that it counts.
  Result<std::shared_ptr<File>> create(const std::string& path);

  /// Forgets `path`, because it is removed or replaced.
  void drop(const std::string& path);

  /// The same for every file in `directory`, because that is renamed or removed.
  void drop_directory(const std::string& directory);

  /// Open or being opened, and dropped ones that are still held.
  std::size_t open_count() const;

 private:
  using Files = std::vector<std::shared_ptr<File>>;
  struct Entry {
    std::shared_ptr<File> file;  // null while it is being opened
    std::list<std::string>::iterator used;
    std::uint64_t ticket = 0;  // tells this entry from a later one for the same path
  };
  Result<std::uint64_t> reserve_entry(const std::string& path, Files& closing) REQUIRES(mutex_);
  Result<std::shared_ptr<File>> fill_entry(const std::string& path, OpenMode mode,
                                           std::uint64_t ticket) EXCLUDES(mutex_);
  bool make_room(Files& closing) REQUIRES(mutex_);
  /// The process may have fewer descriptors than `files_max`. False when none could be closed.
  bool close_idle() EXCLUDES(mutex_);
  bool erase_idle(Files& closing) REQUIRES(mutex_);
  void erase(const std::string& path, Files& closing) REQUIRES(mutex_);

  class Lent;

  FileSystem& files_;
  const std::size_t files_max_;
  const std::shared_ptr<Lent> lent_;
  mutable Mutex mutex_;
  std::condition_variable_any opened_;
  std::unordered_map<std::string, Entry> entries_ GUARDED_BY(mutex_);
  std::list<std::string> order_ GUARDED_BY(mutex_);  // most recently used first
  std::vector<std::weak_ptr<File>> dropped_ GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ GUARDED_BY(mutex_) = 0;
};

}  // namespace lastword::storage
