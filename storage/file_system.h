// SPDX-License-Identifier: Apache-2.0
// The seam to the operating system's files: everything that storage does to a disk goes through it.
//
// Promises  after a crash of the machine a file holds what was written before the last successful
//           sync_data(), and of later writes any part; names are as of the last sync_directory(),
//           later creations, renames and removals may or may not have happened, each whole.
//           After a crash of the process alone everything that returned is there.
// Errors    kStorage with call, path and reason; kDiskFull for ENOSPC, EDQUOT and EFBIG, but not
//           from a sync: what is full may be tried again, a sync that failed never; kNotFound where
//           a path is missing.
// Threads   any thread may call anything; one File may be read and written by several at once.
// Lifetime  files outlive the FileSystem's paths: a removed file can be read until it is released.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/byte_source.h"
#include "protocol/bytes.h"
#include "protocol/result.h"

namespace lastword::storage {

class File : public ByteSource {
 public:
  /// Writes all of `bytes` or fails; a failure may leave any part written.
  virtual Result<> write_at(std::uint64_t position, ByteView bytes) = 0;
  /// fdatasync: what was written before, and the size, survive power loss.
  virtual Result<> sync_data() = 0;
  virtual Result<> truncate(std::uint64_t size_bytes) = 0;
  /// Takes disk space for [from, from + length) without changing the size, so that a full disk
  /// shows here and not at a later sync.
  virtual Result<> allocate(std::uint64_t from, std::uint64_t length_bytes) = 0;
  virtual Result<std::uint64_t> size_bytes() const = 0;
  /// The first byte of [from, to) that never reached the disk, as far as the system can tell; else
  /// `to`. A power cut leaves such holes where later writes reached it before earlier ones. Nothing
  /// that a sync_data() covered lies in one.
  virtual Result<std::uint64_t> first_hole(std::uint64_t from, std::uint64_t to) const = 0;
};

enum class OpenMode { kRead, kReadWrite, kCreate };  // kCreate: read-write, made or emptied

struct FileStatus {
  bool exists = false;
  std::uint64_t size_bytes = 0;
  std::int64_t created_ms = 0;  // birth time where the system tells it, else the modification time
  std::int64_t modified_ms = 0;
};

/// Held as long as the object lives; the system frees it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::shared_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Result<FileStatus> status(const std::string& path) const = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) const = 0;  // names
  virtual Result<> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<> remove(const std::string& path) = 0;            // kNotFound is success
  virtual Result<> remove_tree(const std::string& directory) = 0;  // kNotFound is success
  virtual Result<> create_directories(const std::string& directory) = 0;
  virtual Result<> sync_directory(const std::string& directory) = 0;
  /// An exclusive lock on `path` (made if absent); kStorage naming the path if another has it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  /// Changes whenever the machine starts anew.
  virtual std::string boot_id() const = 0;
};

/// Reads a whole small file (up to `bytes_max`).
Result<Bytes> read_whole(FileSystem& files, const std::string& path, std::size_t bytes_max);

/// Puts `bytes` in the place of `path`, wholly or not at all: written beside it, synced, renamed.
/// Whether it is there after a power cut, or what was there before, the next sync_directory()
/// decides.
Result<> put_whole(FileSystem& files, const std::string& path, ByteView bytes);

/// put_whole(), and the directory synced.
Result<> replace_whole(FileSystem& files, const std::string& path, ByteView bytes);

}  // namespace lastword::storage
