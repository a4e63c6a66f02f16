// SPDX-License-Identifier: Apache-2.0
#include "storage/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace lastword::storage {
namespace {

ErrorKind kind_of(int error) {
  switch (error) {
    case ENOSPC:
    case EFBIG:  // RLIMIT_FSIZE
    case EDQUOT:
      return ErrorKind::kDiskFull;
    case ENOENT:
      return ErrorKind::kNotFound;
    case EMFILE:
    case ENFILE:
      return ErrorKind::kTooManyOpenFiles;
    default:
      return ErrorKind::kStorage;
  }
}

Error failure(const char* call, const std::string& path, int error) {
  return Error{kind_of(error), std::string(call).append(" ").append(path).append(": ").append(
                                   std::generic_category().message(error))};
}

/// Never kDiskFull, for which callers make room and try again: the pages are called clean by then,
/// and the next sync says yes though they never reached the disk.
Error sync_failure(const char* call, const std::string& path, int error) {
  Error failed = failure(call, path, error);
  failed.kind = ErrorKind::kStorage;
  return failed;
}

/// Repeats `call` while a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) -> decltype(call()) {
  while (true) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    // The descriptor is gone whatever close() says, EINTR included.
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

int open_descriptor(const std::string& path, int flags) {
  return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
}

class PosixFile : public File {
 public:
  PosixFile(std::string path, int number) : path_(std::move(path)), descriptor_(number) {}

  int descriptor() const override { return descriptor_.number(); }

  Result<std::size_t> read_at(std::uint64_t position, std::span<std::byte> into) const override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t n = uninterrupted([&] {
        return ::pread(descriptor(), into.data() + done, into.size() - done,
                       static_cast<off_t>(position + done));
      });
      if (n < 0) return failure("pread", path_, errno);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  Result<> write_at(std::uint64_t position, ByteView bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = uninterrupted([&] {
        return ::pwrite(descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(position));
      });
      if (n < 0) return failure("pwrite", path_, errno);
      position += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }

  Result<> sync_data() override {
    // Not repeated on EINTR: a sync that did not say yes counts as failed.
    if (::fdatasync(descriptor()) != 0) return sync_failure("fdatasync", path_, errno);
    return {};
  }

  Result<> truncate(std::uint64_t size_bytes) override {
    const auto size = static_cast<off_t>(size_bytes);
    if (uninterrupted([&] { return ::ftruncate(descriptor(), size); }) != 0) {
      return failure("ftruncate", path_, errno);
    }
    return {};
  }

  Result<> allocate(std::uint64_t from, std::uint64_t length_bytes) override {
    if (length_bytes == 0) return {};
    const int result = uninterrupted([&] {
      return ::fallocate(descriptor(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                         static_cast<off_t>(length_bytes));
    });
    // A file system without it shows a full disk at the write instead.
    if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
      return failure("fallocate", path_, errno);
    }
    return {};
  }

  Result<std::uint64_t> size_bytes() const override {
    struct stat facts {};
    if (::fstat(descriptor(), &facts) != 0) return failure("fstat", path_, errno);
    return static_cast<std::uint64_t>(facts.st_size);
  }

  /// Blocks that were taken with allocate() and never written are holes to SEEK_HOLE, which ends at
  /// the size; a file system that cannot tell says that there are none.
  Result<std::uint64_t> first_hole(std::uint64_t from, std::uint64_t to) const override {
    const auto hole = ::lseek(descriptor(), static_cast<off_t>(from), SEEK_HOLE);
    if (hole >= 0) return std::min(static_cast<std::uint64_t>(hole), to);
    if (errno == EINVAL || errno == ENXIO || errno == EOPNOTSUPP) return to;
    return failure("lseek", path_, errno);
  }

 private:
  const std::string path_;
  const Descriptor descriptor_;
};

class PosixLock : public FileLock {
 public:
  explicit PosixLock(int number) : descriptor_(number) {}

 private:
  const Descriptor descriptor_;
};

std::int64_t to_ms(const statx_timestamp& time) {
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace

Result<std::shared_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  int flags = O_RDONLY;
  if (mode == OpenMode::kReadWrite) flags = O_RDWR;
  if (mode == OpenMode::kCreate) flags = O_RDWR | O_CREAT | O_TRUNC;
  const int number = open_descriptor(path, flags);
  if (number < 0) return failure("open", path, errno);
  return std::shared_ptr<File>(std::make_shared<PosixFile>(path, number));
}

Result<FileStatus> PosixFileSystem::status(const std::string& path) const {
  struct statx facts {};
  const unsigned wanted = STATX_SIZE | STATX_MTIME | STATX_BTIME;
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_SYNC_AS_STAT, wanted, &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return FileStatus{};
    return failure("statx", path, errno);
  }
  FileStatus status{.exists = true, .size_bytes = facts.stx_size};
  status.modified_ms = to_ms(facts.stx_mtime);
  status.created_ms =
      (facts.stx_mask & STATX_BTIME) != 0 ? to_ms(facts.stx_btime) : status.modified_ms;
  return status;
}

Result<std::vector<std::string>> PosixFileSystem::list(const std::string& directory) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), &::closedir);
  if (!stream) return failure("opendir", directory, errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return failure("readdir", directory, errno);
  return names;
}

Result<> PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failure("rename", from + " to " + to, errno);
  return {};
}

Result<> PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failure("unlink", path, errno);
  return {};
}

Result<> PosixFileSystem::remove_tree(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (error) return failure("remove", directory, error.value());
  return {};
}

Result<> PosixFileSystem::create_directories(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return failure("mkdir", directory, error.value());
  return {};
}

Result<> PosixFileSystem::sync_directory(const std::string& directory) {
  const Descriptor opened(open_descriptor(directory, O_RDONLY | O_DIRECTORY));
  if (opened.number() < 0) return failure("open", directory, errno);
  if (::fsync(opened.number()) != 0) return sync_failure("fsync", directory, errno);
  return {};
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path) {
  const int number = open_descriptor(path, O_RDWR | O_CREAT);
  if (number < 0) return failure("open", path, errno);
  auto held = std::make_unique<PosixLock>(number);
  if (uninterrupted([&] { return ::flock(number, LOCK_EX | LOCK_NB); }) == 0) {
    return std::unique_ptr<FileLock>(std::move(held));
  }
  if (errno != EWOULDBLOCK) return failure("flock", path, errno);
  return Error{ErrorKind::kStorage, "flock " + path + ": another process holds it"};
}

std::string PosixFileSystem::boot_id() const {
  const Descriptor opened(open_descriptor("/proc/sys/kernel/random/boot_id", O_RDONLY));
  char text[64];
  const ssize_t n = opened.number() < 0 ? -1 : ::read(opened.number(), text, sizeof text);
  if (n <= 0) return {};
  std::string id(text, static_cast<std::size_t>(n));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace lastword::storage
