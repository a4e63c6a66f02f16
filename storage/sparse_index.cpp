// SPDX-License-Identifier: Apache-2.0
#include "storage/sparse_index.h"

#include <algorithm>
#include <limits>
#include <string>

#include "protocol/bytes.h"
#include "protocol/check.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kOffsetEntryBytes = 8;
constexpr std::size_t kTimeEntryBytes = 12;
constexpr std::size_t kSearchWindowBytes = 4096;  // a range this small is read at once

constexpr std::size_t entry_bytes(IndexKind kind) {
  return kind == IndexKind::kOffset ? kOffsetEntryBytes : kTimeEntryBytes;
}

bool fits_in_31_bits(std::int64_t value) {
  return value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
}

/// `bytes` is one entry. Negative numbers in it, which no writer makes, give an empty optional.
std::optional<IndexEntry> decode_entry(IndexKind kind, Offset base_offset, ByteView bytes) {
  Reader in(bytes);
  std::int32_t relative_offset = 0;
  std::int32_t position = 0;
  TimestampMs timestamp = 0;
  if (kind == IndexKind::kTime) in.number(timestamp);
  in.number(relative_offset);
  if (kind == IndexKind::kOffset) in.number(position);
  if (!in.done() || relative_offset < 0 || position < 0 || timestamp < 0 ||
      base_offset > std::numeric_limits<Offset>::max() - relative_offset) {
    return std::nullopt;
  }
  const Offset offset = base_offset + relative_offset;
  return kind == IndexKind::kOffset ? IndexEntry{offset, position} : IndexEntry{timestamp, offset};
}

Error damaged(IndexKind kind, const std::string& reason) {
  const std::string name = kind == IndexKind::kOffset ? "offset index" : "time index";
  return {ErrorKind::kDamaged, name + " " + reason};
}

/// A search in a file: the last entry whose `field` is at or below `limit`.
struct Search {
  const ByteSource& file;
  IndexKind kind;
  Offset base_offset;
  std::int64_t IndexEntry::*field;
  std::int64_t limit;

  bool above(const IndexEntry& entry) const { return entry.*field > limit; }
};

/// `count` entries from number `first` on.
Result<std::vector<IndexEntry>> read_entries(const Search& search, std::uint64_t first,
                                             std::uint64_t count) {
  const std::size_t size = entry_bytes(search.kind);
  Bytes bytes(static_cast<std::size_t>(count) * size);
  auto read = search.file.read_at(first * size, bytes);
  if (!read) return read.take_error();
  if (*read != bytes.size()) return damaged(search.kind, "is shorter than it was");
  std::vector<IndexEntry> entries;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const auto entry =
        decode_entry(search.kind, search.base_offset, ByteView(bytes).subspan(at, size));
    if (!entry) {
      return damaged(search.kind, "has no valid entry " + std::to_string(first + at / size));
    }
    entries.push_back(*entry);
  }
  return entries;
}

Result<std::optional<IndexEntry>> run(const Search& search, std::uint64_t file_bytes) {
  const std::size_t size = entry_bytes(search.kind);
  if (file_bytes % size != 0) return damaged(search.kind, "does not hold whole entries");
  std::uint64_t first = 0;
  std::uint64_t count = file_bytes / size;
  std::optional<IndexEntry> best;
  while (count * size > kSearchWindowBytes) {
    const std::uint64_t middle = first + count / 2;
    auto entry = read_entries(search, middle, 1);
    if (!entry) return entry.take_error();
    if (search.above(entry->front())) {
      count = middle - first;
    } else {
      best = entry->front();
      count -= middle + 1 - first;
      first = middle + 1;
    }
  }
  auto window = read_entries(search, first, count);
  if (!window) return window.take_error();
  for (const IndexEntry& entry : *window) {
    if (search.above(entry)) break;
    best = entry;
  }
  return best;
}

}  // namespace

void SparseIndex::add(IndexEntry entry) {
  const std::int64_t value = kind_ == IndexKind::kOffset ? entry.value : entry.value - base_offset_;
  LW_CHECK(fits_in_31_bits(value));
  LW_CHECK(kind_ == IndexKind::kTime || fits_in_31_bits(entry.key - base_offset_));
  if (entry.key < 0) return;
  if (!entries_.empty() && (entry.key <= entries_.back().key || value <= entries_.back().value)) {
    return;
  }
  entries_.push_back({entry.key, static_cast<std::int32_t>(value)});
}

IndexEntry SparseIndex::unpack(const Packed& packed) const {
  return {packed.key, kind_ == IndexKind::kOffset ? packed.value : base_offset_ + packed.value};
}

std::optional<IndexEntry> SparseIndex::floor(std::int64_t key) const {
  const auto above = std::upper_bound(
      entries_.begin(), entries_.end(), key,
      [](std::int64_t wanted, const Packed& packed) { return wanted < packed.key; });
  if (above == entries_.begin()) return std::nullopt;
  return unpack(*std::prev(above));
}

std::optional<IndexEntry> SparseIndex::floor_value(std::int64_t value) const {
  const auto above = std::upper_bound(
      entries_.begin(), entries_.end(), value,
      [this](std::int64_t wanted, const Packed& packed) { return wanted < unpack(packed).value; });
  if (above == entries_.begin()) return std::nullopt;
  return unpack(*std::prev(above));
}

std::size_t SparseIndex::size_bytes() const { return entries_.size() * entry_bytes(kind_); }

std::optional<IndexEntry> SparseIndex::last() const {
  if (entries_.empty()) return std::nullopt;
  return unpack(entries_.back());
}

Bytes SparseIndex::encode() const {
  Writer out;
  for (const Packed& packed : entries_) {
    if (kind_ == IndexKind::kOffset) {
      out.number(static_cast<std::int32_t>(packed.key - base_offset_));
    } else {
      out.number(packed.key);
    }
    out.number(packed.value);
  }
  return out.take();
}

Result<SparseIndex> SparseIndex::decode(IndexKind kind, Offset base_offset, ByteView bytes) {
  const std::size_t size = entry_bytes(kind);
  if (bytes.size() % size != 0) return damaged(kind, "does not hold whole entries");
  SparseIndex index(kind, base_offset);
  index.entries_.reserve(bytes.size() / size);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const auto entry = decode_entry(kind, base_offset, bytes.subspan(at, size));
    if (entry) index.add(*entry);
    if (index.entries_.size() != at / size + 1) {
      return damaged(kind, "has an entry " + std::to_string(at / size) + " that does not ascend");
    }
  }
  return index;
}

Result<std::optional<IndexEntry>> floor_in_file(const ByteSource& file, std::uint64_t file_bytes,
                                                IndexKind kind, Offset base_offset,
                                                std::int64_t key) {
  return run({file, kind, base_offset, &IndexEntry::key, key}, file_bytes);
}

Result<std::optional<IndexEntry>> floor_value_in_file(const ByteSource& file,
                                                      std::uint64_t file_bytes, IndexKind kind,
                                                      Offset base_offset, std::int64_t value) {
  return run({file, kind, base_offset, &IndexEntry::value, value}, file_bytes);
}

}  // namespace lastword::storage
