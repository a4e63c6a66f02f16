// SPDX-License-Identifier: Apache-2.0
#include "storage/manifest.h"

#include <string>

#include "protocol/bytes.h"
#include "protocol/check.h"
#include "storage/checked_file.h"
#include "storage/disk_reserve.h"
#include "storage/file_names.h"

namespace lastword::storage {
namespace {

constexpr CheckedFormat kFormat{{'L', 'W', 'M', 'F'}, 1, "manifest"};
constexpr std::size_t kManifestBytesMax = 256u << 20;

constexpr std::uint8_t kHasFence = 1;
constexpr std::uint8_t kHasProducerSnapshot = 2;

constexpr std::size_t kLeaderEpochBytes = 12;
constexpr std::size_t kDamagedRangeBytes = 44;
constexpr std::size_t kSegmentBytes = 96;

Error damaged(const std::string& reason) { return {ErrorKind::kDamaged, "manifest " + reason}; }

// One field list serves both directions: `Cursor` is Writer with const values, or Reader.
template <class Cursor, class Row>
void walk_epoch(Cursor& cursor, Row& row) {
  cursor.number(row.epoch);
  cursor.number(row.start_offset);
}

template <class Cursor, class Row>
void walk_damage(Cursor& cursor, Row& row) {
  cursor.number(row.segment_base_offset);
  cursor.number(row.segment_generation);
  cursor.number(row.position);
  cursor.number(row.length_bytes);
  cursor.number(row.first_offset);
  cursor.number(row.last_offset);
}

template <class Cursor, class Row>
void walk_segment(Cursor& cursor, Row& row) {
  cursor.number(row.base_offset);
  cursor.number(row.generation);
  cursor.number(row.size_bytes);
  cursor.number(row.last_offset);
  cursor.number(row.records);
  cursor.number(row.stamped_tombstones);
  cursor.number(row.unstamped_tombstones);
  cursor.number(row.earliest_horizon);
  cursor.number(row.max_timestamp);
  cursor.number(row.max_timestamp_offset);
  cursor.number(row.first_append_ms);
  cursor.number(row.last_append_ms);
  cursor.number(row.checksum);
}

template <class T, class Walk>
void write_rows(Writer& out, const std::vector<T>& rows, Walk walk) {
  out.number(static_cast<std::uint32_t>(rows.size()));
  for (const T& row : rows) walk(out, row);
}

template <class T, class Walk>
void read_rows(Reader& in, std::vector<T>& rows, std::size_t row_bytes, Walk walk) {
  std::uint32_t count = 0;
  in.number(count);
  if (count > in.rest().size() / row_bytes) in.fail("claims more rows than there are bytes");
  rows.clear();
  if (in.failed()) return;
  rows.resize(count);
  for (T& row : rows) walk(in, row);
}

void read_offsets(Reader& in, Manifest& manifest) {
  for (std::byte& b : manifest.topic_id) in.number(b);
  in.number(manifest.log_start);
  in.number(manifest.recovery_point);
  in.number(manifest.clean_end);
  in.number(manifest.removed_tombstone_mark);
  in.number(manifest.next_generation);
  std::uint8_t flags = 0;
  in.number(flags);
  if ((flags & ~(kHasFence | kHasProducerSnapshot)) != 0) in.fail("has unknown flags");
  if ((flags & kHasFence) != 0) {
    Fence& fence = manifest.fence.emplace();
    in.number(fence.durable_end);
    in.number(fence.position);
  }
  if ((flags & kHasProducerSnapshot) != 0) in.number(manifest.producer_snapshot.emplace());
}

const char* fault_in_offsets(const Manifest& manifest) {
  if (manifest.log_start < 0 || manifest.recovery_point < 0 || manifest.clean_end < 0 ||
      manifest.removed_tombstone_mark < 0 || manifest.producer_snapshot.value_or(0) < 0 ||
      (manifest.fence && manifest.fence->durable_end < 0)) {
    return "has a negative offset";
  }
  for (std::size_t i = 0; i < manifest.leader_epochs.size(); ++i) {
    const LeaderEpoch& epoch = manifest.leader_epochs[i];
    if (epoch.epoch < 0 || epoch.start_offset < 0) return "has a negative leader epoch";
    if (i == 0) continue;
    const LeaderEpoch& before = manifest.leader_epochs[i - 1];
    if (epoch.epoch <= before.epoch || epoch.start_offset < before.start_offset) {
      return "has leader epochs out of order";
    }
  }
  return nullptr;
}

const char* fault_in_segments(const Manifest& manifest) {
  const SegmentInfo* before = nullptr;
  for (const SegmentInfo& segment : manifest.segments) {
    if (segment.base_offset < 0 || segment.last_offset < segment.base_offset - 1) {
      return "has a segment with impossible offsets";
    }
    if (segment.records < 0 || segment.stamped_tombstones < 0 || segment.unstamped_tombstones < 0) {
      return "has a segment with a negative count";
    }
    if (segment.generation >= manifest.next_generation) {
      return "has a segment of a generation that was not given out";
    }
    if (before != nullptr && (segment.base_offset <= before->base_offset ||
                              segment.base_offset <= before->last_offset)) {
      return "has segments out of order";
    }
    before = &segment;
  }
  for (const DamagedRange& range : manifest.damaged) {
    if (range.segment_base_offset < 0 || range.first_offset < 0 ||
        range.position + range.length_bytes < range.position) {
      return "has an impossible damaged range";
    }
  }
  return nullptr;
}

/// What is wrong with the values, in words that follow "manifest"; nullptr if nothing is.
const char* fault_in(const Manifest& manifest) {
  const char* const fault = fault_in_offsets(manifest);
  return fault != nullptr ? fault : fault_in_segments(manifest);
}

}  // namespace

Bytes encode(const Manifest& manifest) {
  Writer body;
  body.bytes(manifest.topic_id);
  body.number(manifest.log_start);
  body.number(manifest.recovery_point);
  body.number(manifest.clean_end);
  body.number(manifest.removed_tombstone_mark);
  body.number(manifest.next_generation);
  body.number(static_cast<std::uint8_t>((manifest.fence ? kHasFence : 0) |
                                        (manifest.producer_snapshot ? kHasProducerSnapshot : 0)));
  if (manifest.fence) {
    body.number(manifest.fence->durable_end);
    body.number(manifest.fence->position);
  }
  if (manifest.producer_snapshot) body.number(*manifest.producer_snapshot);
  write_rows(body, manifest.leader_epochs, walk_epoch<Writer, const LeaderEpoch>);
  write_rows(body, manifest.damaged, walk_damage<Writer, const DamagedRange>);
  write_rows(body, manifest.segments, walk_segment<Writer, const SegmentInfo>);
  return seal_file(kFormat, body.take());
}

Result<Manifest> decode_manifest(ByteView bytes) {
  auto body = open_sealed_file(kFormat, bytes);
  if (!body) return body.take_error();
  Manifest manifest;
  Reader in(*body);
  read_offsets(in, manifest);
  read_rows(in, manifest.leader_epochs, kLeaderEpochBytes, walk_epoch<Reader, LeaderEpoch>);
  read_rows(in, manifest.damaged, kDamagedRangeBytes, walk_damage<Reader, DamagedRange>);
  read_rows(in, manifest.segments, kSegmentBytes, walk_segment<Reader, SegmentInfo>);
  if (in.failed()) return damaged(std::string(in.reason()));
  if (!in.done()) return damaged("has bytes left over");
  if (const char* fault = fault_in(manifest)) return damaged(fault);
  return manifest;
}

Result<> save_manifest(const Environment& env, const std::string& directory,
                       const Manifest& manifest) {
  // What could not be read again would lose the partition at the next start.
  LW_CHECK(fault_in(manifest) == nullptr);
  const Bytes bytes = encode(manifest);
  const std::string path = path_in(directory, kManifestName);
  return env.reserve.with_reserve([&] { return replace_whole(env.files, path, bytes); });
}

Result<Manifest> load_manifest(const Environment& env, const std::string& directory) {
  const std::string path = path_in(directory, kManifestName);
  auto bytes = read_whole(env.files, path, kManifestBytesMax);
  if (!bytes) return bytes.take_error();
  auto manifest = decode_manifest(*bytes);
  if (!manifest) {
    return Error{ErrorKind::kDamaged, path + ": " + manifest.error().text +
                                          "; restore the file from a backup, or move the folder "
                                          "away to start this partition empty"};
  }
  return manifest;
}

}  // namespace lastword::storage
