// SPDX-License-Identifier: Apache-2.0
#include "storage/disk_reserve.h"

namespace lastword::storage {
namespace {

/// Space first, then the size: the size shows people what the file is for, and cuts off what a
/// larger setting took before.
Result<> take_space(FileSystem& files, const std::string& path, std::uint64_t size_bytes) {
  auto file = files.open(path, OpenMode::kReadWrite);
  if (!file && file.error().kind == ErrorKind::kNotFound) {
    file = files.open(path, OpenMode::kCreate);
  }
  if (!file) return file.take_error();
  LW_TRY((*file)->allocate(0, size_bytes));
  return (*file)->truncate(size_bytes);
}

}  // namespace

DiskReserve::DiskReserve(FileSystem& files, std::string path, std::int64_t size_bytes)
    : files_(files), path_(std::move(path)), size_bytes_(size_bytes), whole_(size_bytes <= 0) {}

bool DiskReserve::refill() {
  Lock lock(mutex_);
  // Switched off since the last start: what was kept back then is of use now.
  if (size_bytes_ <= 0) static_cast<void>(files_.remove(path_));
  if (whole()) return true;
  if (take_space(files_, path_, static_cast<std::uint64_t>(size_bytes_))) {
    whole_.store(true);
    return true;
  }
  // A part is of no use: while it is not whole, nothing that it is kept back from is let through.
  static_cast<void>(files_.remove(path_));
  return false;
}

bool DiskReserve::give_up() {
  Lock lock(mutex_);
  if (size_bytes_ <= 0 || !whole()) return false;
  // Removed, not cut: some file systems keep what was allocated behind the end of a file.
  if (!files_.remove(path_)) return false;
  whole_.store(false);
  times_given_up_.fetch_add(1);
  return true;
}

}  // namespace lastword::storage
