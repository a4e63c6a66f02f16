// SPDX-License-Identifier: Apache-2.0
// What MemoryFileSystem consists of: files and directories with their durable and present state.
//
// Threads   plain data, under the lock of the file system.
// Lifetime  nodes are shared by the names, open files and changes that refer to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/memory_file_system.h"

namespace lastword::test {

/// A write, or with `truncate` a new size, that was not synced.
struct DataChange {
  std::uint64_t sequence = 0;  // over all changes of the file system
  bool truncate = false;
  std::uint64_t position = 0;  // or the new size
  Bytes bytes{};
};

/// Where a file has bytes that nobody wrote.
class Holes {
 public:
  /// `change` comes to a file of `size_bytes`.
  void note(const DataChange& change, std::uint64_t size_bytes);
  std::uint64_t first(std::uint64_t from, std::uint64_t to) const;

 private:
  struct Hole {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  void fill(const Hole& written);
  std::vector<Hole> holes_{};
};

/// The bytes of a file.
struct Content {
  Bytes bytes{};
  Holes holes{};
  void apply(const DataChange& change);
};

struct Node;
using NodePtr = std::shared_ptr<Node>;
using Names = std::map<std::string, NodePtr>;

struct Node {
  bool is_directory = false;

  Names names{};  // of a directory
  Names durable_names{};

  Content content{};  // of a file
  Content durable_content{};
  std::vector<DataChange> unsynced{};
  std::uint64_t allocated_bytes = 0;
  std::int64_t created_ms = 0;
  std::int64_t modified_ms = 0;
  bool linked = true;
  int handles = 0;

  std::uint64_t space_bytes() const {
    return std::max<std::uint64_t>(content.bytes.size(), allocated_bytes);
  }
};

/// A name made (`from` empty), removed (`to` empty) or changed, not synced.
struct NameChange {
  struct Place {
    NodePtr directory{};
    std::string name{};
  };
  std::uint64_t sequence = 0;
  Place from{};
  Place to{};
  NodePtr node{};
};

/// To the durable names.
void apply_change(const NameChange& change);

/// Turns the tree into one of the states that a power cut may leave.
void cut_power(Node& root, std::vector<NameChange>& changes, const PowerCut& cut,
               std::uint64_t seed);

}  // namespace lastword::test
