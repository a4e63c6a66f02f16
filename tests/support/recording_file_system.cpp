// SPDX-License-Identifier: Apache-2.0
#include "tests/support/recording_file_system.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace lastword::test {

using storage::File;
using storage::FileLock;
using storage::FileStatus;
using storage::OpenMode;

class RecordingFileSystem::Recorder {
 public:
  /// Holds and fails as told, else does `work`; records the outcome.
  template <class Work>
  auto run(Call call, Work work) -> decltype(work()) {
    LW_TRY(admit(call));
    auto result = work();
    call.succeeded = static_cast<bool>(result);
    finish(std::move(call));
    return result;
  }

  std::vector<Call> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  void hold(CallKind kind, const std::string& path_part) {
    const std::lock_guard lock(mutex_);
    holds_.push_back({kind, path_part});
  }
  void release() {
    const std::lock_guard lock(mutex_);
    holds_.clear();
    changed_.notify_all();
  }
  bool wait_until_held(std::size_t calls) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return held_ >= calls; });
  }
  void fail_call(CallKind kind, std::uint64_t n, ErrorKind error) {
    const std::lock_guard lock(mutex_);
    failures_.push_back({kind, n, error});
  }
  void fail_syncs(const std::string& path_part) {
    const std::lock_guard lock(mutex_);
    failing_syncs_.push_back(path_part);
  }
  void let_sync() {
    const std::lock_guard lock(mutex_);
    failing_syncs_.clear();
  }
  void on_failed_sync(std::function<void(const std::string&)> notify) {
    const std::lock_guard lock(mutex_);
    on_failed_sync_ = std::move(notify);
  }
  void hide_descriptors() {
    const std::lock_guard lock(mutex_);
    descriptors_hidden_ = true;
  }
  bool descriptors_hidden() const {
    const std::lock_guard lock(mutex_);
    return descriptors_hidden_;
  }

 private:
  struct Pattern {
    CallKind kind;
    std::string path_part;
  };
  struct Failure {
    CallKind kind;
    std::uint64_t calls_left;
    ErrorKind error;
  };

  Result<> admit(const Call& call) {
    std::unique_lock lock(mutex_);
    wait_while_held(call, lock);
    const auto error = failure_of(call);
    if (!error) return {};
    calls_.push_back(call);
    const auto notify = call.kind == CallKind::kSyncData ? on_failed_sync_ : nullptr;
    lock.unlock();
    if (notify) notify(call.path);
    return Error{*error, call.path + ": made to fail"};
  }

  void wait_while_held(const Call& call, std::unique_lock<std::mutex>& lock) {
    const auto is_held = [&] {
      return std::ranges::any_of(holds_, [&](const Pattern& pattern) {
        return pattern.kind == call.kind && call.path.find(pattern.path_part) != std::string::npos;
      });
    };
    if (!is_held()) return;
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_held(); });
    --held_;
  }

  std::optional<ErrorKind> failure_of(const Call& call) {
    std::optional<ErrorKind> error;
    for (Failure& failure : failures_) {
      if (failure.kind == call.kind && --failure.calls_left == 0) error = failure.error;
    }
    std::erase_if(failures_, [](const Failure& failure) { return failure.calls_left == 0; });
    if (call.kind == CallKind::kSyncData || call.kind == CallKind::kSyncDirectory) {
      for (const std::string& part : failing_syncs_) {
        if (call.path.find(part) != std::string::npos) error = ErrorKind::kStorage;
      }
    }
    return error;
  }

  void finish(Call call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Call> calls_{};
  std::vector<Pattern> holds_{};
  std::size_t held_ = 0;
  std::vector<Failure> failures_{};
  std::vector<std::string> failing_syncs_{};
  std::function<void(const std::string&)> on_failed_sync_{};
  bool descriptors_hidden_ = false;
};

class RecordedFile : public File {
 public:
  using Recorder = RecordingFileSystem::Recorder;
  RecordedFile(std::shared_ptr<Recorder> recorder, std::shared_ptr<File> inner, std::string path)
      : recorder_(std::move(recorder)), inner_(std::move(inner)), path_(std::move(path)) {}

