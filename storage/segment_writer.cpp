// SPDX-License-Identifier: Apache-2.0
#include "storage/segment_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "protocol/check.h"
#include "protocol/crc32c.h"
#include "storage/file_cache.h"
#include "storage/file_names.h"

namespace lastword::storage {
namespace {

constexpr std::uint64_t kSpaceStepBytesMin = 128u << 10;
constexpr std::uint64_t kSpaceStepBytesMax = 16u << 20;
constexpr std::size_t kIndexFileBytesMax = 1u << 30;

// Relative offsets and positions have 31 bits in Kafka's indexes.
constexpr auto kIndexableMax = std::numeric_limits<std::int32_t>::max();

constexpr std::size_t kOffsetEntryBytes = 8;
constexpr std::size_t kTimeEntryBytes = 12;

std::string path_of(const std::string& directory, const SegmentInfo& info, SegmentFile file) {
  return path_in(directory, segment_file_name({info.base_offset, info.generation, file}));
}

/// An index with what is to come behind it.
Bytes encode_with(const SparseIndex& index, const std::vector<IndexEntry>& more) {
  if (more.empty()) return index.encode();
  SparseIndex whole = index;
  for (const IndexEntry& entry : more) whole.add(entry);
  return whole.encode();
}

Result<> put_index(const Environment& env, const std::string& path, ByteView bytes) {
  auto put = put_whole(env.files, path, bytes);
  env.cache.drop(path);
  return put;
}

}  // namespace

SegmentWriter::SegmentWriter(const Environment& env, std::string directory, SegmentInfo info,
                             const SegmentWriterOptions& options)
    : env_(env),
      directory_(std::move(directory)),
      options_(options),
      info_(info),
      offset_index_(IndexKind::kOffset, info.base_offset),
      time_index_(IndexKind::kTime, info.base_offset),
      interval_bytes_(
          static_cast<std::uint64_t>(std::max<std::int64_t>(options.index_interval_bytes, 0))),
      written_bytes_(info.size_bytes),
      allocated_bytes_(info.size_bytes) {}

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::create(const Environment& env,
                                                             std::string directory,
                                                             SegmentInfo info,
                                                             const SegmentWriterOptions& options) {
  LW_CHECK(info.empty() && info.records == 0);
  info.last_offset = info.base_offset - 1;
  std::unique_ptr<SegmentWriter> writer(
      new SegmentWriter(env, std::move(directory), info, options));
  auto file = env.cache.create(writer->path());
  if (!file) return file.take_error();
  if (options.preallocate_bytes > 0) {
    const auto bytes = static_cast<std::uint64_t>(options.preallocate_bytes);
    LW_TRY((*file)->allocate(0, bytes));
    writer->allocated_bytes_ = bytes;
  }
  return writer;
}

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::resume(const Environment& env,
                                                             std::string directory,
                                                             SegmentInfo info,
                                                             const SegmentWriterOptions& options) {
  if (info.empty()) info.last_offset = info.base_offset - 1;
  std::unique_ptr<SegmentWriter> writer(
      new SegmentWriter(env, std::move(directory), info, options));
  auto file = env.cache.open(writer->path());
  if (!file) return file.take_error();
  auto size_bytes = (*file)->size_bytes();
  if (!size_bytes) return size_bytes.take_error();
  if (*size_bytes < info.size_bytes) {
    return Error{ErrorKind::kDamaged, writer->path() + " has " + std::to_string(*size_bytes) +
                                          " bytes; " + std::to_string(info.size_bytes) +
                                          " belong to it"};
  }
  if (!info.empty()) LW_TRY(writer->load_indexes());
  return writer;
}

Result<> SegmentWriter::load_indexes() {
  const auto load = [this](SparseIndex& index, IndexKind kind) -> Result<> {
    const std::string path = path_of_index(kind);
    auto bytes = read_whole(env_.files, path, kIndexFileBytesMax);
    if (!bytes && bytes.error().kind == ErrorKind::kNotFound) {
      return Error{ErrorKind::kDamaged, path + " is missing"};
    }
    if (!bytes) return bytes.take_error();
    auto decoded = SparseIndex::decode(kind, info_.base_offset, *bytes);
    if (!decoded) return Error{ErrorKind::kDamaged, path + ": " + decoded.error().text};
    index = std::move(*decoded);
    while (index.count() >= kIndexEntriesMax) index.thin_out();
    return {};
  };
  LW_TRY(load(offset_index_, IndexKind::kOffset));
  LW_TRY(load(time_index_, IndexKind::kTime));

  const auto offset_entry = offset_index_.last();
  const auto time_entry = time_index_.last();
  const bool beyond_data =
      (offset_entry && (offset_entry->key > info_.last_offset ||
                        std::cmp_greater_equal(offset_entry->value, info_.size_bytes))) ||
      (time_entry &&
       (time_entry->key > info_.max_timestamp || time_entry->value > info_.last_offset));
  if (beyond_data) {
    return Error{ErrorKind::kDamaged, "the indexes of " + path() + " speak of more than it holds"};
  }
  if (offset_entry) indexed_at_bytes_ = static_cast<std::uint64_t>(offset_entry->value);
  if (time_entry) largest_timestamp_ = *time_entry;
  return {};
}

std::string SegmentWriter::path() const { return path_of(directory_, info_, SegmentFile::kLog); }

std::string SegmentWriter::path_of_index(IndexKind kind) const {
  const bool offset = kind == IndexKind::kOffset;
  return path_of(directory_, info_, offset ? SegmentFile::kOffsetIndex : SegmentFile::kTimeIndex);
}

// ---- batches -------------------------------------------------------------------------------

Result<> SegmentWriter::append(ByteView batch, const BatchFacts& facts, TimestampMs append_ms) {
  if (options_.write_buffer_bytes == 0) {
    LW_TRY(write(batch));
  } else {
    if (buffer_.size() + batch.size() > options_.write_buffer_bytes) LW_TRY(flush());
    if (batch.size() > options_.write_buffer_bytes) {
      LW_TRY(write(batch));
    } else {
      buffer_.insert(buffer_.end(), batch.begin(), batch.end());
    }
  }
  note(batch, facts, append_ms);
  return {};
}

void SegmentWriter::adopt(ByteView batch, const BatchFacts& facts, TimestampMs append_ms) {
  LW_CHECK(buffer_.empty());
  note(batch, facts, append_ms);
  written_bytes_ = info_.size_bytes;
}

void SegmentWriter::adopt_damage(ByteView bytes) {
  LW_CHECK(buffer_.empty());
  info_.size_bytes += bytes.size();
  info_.checksum = crc32c(bytes, info_.checksum);
  written_bytes_ = info_.size_bytes;
}

void SegmentWriter::note_first_append(TimestampMs append_ms) {
  if (info_.empty() || append_ms < 0) return;
  info_.first_append_ms = std::min(info_.first_append_ms, append_ms);
}

void SegmentWriter::note(ByteView batch, const BatchFacts& facts, TimestampMs append_ms) {
  const BatchHeader& header = facts.header;
  LW_CHECK(batch.size() == header.size_bytes());
  LW_CHECK(header.base_offset > info_.last_offset);
  LW_CHECK(header.last_offset() - info_.base_offset <= kIndexableMax);
  LW_CHECK(info_.size_bytes <= kIndexableMax);
  const std::uint64_t position = info_.size_bytes;
  info_.size_bytes += batch.size();
  info_.checksum = crc32c(batch, info_.checksum);
  info_.last_offset = header.last_offset();
  info_.records += header.record_count;
  if (const auto horizon = header.delete_horizon()) {
    info_.stamped_tombstones += facts.tombstones;
    if (facts.tombstones > 0) info_.earliest_horizon = std::min(info_.earliest_horizon, *horizon);
  } else {
    info_.unstamped_tombstones += facts.tombstones;
  }
  if (header.max_timestamp > info_.max_timestamp) {
    info_.max_timestamp = header.max_timestamp;
    info_.max_timestamp_offset = header.last_offset();
  }
  if (info_.first_append_ms < 0) info_.first_append_ms = append_ms;
  info_.last_append_ms = std::max(info_.last_append_ms, append_ms);
  note_in_indexes(header, position);
}

void SegmentWriter::note_in_indexes(const BatchHeader& header, std::uint64_t position) {
  // An empty batch keeps its timestamp, but a reader who looks for it there would find no record.
  if (header.record_count > 0 && header.max_timestamp > largest_timestamp_.key) {
    largest_timestamp_ = {header.max_timestamp, header.last_offset()};
  }
  if (position - indexed_at_bytes_ <= interval_bytes_) return;
  offset_entries_.push_back({header.last_offset(), static_cast<std::int64_t>(position)});
  if (largest_timestamp_.key >= 0) time_entries_.push_back(largest_timestamp_);
  indexed_at_bytes_ = position;
  if (offset_entries_.size() < kIndexEntriesMax) return;
  thin_out(offset_entries_);
  thin_out(time_entries_);
  widen_interval();
}

/// To twice what it is, and at least to the mean distance of the entries that there are: small
/// batches lie farther apart than an interval of 0.
void SegmentWriter::widen_interval() {
  const std::uint64_t entries =
      std::max<std::uint64_t>(1, offset_index_.count() + offset_entries_.size());
  interval_bytes_ = std::max(2 * interval_bytes_, indexed_at_bytes_ / entries);
}

void SegmentWriter::publish() {
  for (const IndexEntry& entry : offset_entries_) offset_index_.add(entry);
  for (const IndexEntry& entry : time_entries_) time_index_.add(entry);
  const bool many = offset_entries_.size() > 1;  // from a scan: their room is not needed again
  offset_entries_.clear();
  time_entries_.clear();
  if (many) {
    offset_entries_.shrink_to_fit();
    time_entries_.shrink_to_fit();
  }
  while (offset_index_.count() >= kIndexEntriesMax || time_index_.count() >= kIndexEntriesMax) {
    offset_index_.thin_out();
    time_index_.thin_out();
    widen_interval();
  }
}

bool SegmentWriter::indexes_full() const {
  const std::size_t offset_bytes = (offset_entries_.size() + 1) * kOffsetEntryBytes;
  // Two: the closing entry needs room as well.
  const std::size_t time_bytes = (time_entries_.size() + 2) * kTimeEntryBytes;
  return std::cmp_greater(offset_index_.size_bytes() + offset_bytes, options_.index_bytes_max) ||
         std::cmp_greater(time_index_.size_bytes() + time_bytes, options_.index_bytes_max);
}

// ---- files ---------------------------------------------------------------------------------

Result<> SegmentWriter::take_space(File& file, std::uint64_t end) {
  if (end <= allocated_bytes_) return {};
  const std::uint64_t step = std::clamp(written_bytes_, kSpaceStepBytesMin, kSpaceStepBytesMax);
  const auto segment_bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(options_.segment_bytes, 0));
  const std::uint64_t ahead = std::max(end, std::min(end + step, segment_bytes));
  auto taken = file.allocate(allocated_bytes_, ahead - allocated_bytes_);
  if (taken) {
    allocated_bytes_ = ahead;
    return {};
  }
  // The last room of a disk is not for steps.
  if (taken.error().kind == ErrorKind::kDiskFull && ahead > end) {
    taken = file.allocate(allocated_bytes_, end - allocated_bytes_);
    if (taken) allocated_bytes_ = end;
  }
  return taken;
}

