// SPDX-License-Identifier: Apache-2.0
#include "storage/segment_scan.h"

#include <algorithm>

#include "storage/file_cache.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

/// The writer counts [position, end) in, which is no batch.
Result<> adopt_damage(SegmentWriter& writer, const File& file, std::uint64_t end) {
  Bytes piece(kPieceBytes);
  while (writer.info().size_bytes < end) {
    const std::uint64_t left = end - writer.info().size_bytes;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), left));
    auto read = file.read_at(writer.info().size_bytes, std::span(piece).first(wanted));
    if (!read) return read.take_error();
    if (*read == 0) {
      return Error{ErrorKind::kStorage, writer.path() + " became shorter while it was read"};
    }
    writer.adopt_damage(ByteView(piece).first(*read));
  }
  return {};
}

DamagedRange damage_of(const SegmentInfo& info, std::uint64_t end, Offset last_offset) {
  return {.segment_base_offset = info.base_offset,
          .segment_generation = info.generation,
          .position = info.size_bytes,
          .length_bytes = end - info.size_bytes,
          .first_offset = info.last_offset + 1,
          .last_offset = std::max(last_offset, info.last_offset + 1)};
}

}  // namespace

std::string segment_path(const std::string& directory, const SegmentInfo& info, SegmentFile file) {
  return path_in(directory, segment_file_name({info.base_offset, info.generation, file}));
}

SegmentWriterOptions writer_options(const TopicOptions& options) {
  return {.index_interval_bytes = options.index_interval_bytes,
          .index_bytes_max = options.segment_index_bytes,
          .preallocate_bytes = options.preallocate ? options.segment_bytes : 0,
          .segment_bytes = options.segment_bytes,
          .write_buffer_bytes = 0};
}

BatchFacts facts_of(const BatchHeader& header, ByteView batch, Bytes& scratch) {
  BatchFacts facts{.header = header, .tombstones = 0};
  if (header.record_count == 0) return facts;
  auto cursor = RecordCursor::open(batch, kBatchBytesMax, scratch);
  if (!cursor) return {.header = header, .tombstones = 1};
  for (;;) {
    auto record = cursor->next();
    if (!record)
      return {.header = header, .tombstones = std::max<std::int64_t>(facts.tombstones, 1)};
    if (!*record) return facts;
    if ((*record)->is_tombstone()) ++facts.tombstones;
  }
}

Result<Scanned> scan_segment(const Environment& env, SegmentWriter& writer, const Scan& scan) {
  auto file = env.cache.open(writer.path());
  if (!file) return file.take_error();
  Scanned scanned;
  Bytes buffer;
  Bytes scratch;
  const SegmentInfo start = writer.info();
  const std::uint64_t to = std::min<std::uint64_t>(scan.to, kRelativeMax);
  SegmentReader reader(*file,
                       {.from = start.size_bytes,
                        .to = to,
                        .first_offset = std::max(start.last_offset + 1, start.base_offset),
                        .last_offset = std::min(scan.last_offset, start.base_offset + kRelativeMax),
                        .may_be_torn = !scan.keep_tail},
                       buffer);
  for (;;) {
    auto batch = reader.next();
    if (!batch && batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
    if (batch && !*batch) break;
    if (batch) {
      const BatchHeader header = (*batch)->header;
      if (writer.info().size_bytes < (*batch)->position) {
        scanned.damaged.push_back(
            damage_of(writer.info(), (*batch)->position, header.base_offset - 1));
        LW_TRY(adopt_damage(writer, **file, (*batch)->position));
      }
      writer.adopt((*batch)->bytes, facts_of(header, (*batch)->bytes, scratch), scan.append_ms);
      continue;
    }
    const std::uint64_t damaged_from = reader.position();
    auto skipped = reader.skip_damage();
    if (!skipped) return skipped.take_error();
    if (*skipped >= to) break;
    if (scan.end_at_holes) {
      auto hole = (*file)->first_hole(damaged_from, *skipped);
      if (!hole) return hole.take_error();
      if (*hole < *skipped) break;
    }
  }
  scanned.torn_bytes = scan.to > writer.info().size_bytes ? scan.to - writer.info().size_bytes : 0;
  if (scanned.torn_bytes > 0 && scan.keep_tail) {
    scanned.damaged.push_back(damage_of(writer.info(), scan.to, scan.last_offset));
    LW_TRY(adopt_damage(writer, **file, scan.to));
    scanned.torn_bytes = 0;
  }
  return scanned;
}

Result<std::unique_ptr<SegmentWriter>> build_indexes(const Environment& env, const Segment& segment,
                                                     const SegmentWriterOptions& options) {
  SegmentInfo empty{.base_offset = segment.info.base_offset,
                    .generation = segment.info.generation,
                    .last_offset = segment.info.base_offset - 1,
                    .first_append_ms = segment.info.first_append_ms};
  auto writer = SegmentWriter::resume(env, segment.directory, empty, options);
  if (!writer) return writer;
  auto scanned = scan_segment(env, **writer,
                              {.to = segment.info.size_bytes,
                               .last_offset = segment.info.last_offset,
                               .append_ms = segment.info.last_append_ms,
                               .keep_tail = true});
  if (!scanned) return scanned.take_error();
  return writer;
}

}  // namespace lastword::storage