  int descriptor() const override {
    return recorder_->descriptors_hidden() ? -1 : inner_->descriptor();
  }
  Result<std::size_t> read_at(std::uint64_t position, std::span<std::byte> into) const override {
    return recorder_->run(call(CallKind::kRead, position, into.size()),
                          [&] { return inner_->read_at(position, into); });
  }
  Result<> write_at(std::uint64_t position, ByteView bytes) override {
    return recorder_->run(call(CallKind::kWrite, position, bytes.size()),
                          [&] { return inner_->write_at(position, bytes); });
  }
  Result<> sync_data() override {
    return recorder_->run(call(CallKind::kSyncData), [&] { return inner_->sync_data(); });
  }
  Result<> truncate(std::uint64_t size_bytes) override {
    return recorder_->run(call(CallKind::kTruncate, size_bytes),
                          [&] { return inner_->truncate(size_bytes); });
  }
  Result<> allocate(std::uint64_t from, std::uint64_t length_bytes) override {
    return recorder_->run(call(CallKind::kAllocate, from, length_bytes),
                          [&] { return inner_->allocate(from, length_bytes); });
  }
  Result<std::uint64_t> size_bytes() const override { return inner_->size_bytes(); }
  Result<std::uint64_t> first_hole(std::uint64_t from, std::uint64_t to) const override {
    return inner_->first_hole(from, to);
  }

 private:
  Call call(CallKind kind, std::uint64_t position = 0, std::uint64_t length_bytes = 0) const {
    return Call{.kind = kind, .path = path_, .position = position, .length_bytes = length_bytes};
  }
  const std::shared_ptr<Recorder> recorder_;
  const std::shared_ptr<File> inner_;
  const std::string path_;
};

RecordingFileSystem::RecordingFileSystem(storage::FileSystem& inner)
    : inner_(inner), recorder_(std::make_shared<Recorder>()) {}

std::vector<Call> RecordingFileSystem::calls() const { return recorder_->calls(); }

std::size_t RecordingFileSystem::count(CallKind kind, const std::string& path_part) const {
  const std::vector<Call> all = calls();
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const Call& call) {
    return call.kind == kind && call.path.find(path_part) != std::string::npos;
  }));
}

void RecordingFileSystem::clear() { recorder_->clear(); }

void RecordingFileSystem::hold(CallKind kind, const std::string& path_part) {
  recorder_->hold(kind, path_part);
}

void RecordingFileSystem::release() { recorder_->release(); }

bool RecordingFileSystem::wait_until_held(std::size_t calls) const {
  return recorder_->wait_until_held(calls);
}

void RecordingFileSystem::fail_call(CallKind kind, std::uint64_t n, ErrorKind error) {
  recorder_->fail_call(kind, n, error);
}

void RecordingFileSystem::fail_syncs(const std::string& path_part) {
  recorder_->fail_syncs(path_part);
}

void RecordingFileSystem::let_sync() { recorder_->let_sync(); }

void RecordingFileSystem::on_failed_sync(std::function<void(const std::string&)> notify) {
  recorder_->on_failed_sync(std::move(notify));
}

void RecordingFileSystem::hide_descriptors() { recorder_->hide_descriptors(); }

Result<std::shared_ptr<File>> RecordingFileSystem::open(const std::string& path, OpenMode mode) {
  const CallKind kind = mode == OpenMode::kCreate ? CallKind::kCreate : CallKind::kOpen;
  auto file =
      recorder_->run(Call{.kind = kind, .path = path}, [&] { return inner_.open(path, mode); });
  if (!file) return file;
  return std::shared_ptr<File>(std::make_shared<RecordedFile>(recorder_, *file, path));
}

Result<FileStatus> RecordingFileSystem::status(const std::string& path) const {
  return inner_.status(path);
}

Result<std::vector<std::string>> RecordingFileSystem::list(const std::string& directory) const {
  return inner_.list(directory);
}

Result<> RecordingFileSystem::rename(const std::string& from, const std::string& to) {
  return recorder_->run(Call{.kind = CallKind::kRename, .path = to},
                        [&] { return inner_.rename(from, to); });
}

Result<> RecordingFileSystem::remove(const std::string& path) {
  return recorder_->run(Call{.kind = CallKind::kRemove, .path = path},
                        [&] { return inner_.remove(path); });
}

Result<> RecordingFileSystem::remove_tree(const std::string& directory) {
  return recorder_->run(Call{.kind = CallKind::kRemoveTree, .path = directory},
                        [&] { return inner_.remove_tree(directory); });
}

Result<> RecordingFileSystem::create_directories(const std::string& directory) {
  return recorder_->run(Call{.kind = CallKind::kCreateDirectories, .path = directory},
                        [&] { return inner_.create_directories(directory); });
}

Result<> RecordingFileSystem::sync_directory(const std::string& directory) {
  return recorder_->run(Call{.kind = CallKind::kSyncDirectory, .path = directory},
                        [&] { return inner_.sync_directory(directory); });
}

Result<std::unique_ptr<FileLock>> RecordingFileSystem::lock(const std::string& path) {
  return inner_.lock(path);
}

std::string RecordingFileSystem::boot_id() const { return inner_.boot_id(); }

}  // namespace lastword::test
