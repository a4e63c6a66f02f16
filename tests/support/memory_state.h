// SPDX-License-Identifier: Apache-2.0
// The inside of MemoryFileSystem: its tree, its counters, and its lock.
//
// Threads   members are called with `mutex` held.
// Lifetime  shared by the file system and its open files and locks.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/memory_tree.h"

namespace lastword::test {

inline Error failure(const char* call, const std::string& path, ErrorKind kind,
                     const char* reason) {
  return Error{kind, std::string(call) + " " + path + ": " + reason};
}

inline Error missing(const char* call, const std::string& path) {
  return failure(call, path, ErrorKind::kNotFound, "No such file or directory");
}

/// The names in a path.
std::vector<std::string> split(const std::string& path);

class MemoryState {
 public:
  explicit MemoryState(const storage::Clock* clock) : clock_(clock) { root_->is_directory = true; }

  std::mutex mutex;
  std::uint64_t epoch = 1;  // handles of another one are void
  std::uint64_t boot = 1;
  std::uint64_t operations = 0;
  std::uint64_t stop_at = std::numeric_limits<std::uint64_t>::max();
  bool stopped = false;
  std::uint64_t space_max = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t space_used = 0;
  std::map<std::string, std::uint64_t> locks{};  // path to epoch

  Result<> alive(const char* call, const std::string& path) const {
    if (stopped) return failure(call, path, ErrorKind::kStorage, "crashed");
    return {};
  }

  /// Counts a changing call; false if this is where everything stops.
  Result<> operation(const char* call, const std::string& path) {
    LW_TRY(alive(call, path));
    if (++operations == stop_at) stopped = true;
    return alive(call, path);
  }

  NodePtr find(const std::vector<std::string>& parts) const {
    NodePtr node = root_;
    for (const std::string& part : parts) {
      const auto found = node->names.find(part);
      if (found == node->names.end()) return nullptr;
      node = found->second;
    }
    return node;
  }
  NodePtr find(const std::string& path) const { return find(split(path)); }

  /// The directory that holds `path`, which need not exist itself; null if that is missing.
  NameChange::Place place(const std::string& path) const {
    std::vector<std::string> parts = split(path);
    if (parts.empty()) return {};
    NameChange::Place place{.name = parts.back()};
    parts.pop_back();
    place.directory = find(parts);
    if (place.directory && !place.directory->is_directory) place.directory = nullptr;
    return place;
  }

  NodePtr make(const NameChange::Place& place, bool directory) {
    auto node = std::make_shared<Node>();
    node->is_directory = directory;
    node->created_ms = node->modified_ms = now_ms();
    place.directory->names[place.name] = node;
    note(NameChange{.to = place, .node = node});
    return node;
  }

  void unlink(const NameChange::Place& place) {
    const NodePtr node = place.directory->names.at(place.name);
    place.directory->names.erase(place.name);
    note(NameChange{.from = place, .node = node});
    release(*node);
  }

  void rename(const NameChange::Place& from, const NameChange::Place& to) {
    const NodePtr node = from.directory->names.at(from.name);
    from.directory->names.erase(from.name);
    NodePtr& target = to.directory->names[to.name];
    if (target && target != node) release(*target);
    target = node;
    note(NameChange{.from = from, .to = to, .node = node});
  }

  Result<> remove_tree(const std::string& path) {
    const NodePtr node = find(path);
    if (!node) return {};
    std::vector<std::string> names;
    for (const auto& [name, child] : node->names) names.push_back(name);
    for (const std::string& name : names) LW_TRY(remove_tree(path + "/" + name));
    LW_TRY(operation("remove", path));
    unlink(place(path));
    return {};
  }

  void sync_names(const NodePtr& directory) {
    std::vector<NameChange> rest;
    for (NameChange& change : name_changes_) {
      if (change.from.directory == directory || change.to.directory == directory) {
        apply_change(change);
      } else {
        rest.push_back(std::move(change));
      }
    }
    name_changes_ = std::move(rest);
  }

  void change(Node& node, DataChange change) {
    charge(node, [&] {
      node.content.apply(change);
      if (change.truncate) node.allocated_bytes = std::min(node.allocated_bytes, change.position);
    });
    node.modified_ms = now_ms();
    change.sequence = ++sequence_;
    node.unsynced.push_back(std::move(change));
  }

  void sync(Node& node) {
    for (const DataChange& change : node.unsynced) node.durable_content.apply(change);
    node.unsynced.clear();
    // Lost writes (see lose_unsynced) leave it shorter than what readers see; the size is kept.
    node.durable_content.bytes.resize(node.content.bytes.size());
  }

  /// Bytes by which `node` may still grow beyond what it takes already.
  std::uint64_t room(const Node& node) const {
    const std::uint64_t free = space_max > space_used ? space_max - space_used : 0;
    return node.space_bytes() + std::min(free, std::numeric_limits<std::uint64_t>::max() / 2);
  }

  template <class Change>
  void charge(Node& node, Change make_change) {
    space_used -= node.space_bytes();
    make_change();
    space_used += node.space_bytes();
  }

  void release_handle(Node& node) {
    if (--node.handles == 0 && !node.linked) space_used -= node.space_bytes();
  }

  void crash(std::uint64_t seed, CrashKind kind, const PowerCut& cut) {
    if (kind == CrashKind::kPower) {
      cut_power(*root_, name_changes_, cut, seed);
      ++boot;
    }
    space_used = 0;
    recount(*root_);
    ++epoch;
    locks.clear();
    stopped = false;
    stop_at = std::numeric_limits<std::uint64_t>::max();
  }

 private:
  std::int64_t now_ms() const { return clock_ != nullptr ? clock_->now_ms() : 0; }

  void note(NameChange change) {
    change.sequence = ++sequence_;
    name_changes_.push_back(std::move(change));
  }

  void release(Node& node) {
    node.linked = false;
    if (node.handles == 0) space_used -= node.space_bytes();
  }

  void recount(Node& node) {
    node.handles = 0;
    space_used += node.space_bytes();
    for (auto& [name, child] : node.names) recount(*child);
  }

  const storage::Clock* clock_;
  const NodePtr root_ = std::make_shared<Node>();
  std::vector<NameChange> name_changes_{};
  std::uint64_t sequence_ = 0;
};

}  // namespace lastword::test
