// SPDX-License-Identifier: Apache-2.0
// A sparse sorted index, in Kafka's entry layout: offset to position, or timestamp to offset.
//
// Layout    offset index entry: i32 last offset of a batch − segment base, i32 its position (8
// bytes);
//           time index entry: i64 largest timestamp so far, i32 last offset of the batch that holds
//           it − segment base (12 bytes). Keys ascend. No checksum: what does not fit is rebuilt.
// Threads   plain data. The free lookups read files and may wait for the disk.
// Lifetime  values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/file_system.h"
#include "storage/segment.h"

namespace lastword::storage {

struct IndexEntry {
  std::int64_t key = 0;    // offset, or timestamp
  std::int64_t value = 0;  // position, or offset; absolute
  bool operator==(const IndexEntry&) const = default;
};

enum class IndexKind { kOffset, kTime };

/// So many entries are the most that one index of a growing segment has in memory.
inline constexpr std::size_t kIndexEntriesMax = 65536;

/// Leaves out every second entry, but the last. A lookup then begins a little farther in front.
template <class Entry>
void thin_out(std::vector<Entry>& entries) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); i += 2) entries[kept++] = entries[i];
  if (!entries.empty() && entries.size() % 2 == 0) entries[kept++] = entries.back();
  entries.resize(kept);
}

class SparseIndex {
 public:
  SparseIndex(IndexKind kind, Offset base_offset) : kind_(kind), base_offset_(base_offset) {}

  /// Keys must ascend; an equal or lower key is left out.
  void add(IndexEntry entry);
  /// The last entry whose key is at or below `key`; empty if there is none.
  std::optional<IndexEntry> floor(std::int64_t key) const;
  /// The last entry whose value is at or below `value` (values ascend as well).
  std::optional<IndexEntry> floor_value(std::int64_t value) const;
  void thin_out() { storage::thin_out(entries_); }
  std::size_t size_bytes() const;
  std::size_t count() const { return entries_.size(); }
  std::optional<IndexEntry> last() const;

  Bytes encode() const;
  /// kDamaged if `bytes` are not whole entries that ascend.
  static Result<SparseIndex> decode(IndexKind kind, Offset base_offset, ByteView bytes);

 private:
  struct Packed {
    std::int64_t key;
    std::int32_t value;  // position, or offset − base
  };
  IndexEntry unpack(const Packed& packed) const;
  IndexKind kind_;
  Offset base_offset_;
  std::vector<Packed> entries_{};
};

/// As SparseIndex::floor and floor_value, by binary search in a closed segment's index file.
Result<std::optional<IndexEntry>> floor_in_file(const ByteSource& file, std::uint64_t file_bytes,
                                                IndexKind kind, Offset base_offset,
                                                std::int64_t key);
Result<std::optional<IndexEntry>> floor_value_in_file(const ByteSource& file,
                                                      std::uint64_t file_bytes, IndexKind kind,
                                                      Offset base_offset, std::int64_t value);

}  // namespace lastword::storage
