// SPDX-License-Identifier: Apache-2.0
#include "storage/file_cache.h"

#include <algorithm>

#include "protocol/check.h"

namespace lastword::storage {

/// Which files are lent, and how often.
class FileCache::Lent {
 public:
  /// False, and nothing is counted, if that made more than `most`.
  bool add(const File* file, std::size_t most) EXCLUDES(mutex_) {
    Lock lock(mutex_);
    if (!loans_.contains(file) && loans_.size() >= most) return false;
    ++loans_[file];
    return true;
  }
  void remove(const File* file) EXCLUDES(mutex_) {
    Lock lock(mutex_);
    const auto found = loans_.find(file);
    if (--found->second == 0) loans_.erase(found);
  }

 private:
  Mutex mutex_;
  std::unordered_map<const File*, std::size_t> loans_ GUARDED_BY(mutex_);
};

FileCache::FileCache(FileSystem& files, std::size_t files_max)
    : files_(files), files_max_(files_max), lent_(std::make_shared<Lent>()) {
  LW_CHECK(files_max > 0);
}

FileCache::~FileCache() = default;

Result<std::shared_ptr<const File>> FileCache::lend(std::shared_ptr<File> file) {
  const std::size_t most = std::max<std::size_t>(1, files_max_ - files_max_ / 4);
  if (!lent_->add(file.get(), most)) {
    return Error{ErrorKind::kTooManyOpenFiles,
                 "answers that are being sent hold " + std::to_string(most) +
                     " files, three quarters of limits.open_files; raise it, or try again"};
  }
  const File* const lent = file.get();
  return std::shared_ptr<const File>(
      lent, [file = std::move(file), of = lent_](const File*) { of->remove(file.get()); });
}

Result<std::shared_ptr<File>> FileCache::open(const std::string& path) {
  std::uint64_t ticket = 0;
  {
    Files closing;
    Lock lock(mutex_);
    for (auto found = entries_.find(path); found != entries_.end(); found = entries_.find(path)) {
      if (found->second.file) {
        order_.splice(order_.begin(), order_, found->second.used);
        return found->second.file;
      }
      opened_.wait(mutex_);
    }
    auto reserved = reserve_entry(path, closing);
    if (!reserved) return reserved.take_error();
    ticket = *reserved;
  }
  return fill_entry(path, OpenMode::kReadWrite, ticket);
}

Result<std::shared_ptr<File>> FileCache::create(const std::string& path) {
  std::uint64_t ticket = 0;
  {
    Files closing;
    Lock lock(mutex_);
    erase(path, closing);
    auto reserved = reserve_entry(path, closing);
    if (!reserved) return reserved.take_error();
    ticket = *reserved;
  }
  return fill_entry(path, OpenMode::kCreate, ticket);
}

Result<std::uint64_t> FileCache::reserve_entry(const std::string& path, Files& closing) {
  if (!make_room(closing)) {
    return Error{ErrorKind::kTooManyOpenFiles,
                 "cannot open " + path + ": all " + std::to_string(files_max_) +
                     " files of limits.open_files are in use; raise it, or try again"};
  }
  order_.push_front(path);
  entries_[path] = Entry{.file = nullptr, .used = order_.begin(), .ticket = ++last_ticket_};
  return last_ticket_;
}

Result<std::shared_ptr<File>> FileCache::fill_entry(const std::string& path, OpenMode mode,
                                                    std::uint64_t ticket) {
  auto file = files_.open(path, mode);
  while (!file && file.error().kind == ErrorKind::kTooManyOpenFiles && close_idle()) {
    file = files_.open(path, mode);
  }
  Files closing;
  Lock lock(mutex_);
  const auto found = entries_.find(path);
  const bool mine = found != entries_.end() && found->second.ticket == ticket;
  if (file && mine) found->second.file = *file;
  if (file && !mine) dropped_.push_back(*file);  // dropped, or created anew, meanwhile
  if (!file && mine) erase(path, closing);
  opened_.notify_all();
  return file;
}

bool FileCache::make_room(Files& closing) {
  std::erase_if(dropped_, [](const std::weak_ptr<File>& file) { return file.expired(); });
  return entries_.size() + dropped_.size() < files_max_ || erase_idle(closing);
}

bool FileCache::close_idle() {
  Files closing;
  Lock lock(mutex_);
  return erase_idle(closing);
}

bool FileCache::erase_idle(Files& closing) {
  for (auto path = order_.rbegin(); path != order_.rend(); ++path) {
    // Nobody can come to hold it meanwhile: it is only handed out under the lock.
    if (entries_.find(*path)->second.file.use_count() != 1) continue;
    const std::string victim = *path;
    erase(victim, closing);
    return true;
  }
  return false;
}

void FileCache::erase(const std::string& path, Files& closing) {
  const auto found = entries_.find(path);
  if (found == entries_.end()) return;
  if (found->second.file) {
    if (found->second.file.use_count() > 1) dropped_.push_back(found->second.file);
    closing.push_back(std::move(found->second.file));
  }
  order_.erase(found->second.used);
  entries_.erase(found);
}

void FileCache::drop(const std::string& path) {
  Files closing;  // closed behind the lock: freeing a large file takes time
  Lock lock(mutex_);
  erase(path, closing);
  opened_.notify_all();
}

void FileCache::drop_directory(const std::string& directory) {
  Files closing;
  Lock lock(mutex_);
  std::vector<std::string> paths;
  for (const std::string& path : order_) {
    if (path.starts_with(directory + "/")) paths.push_back(path);
  }
  for (const std::string& path : paths) erase(path, closing);
  opened_.notify_all();
}

std::size_t FileCache::open_count() const {
  Lock lock(mutex_);
  const auto held = [](const std::weak_ptr<File>& file) { return !file.expired(); };
  return entries_.size() +
         static_cast<std::size_t>(std::count_if(dropped_.begin(), dropped_.end(), held));
}

}  // namespace lastword::storage
