// SPDX-License-Identifier: Apache-2.0
// The manifest of a partition: the one file that says which segments there are and what is known.
//
// Purpose   the only commit point of a partition. Whatever is not listed in it is removed at start.
//           FORMAT.md gives its bytes.
// Threads   plain data; writing is done under the log's append lock.
// Lifetime  values.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "storage/environment.h"
#include "storage/segment.h"

namespace lastword::storage {

using TopicId = std::array<std::byte, 16>;

/// A failed sync: nothing behind `durable_end` in the active file is trusted in place.
struct Fence {
  Offset durable_end = 0;
  std::uint64_t position = 0;
  bool operator==(const Fence&) const = default;
};

struct Manifest {
  TopicId topic_id{};
  Offset log_start = 0;
  Offset recovery_point = 0;  // below it everything is on disk and is never cut
  Offset clean_end = 0;       // below it the log is compacted
  Offset removed_tombstone_mark = 0;
  std::uint32_t next_generation = 1;
  std::optional<Fence> fence{};
  std::optional<Offset> producer_snapshot{};  // end offset of the snapshot that belongs to this
  std::vector<LeaderEpoch> leader_epochs{{0, 0}};
  std::vector<DamagedRange> damaged{};
  std::vector<SegmentInfo> segments{};  // ascending; the last one is the active one
  bool operator==(const Manifest&) const = default;
};

Bytes encode(const Manifest& manifest);
/// kDamaged when checksum, version or structure do not hold.
Result<Manifest> decode_manifest(ByteView bytes);

/// Replaces the file atomically and durably, under durability os too: a manifest that is lost with
/// the machine is a partition lost.
Result<> save_manifest(const Environment& env, const std::string& directory,
                       const Manifest& manifest);
/// kNotFound when the partition is new.
Result<Manifest> load_manifest(const Environment& env, const std::string& directory);

}  // namespace lastword::storage
