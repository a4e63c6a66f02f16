// SPDX-License-Identifier: Apache-2.0
#include "storage/data_directory.h"

#include <chrono>
#include <vector>

#include "protocol/uuid.h"
#include "storage/file_names.h"

namespace lastword::storage {
namespace {

constexpr std::int64_t kProducerIdBlock = 1000;

/// Makes the folder and those above it, each with a durable name.
Result<> make_durable_directory(FileSystem& files, const std::string& directory) {
  std::vector<std::string> parents;
  std::string path = directory;
  while (true) {
    const auto status = files.status(path);
    if (!status) return Error(status.error());
    if (status->exists) break;
    parents.push_back(parent_directory(path));
    if (parents.back() == path) break;
    path = parents.back();
  }
  LW_TRY(files.create_directories(directory));
  for (const std::string& parent : parents) LW_TRY(files.sync_directory(parent));
  return {};
}

std::int64_t system_now_ms() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

Error in_directory(const std::string& path, Error error) {
  error.text = "data directory " + path + ": " + error.text;
  return error;
}

}  // namespace

DataDirectory::DataDirectory(FileSystem& files, const BrokerOptions& options,
                             std::unique_ptr<FileLock> lock)
    : files_(files),
      path_(options.data_dir),
      lock_(std::move(lock)),
      reserve_(files, path_in(path_, kReserveName), options.limits.disk_reserve_bytes) {}

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(FileSystem& files,
                                                           const BrokerOptions& options,
                                                           const Report& report) {
  const std::string& path = options.data_dir;
  if (auto made = make_durable_directory(files, path); !made) {
    return in_directory(path, made.take_error());
  }
  auto lock = files.lock(path_in(path, kLockName));
  if (!lock) {
    return in_directory(
        path,
        Error{lock.error().kind, lock.error().text + "; each daemon needs a data_dir of its own"});
  }
  std::unique_ptr<DataDirectory> directory(new DataDirectory(files, options, *std::move(lock)));
  if (auto started = directory->start(options, report); !started) {
    return in_directory(path, started.take_error());
  }
  return directory;
}

Result<> DataDirectory::start(const BrokerOptions& options, const Report& report) {
  // A process may have died between renaming the identity or the topics and syncing the folder.
  // What a start does by them (handing out producer ids, removing folders) must not outlive them.
  LW_TRY(files_.sync_directory(path_));
  if (!reserve_.refill()) {
    report(Severity::kWarning, "no room for the disk reserve of " +
                                   std::to_string(options.limits.disk_reserve_bytes) +
                                   " bytes in " + path_ +
                                   " (limits.disk_reserve_bytes): produces are refused until "
                                   "there is");
  }
  Lock lock(mutex_);
  const auto found = read_identity(report);
  if (!found) return Error(found.error());
  const std::string boot_id = files_.boot_id();
  const bool other_boot = boot_id.empty() || boot_id != identity_.boot_id;
  lost_writes_ = *found && identity_.ran_under_os && !identity_.stopped_cleanly && other_boot;
  cluster_id_ = to_string(Uuid{identity_.cluster_id});
  hash_key_ = identity_.hash_key;

  Identity running = identity_;
  running.boot_id = boot_id;
  running.ran_under_os = options.durability == Durability::kOs;
  running.stopped_cleanly = false;
  if (*found && running == identity_) return {};
  auto saved = save(running);
  if (saved || !*found || saved.error().kind != ErrorKind::kDiskFull) return saved;
  identity_ = running;
  save_pending_ = true;
  report(Severity::kWarning, "cannot note the start in " + path_ + " yet: " + saved.error().text);
  return {};
}

Result<bool> DataDirectory::read_identity(const Report& report) {
  auto identity = load_identity(files_, path_);
  if (identity) {
    identity_ = *std::move(identity);
    next_id_ = identity_.next_producer_id;
    return true;
  }
  if (identity.error().kind != ErrorKind::kNotFound) return identity.take_error();
  identity_ = make_identity();
  const auto topics = files_.status(path_in(path_, kTopicsName));
  if (!topics) return Error(topics.error());
  if (topics->exists) {
    // Which producer ids were handed out is lost. Nobody hands out one a millisecond for 56 years.
    identity_.next_producer_id = system_now_ms();
    report(Severity::kWarning, path_in(path_, kIdentityName) +
                                   " is missing beside existing topics: a new cluster id is made");
  }
  next_id_ = identity_.next_producer_id;
  return false;
}

Result<> DataDirectory::save(const Identity& identity) {
  LW_TRY(reserve_.with_reserve([&] { return save_identity(files_, path_, identity); }));
  identity_ = identity;
  save_pending_ = false;
  return {};
}

Result<std::int64_t> DataDirectory::next_producer_id() {
  Lock lock(mutex_);
  if (next_id_ >= identity_.next_producer_id) {
    Identity next = identity_;
    next.next_producer_id = next_id_ + kProducerIdBlock;
    LW_TRY(save(next));
  }
  return next_id_++;
}

Result<> DataDirectory::save_pending() {
  Lock lock(mutex_);
  return save_pending_ ? save(identity_) : Result<>();
}

Result<> DataDirectory::mark_stopped_cleanly() {
  Lock lock(mutex_);
  Identity stopped = identity_;
  stopped.stopped_cleanly = true;
  return save(stopped);
}

}  // namespace lastword::storage
