// SPDX-License-Identifier: Apache-2.0
#include "storage/file_system.h"

#include "storage/file_names.h"

namespace lastword::storage {
namespace {

Result<> write_temporary(FileSystem& files, const std::string& path, ByteView bytes) {
  auto file = files.open(path, OpenMode::kCreate);
  if (!file) return file.take_error();
  LW_TRY((*file)->write_at(0, bytes));
  return (*file)->sync_data();
}

}  // namespace

Result<Bytes> read_whole(FileSystem& files, const std::string& path, std::size_t bytes_max) {
  auto file = files.open(path, OpenMode::kRead);
  if (!file) return file.take_error();
  const auto size_bytes = (*file)->size_bytes();
  if (!size_bytes) return Error(size_bytes.error());
  if (*size_bytes > bytes_max) {
    return Error{ErrorKind::kDamaged, path + " has " + std::to_string(*size_bytes) +
                                          " bytes; no more than " + std::to_string(bytes_max) +
                                          " are possible"};
  }
  Bytes bytes(static_cast<std::size_t>(*size_bytes));
  const auto read_bytes = (*file)->read_at(0, bytes);
  if (!read_bytes) return Error(read_bytes.error());
  bytes.resize(*read_bytes);
  return bytes;
}

Result<> put_whole(FileSystem& files, const std::string& path, ByteView bytes) {
  const std::string temporary = temporary_path(path);
  auto put = write_temporary(files, temporary, bytes);
  if (put) put = files.rename(temporary, path);
  // It would hold space that a full disk needs. That it may fail is why a start removes leftovers.
  if (!put) static_cast<void>(files.remove(temporary));
  return put;
}

Result<> replace_whole(FileSystem& files, const std::string& path, ByteView bytes) {
  LW_TRY(put_whole(files, path, bytes));
  return files.sync_directory(parent_directory(path));
}

}  // namespace lastword::storage
