// SPDX-License-Identifier: Apache-2.0
#include "storage/partition_folders.h"

#include <algorithm>

#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/file_names.h"
#include "storage/identity.h"

namespace lastword::storage {
namespace {

/// Tells apart folders that were moved away from the same name.
std::string random_suffix() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : random_id()) {
    text += kDigits[std::to_integer<std::size_t>(b) % kDigits.size()];
  }
  return text;
}

/// The folders that `topics` has or may have.
std::set<std::string> folder_names(const TopicsFile& topics) {
  std::set<std::string> names;
  for (const auto& [name, topic] : topics.topics) {
    for (std::int32_t i = 0; i < topic.partitions; ++i) {
      names.insert(partition_directory_name(name, i));
    }
  }
  return names;
}

}  // namespace

PartitionFolders::PartitionFolders(const Environment& env, std::string data_directory)
    : env_(env), data_directory_(std::move(data_directory)) {}

std::string PartitionFolders::path(const std::string& topic, std::int32_t partition) const {
  return path_in(data_directory_, partition_directory_name(topic, partition));
}

Result<std::unique_ptr<Log>> PartitionFolders::open_log(
    const std::string& topic, std::int32_t partition, const TopicId& id,
    std::shared_ptr<const TopicOptions> options) {
  const Log::Identity identity{.name = partition_directory_name(topic, partition),
                               .directory = path(topic, partition),
                               .topic_id = id};
  const auto open = [&] {
    return env_.reserve.with_reserve([&] { return Log::open(env_, identity, options); });
  };
  auto log = open();
  if (log || log.error().kind != ErrorKind::kDamaged) return log;
  if (!belongs_to_removed(identity.directory)) return log;
  const auto moved = move_away(topic, partition);
  if (!moved) return Error(moved.error());
  env_.report(Severity::kWarning, identity.directory +
                                      " belongs to a topic that was removed; it is moved to " +
                                      *moved + " and removed at the next start");
  return open();
}

bool PartitionFolders::belongs_to_removed(const std::string& folder) const {
  const auto manifest = load_manifest(env_, folder);
  if (!manifest) return false;
  Lock lock(mutex_);
  return removed_.contains(manifest->topic_id);
}

void PartitionFolders::note_removed(const TopicId& id) {
  Lock lock(mutex_);
  removed_.insert(id);
}

Result<> PartitionFolders::refuse_partitions() const {
  const auto listed = env_.files.list(data_directory_);
  if (!listed) return Error(listed.error());
  for (const std::string& name : *listed) {
    if (!parse_partition_directory_name(name)) continue;
    const auto manifest = env_.files.status(path_in(path_in(data_directory_, name), kManifestName));
    if (!manifest || !manifest->exists) continue;
    return Error{ErrorKind::kDamaged,
                 data_directory_ + " holds partition " + name +
                     " but no topics file; bring that back, or move the partitions' folders away "
                     "to begin anew"};
  }
  return {};
}

Result<std::string> PartitionFolders::move_away(const std::string& topic, std::int32_t partition) {
  const std::string from = path(topic, partition);
  const std::string to =
      path_in(data_directory_,
              deleted_directory_name(partition_directory_name(topic, partition), random_suffix()));
  const auto renamed = env_.reserve.with_reserve([&] { return env_.files.rename(from, to); });
  if (!renamed && renamed.error().kind == ErrorKind::kNotFound) return std::string();
  if (!renamed) return Error(renamed.error());
  env_.cache.drop_directory(from);
  return to;
}

Result<> PartitionFolders::sync() { return env_.files.sync_directory(data_directory_); }

void PartitionFolders::remove(const std::string& moved) {
  const auto removed = env_.files.remove_tree(moved);
  if (removed) return;
  env_.report(Severity::kWarning, removed.error().text + "; it is tried again at the next start");
}

std::vector<std::string> PartitionFolders::tidy(TopicsFile& topics) {
  std::vector<std::string> leftovers;
  const auto listed = env_.files.list(data_directory_);
  if (!listed) {
    env_.report(Severity::kWarning, listed.error().text);
    return leftovers;
  }
  for (const RemovedTopic& topic : topics.removed) note_removed(topic.id);
  const std::set<std::string> known = folder_names(topics);
  std::set<std::string> unknown;
  for (const std::string& name : *listed) {
    if (is_temporary_name(name)) {
      static_cast<void>(env_.files.remove(path_in(data_directory_, name)));
    } else if (is_deleted_directory_name(name)) {
      leftovers.push_back(path_in(data_directory_, name));
    } else if (parse_partition_directory_name(name) && !known.contains(name)) {
      unknown.insert(name);
    }
  }
  // A folder whose name is in use again is none of the unknown ones: its log moves it away.
  std::erase_if(topics.removed, [&](const RemovedTopic& topic) {
    return move_away_removed(topic, unknown, leftovers);
  });
  if (!unknown.empty()) warn_of_unknown({unknown.begin(), unknown.end()});
  return leftovers;
}

bool PartitionFolders::move_away_removed(const RemovedTopic& topic, std::set<std::string>& unknown,
                                         std::vector<std::string>& moved) {
  bool complete = true;
  for (std::int32_t i = 0; i < topic.partitions; ++i) {
    if (unknown.erase(partition_directory_name(topic.name, i)) == 0) continue;
    const auto to = move_away(topic.name, i);
    if (to && !to->empty()) moved.push_back(*to);
    if (!to) env_.report(Severity::kWarning, to.error().text);
    complete = complete && to;
  }
  return complete && (moved.empty() || sync());
}

void PartitionFolders::warn_of_unknown(const std::vector<std::string>& names) const {
  constexpr std::size_t kNamesMax = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamesMax) text += ", …";
  env_.report(Severity::kWarning, std::to_string(names.size()) + " folders in " + data_directory_ +
                                      " belong to no topic and are left alone: " + text);
}

}  // namespace lastword::storage
