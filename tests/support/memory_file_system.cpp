// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_file_system.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "protocol/check.h"
#include "tests/support/memory_state.h"

namespace lastword::test {

using storage::File;
using storage::FileLock;
using storage::FileStatus;
using storage::OpenMode;

class MemoryFile : public File {
 public:
  MemoryFile(std::shared_ptr<MemoryState> state, NodePtr node, std::string path, bool writable)
      : state_(std::move(state)),
        node_(std::move(node)),
        path_(std::move(path)),
        writable_(writable),
        epoch_(state_->epoch) {
    ++node_->handles;
  }
  ~MemoryFile() override {
    const std::lock_guard lock(state_->mutex);
    if (epoch_ == state_->epoch) state_->release_handle(*node_);
  }

  int descriptor() const override { return -1; }

  Result<std::size_t> read_at(std::uint64_t position, std::span<std::byte> into) const override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(usable("pread"));
    const Bytes& content = node_->content.bytes;
    if (position >= content.size()) return std::size_t{0};
    const auto from = static_cast<std::size_t>(position);
    const std::size_t n = std::min(into.size(), content.size() - from);
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(from), n, into.begin());
    return n;
  }

  Result<> write_at(std::uint64_t position, ByteView bytes) override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(may_change("pwrite"));
    const auto counted = state_->operation("pwrite", path_);
    if (!counted && !bytes.empty()) write(position, bytes.first(bytes.size() / 2));
    LW_TRY(counted);
    const std::uint64_t room = state_->room(*node_);
    if (position + bytes.size() <= room) {
      write(position, bytes);
      return {};
    }
    if (position < room) write(position, bytes.first(static_cast<std::size_t>(room - position)));
    return failure("pwrite", path_, ErrorKind::kDiskFull, "No space left on device");
  }

  Result<> sync_data() override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(usable("fdatasync"));
    LW_TRY(state_->operation("fdatasync", path_));
    state_->sync(*node_);
    return {};
  }

  Result<> truncate(std::uint64_t size_bytes) override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(may_change("ftruncate"));
    LW_TRY(state_->operation("ftruncate", path_));
    // Growing makes a hole, which a full disk does not mind; here it takes space all the same.
    state_->change(*node_, DataChange{.truncate = true, .position = size_bytes});
    return {};
  }

  Result<> allocate(std::uint64_t from, std::uint64_t length_bytes) override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(may_change("fallocate"));
    LW_TRY(state_->operation("fallocate", path_));
    if (from + length_bytes > state_->room(*node_)) {
      return failure("fallocate", path_, ErrorKind::kDiskFull, "No space left on device");
    }
    state_->charge(*node_, [&] {
      node_->allocated_bytes = std::max(node_->allocated_bytes, from + length_bytes);
    });
    return {};
  }

  Result<std::uint64_t> size_bytes() const override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(usable("fstat"));
    return static_cast<std::uint64_t>(node_->content.bytes.size());
  }

  Result<std::uint64_t> first_hole(std::uint64_t from, std::uint64_t to) const override {
    const std::lock_guard lock(state_->mutex);
    LW_TRY(usable("lseek"));
    return node_->content.holes.first(from, to);
  }

 private:
  Result<> usable(const char* call) const {
    if (epoch_ != state_->epoch) return failure(call, path_, ErrorKind::kStorage, "crashed");
    return state_->alive(call, path_);
  }
  Result<> may_change(const char* call) const {
    LW_TRY(usable(call));
    if (!writable_) return failure(call, path_, ErrorKind::kStorage, "opened for reading");
    return {};
  }
  void write(std::uint64_t position, ByteView bytes) {
    state_->change(*node_,
                   DataChange{.position = position, .bytes = Bytes(bytes.begin(), bytes.end())});
  }

  const std::shared_ptr<MemoryState> state_;
  const NodePtr node_;
  const std::string path_;
  const bool writable_;
  const std::uint64_t epoch_;
};

namespace {

class MemoryLock : public FileLock {
 public:
  explicit MemoryLock(std::function<void()> release) : release_(std::move(release)) {}
  ~MemoryLock() override { release_(); }

 private:
  const std::function<void()> release_;
};

}  // namespace

MemoryFileSystem::MemoryFileSystem(const storage::Clock* clock)
    : state_(std::make_shared<MemoryState>(clock)) {}
MemoryFileSystem::~MemoryFileSystem() = default;

Result<std::shared_ptr<File>> MemoryFileSystem::open(const std::string& path, OpenMode mode) {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("open", path));
  const NameChange::Place place = state_->place(path);
  NodePtr node = state_->find(path);
  if (!place.directory || (!node && mode != OpenMode::kCreate)) return missing("open", path);
  if (node && node->is_directory) {
    return failure("open", path, ErrorKind::kStorage, "Is a directory");
  }
  if (mode == OpenMode::kCreate) {
    LW_TRY(state_->operation("open", path));
    if (!node) {
      node = state_->make(place, false);
    } else {
      state_->change(*node, DataChange{.truncate = true, .position = 0});
    }
  }
  return std::shared_ptr<File>(
      std::make_shared<MemoryFile>(state_, node, path, mode != OpenMode::kRead));
}

