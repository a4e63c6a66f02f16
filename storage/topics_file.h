// SPDX-License-Identifier: Apache-2.0
// The file `topics` of a data directory: which topics there are, and what is their own.
//
// Purpose   the commit point of creating, changing and removing a topic. Partition folders follow
// it:
//           a start makes what is listed and missing, and removes what is listed as removed.
// Layout    FORMAT.md gives its bytes: a checked file that is replaced whole.
// Threads   plain data and functions on it.
// Lifetime  values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/manifest.h"

namespace lastword::storage {

struct StoredTopic {
  TopicId id{};
  std::int32_t partitions = 1;
  bool in_file = false;                            // the config file names it
  std::map<std::string, std::string> overrides{};  // canonical names and values
  bool operator==(const StoredTopic&) const = default;
};

/// A topic whose folders may still be there.
struct RemovedTopic {
  std::string name{};
  TopicId id{};
  std::int32_t partitions = 1;
  bool operator==(const RemovedTopic&) const = default;
};

struct TopicsFile {
  std::map<std::string, StoredTopic> topics{};  // by name
  std::vector<RemovedTopic> removed{};
  bool operator==(const TopicsFile&) const = default;
};

Bytes encode(const TopicsFile& topics);
/// kDamaged when checksum, version or structure do not hold.
Result<TopicsFile> decode_topics(ByteView bytes);

/// kNotFound in a directory without the file.
Result<TopicsFile> load_topics(FileSystem& files, const std::string& directory);
/// Durably, whatever the durability setting says.
Result<> save_topics(FileSystem& files, const std::string& directory, const TopicsFile& topics);

}  // namespace lastword::storage