Result<> SegmentWriter::write(ByteView bytes) {
  if (bytes.empty()) return {};
  auto file = env_.cache.open(path());
  if (!file) return file.take_error();
  auto done = take_space(**file, written_bytes_ + bytes.size());
  if (done) done = (*file)->write_at(written_bytes_, bytes);
  if (!done) {
    // Should this fail as well, the next write goes over what was left.
    static_cast<void>((*file)->truncate(written_bytes_));
    allocated_bytes_ = written_bytes_;
    return done;
  }
  written_bytes_ += bytes.size();
  return {};
}

Result<> SegmentWriter::flush() {
  LW_TRY(write(buffer_));
  buffer_.clear();
  return {};
}

Result<> SegmentWriter::sync_data() {
  LW_TRY(flush());
  auto file = env_.cache.open(path());
  if (!file) return file.take_error();
  return (*file)->sync_data();
}

Result<> SegmentWriter::trim() {
  LW_TRY(flush());
  auto file = env_.cache.open(path());
  if (!file) return file.take_error();
  LW_TRY((*file)->truncate(info_.size_bytes));
  allocated_bytes_ = info_.size_bytes;
  return {};
}

Result<> SegmentWriter::save_indexes() {
  LW_TRY(flush());
  const Bytes offsets = encode_with(offset_index_, offset_entries_);
  std::vector<IndexEntry> time_entries = time_entries_;
  if (largest_timestamp_.key >= 0) time_entries.push_back(largest_timestamp_);
  const Bytes times = encode_with(time_index_, time_entries);
  LW_TRY(put_index(env_, path_of_index(IndexKind::kOffset), offsets));
  LW_TRY(put_index(env_, path_of_index(IndexKind::kTime), times));
  return env_.files.sync_directory(directory_);
}

}  // namespace lastword::storage