Result<FileStatus> MemoryFileSystem::status(const std::string& path) const {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("statx", path));
  const NodePtr node = state_->find(path);
  if (!node) return FileStatus{};
  return FileStatus{.exists = true,
                    .size_bytes = node->content.bytes.size(),
                    .created_ms = node->created_ms,
                    .modified_ms = node->modified_ms};
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::string& directory) const {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("opendir", directory));
  const NodePtr node = state_->find(directory);
  if (!node || !node->is_directory) return missing("opendir", directory);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->names) names.push_back(name);
  return names;
}

Result<> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("rename", from));
  const NodePtr node = state_->find(from);
  const NodePtr target = state_->find(to);
  const NameChange::Place to_place = state_->place(to);
  if (!node || !to_place.directory) return missing("rename", from + " to " + to);
  if (target && target != node &&
      (target->is_directory != node->is_directory || !target->names.empty())) {
    return failure("rename", from + " to " + to, ErrorKind::kStorage, "Directory not empty");
  }
  LW_TRY(state_->operation("rename", from));
  state_->rename(state_->place(from), to_place);
  return {};
}

Result<> MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("unlink", path));
  const NodePtr node = state_->find(path);
  if (!node) return {};
  if (node->is_directory) return failure("unlink", path, ErrorKind::kStorage, "Is a directory");
  LW_TRY(state_->operation("unlink", path));
  state_->unlink(state_->place(path));
  return {};
}

Result<> MemoryFileSystem::remove_tree(const std::string& directory) {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("remove", directory));
  return state_->remove_tree(directory);
}

Result<> MemoryFileSystem::create_directories(const std::string& directory) {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("mkdir", directory));
  std::string path;
  for (const std::string& part : split(directory)) {
    path += "/" + part;
    const NodePtr node = state_->find(path);
    if (node && !node->is_directory) {
      return failure("mkdir", path, ErrorKind::kStorage, "Not a directory");
    }
    if (node) continue;
    LW_TRY(state_->operation("mkdir", path));
    state_->make(state_->place(path), true);
  }
  return {};
}

Result<> MemoryFileSystem::sync_directory(const std::string& directory) {
  const std::lock_guard lock(state_->mutex);
  LW_TRY(state_->alive("fsync", directory));
  const NodePtr node = state_->find(directory);
  if (!node || !node->is_directory) return missing("fsync", directory);
  LW_TRY(state_->operation("fsync", directory));
  state_->sync_names(node);
  return {};
}

Result<std::unique_ptr<FileLock>> MemoryFileSystem::lock(const std::string& path) {
  auto made = open(path, OpenMode::kReadWrite);
  if (!made && made.error().kind == ErrorKind::kNotFound) made = open(path, OpenMode::kCreate);
  if (!made) return made.take_error();
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t epoch = state_->epoch;
  if (!state_->locks.emplace(path, epoch).second) {
    return failure("flock", path, ErrorKind::kStorage, "another process holds it");
  }
  return std::unique_ptr<FileLock>(std::make_unique<MemoryLock>([state = state_, path, epoch] {
    const std::lock_guard release_lock(state->mutex);
    const auto found = state->locks.find(path);
    if (found != state->locks.end() && found->second == epoch) state->locks.erase(found);
  }));
}

std::string MemoryFileSystem::boot_id() const {
  const std::lock_guard lock(state_->mutex);
  return "boot-" + std::to_string(state_->boot);
}

std::uint64_t MemoryFileSystem::operations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->operations;
}

void MemoryFileSystem::stop_at(std::uint64_t operation) {
  const std::lock_guard lock(state_->mutex);
  state_->stop_at = operation;
}

bool MemoryFileSystem::stopped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stopped;
}

void MemoryFileSystem::crash(std::uint64_t seed, CrashKind kind, const PowerCut& cut) {
  const std::lock_guard lock(state_->mutex);
  state_->crash(seed, kind, cut);
}

void MemoryFileSystem::limit_space(std::uint64_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->space_max = bytes;
}

std::uint64_t MemoryFileSystem::space_used() const {
  const std::lock_guard lock(state_->mutex);
  return state_->space_used;
}

Bytes MemoryFileSystem::content(const std::string& path) const {
  const std::lock_guard lock(state_->mutex);
  const NodePtr node = state_->find(path);
  return node ? node->content.bytes : Bytes{};
}

void MemoryFileSystem::damage(const std::string& path, std::uint64_t position, ByteView bytes) {
  const std::lock_guard lock(state_->mutex);
  const NodePtr node = state_->find(path);
  LW_CHECK(node && position + bytes.size() <= node->content.bytes.size());
  const DataChange change{.position = position, .bytes = Bytes(bytes.begin(), bytes.end())};
  node->content.apply(change);
  if (position + bytes.size() <= node->durable_content.bytes.size())
    node->durable_content.apply(change);
}

void MemoryFileSystem::lose_unsynced(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const NodePtr node = state_->find(path);
  LW_CHECK(node != nullptr);
  std::erase_if(node->unsynced, [](const DataChange& change) { return !change.truncate; });
}

}  // namespace lastword::test
