// SPDX-License-Identifier: Apache-2.0
// The name of every file and folder in a data directory, both ways: made and recognised.
//
// Layout    <data>/identity, topics, lock, reserve, and a folder <topic>-<partition> each; in it
//           `manifest`, <base offset>[.<generation>].log, .index and .timeindex, and
//           <end offset>.snapshot. Offsets have 20 digits. FORMAT.md tells the rest.
// Threads   pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/record_batch.h"

namespace lastword::storage {

inline constexpr std::string_view kManifestName = "manifest";
inline constexpr std::string_view kIdentityName = "identity";
inline constexpr std::string_view kTopicsName = "topics";
inline constexpr std::string_view kLockName = "lock";
inline constexpr std::string_view kReserveName = "reserve";

/// `directory`/`name`.
std::string path_in(std::string_view directory, std::string_view name);
/// What the last '/' is in front of; "." when there is none, "/" at the root.
std::string parent_directory(std::string_view path);

/// A file that is being written to replace `path`; a leftover is removed or written over.
std::string temporary_path(std::string_view path);
bool is_temporary_name(std::string_view name);

enum class SegmentFile { kLog, kOffsetIndex, kTimeIndex };

struct SegmentFileName {
  Offset base_offset = 0;
  std::uint32_t generation = 0;  // 0 is left out of the name
  SegmentFile file = SegmentFile::kLog;
  bool operator==(const SegmentFileName&) const = default;
};
std::string segment_file_name(const SegmentFileName& parts);
/// Empty for a name that segment_file_name() does not make.
std::optional<SegmentFileName> parse_segment_file_name(std::string_view name);

std::string producer_snapshot_name(Offset end_offset);
std::optional<Offset> parse_producer_snapshot_name(std::string_view name);

struct PartitionName {
  std::string topic{};
  std::int32_t partition = 0;
  bool operator==(const PartitionName&) const = default;
};
/// "<topic>-<partition>".
std::string partition_directory_name(std::string_view topic, std::int32_t partition);
std::optional<PartitionName> parse_partition_directory_name(std::string_view name);

/// The folder of a partition on its way out: "<topic>-<partition>.<id>.deleted". `id` keeps apart
/// what had the same name; a topic name that is too long for the system's limit is cut.
std::string deleted_directory_name(std::string_view partition_directory, std::string_view id);
bool is_deleted_directory_name(std::string_view name);

}  // namespace lastword::storage
