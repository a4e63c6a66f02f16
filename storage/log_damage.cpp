// SPDX-License-Identifier: Apache-2.0
// Damaged ranges: found by readers, told by passes, listed in the manifest, skipped from then on.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "protocol/crc32c.h"
#include "storage/file_cache.h"
#include "storage/log_impl.h"

namespace lastword::storage {
namespace {

bool contains(const DamagedRange& outer, const DamagedRange& inner) {
  return outer.segment_base_offset == inner.segment_base_offset &&
         outer.segment_generation == inner.segment_generation && outer.position <= inner.position &&
         outer.position + outer.length_bytes >= inner.position + inner.length_bytes;
}

constexpr std::size_t kPieceBytes = 512u << 10;

/// Of the first `size_bytes`, whatever they are.
Result<std::uint32_t> checksum_of(const File& file, std::uint64_t size_bytes) {
  Bytes piece(kPieceBytes);
  std::uint32_t checksum = 0;
  for (std::uint64_t at = 0; at < size_bytes;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size_bytes - at));
    auto read = file.read_at(at, std::span(piece).first(wanted));
    if (!read) return read.take_error();
    if (*read == 0) return Error{ErrorKind::kDamaged, "a segment became shorter meanwhile"};
    checksum = crc32c(ByteView(piece).first(*read), checksum);
    at += *read;
  }
  return checksum;
}

/// Where what may be lost begins, if the bytes at `trusted.from` are bad: a walk that began in the
/// middle of the file does not know the offset in front of it.
Result<Offset> first_offset_of(const File& file, const BatchWalk::Range& trusted,
                               const std::vector<DamagedRange>& damaged, const SegmentInfo& info) {
  if (trusted.from == 0) return trusted.first_offset;
  for (const DamagedRange& known : damaged) {
    if (belongs_to(known, info) && known.position + known.length_bytes == trusted.from) {
      return std::max(trusted.first_offset, known.last_offset + 1);
    }
  }
  std::array<std::byte, kBatchHeaderBytes> front{};
  auto read = file.read_at(trusted.from, front);
  if (!read) return read.take_error();
  const auto header = read_batch_header(ByteView(front).first(*read));
  const bool believable = header && plausible(*header) &&
                          header->base_offset >= trusted.first_offset &&
                          header->last_offset() <= trusted.last_offset;
  return believable ? header->base_offset : trusted.first_offset;
}

}  // namespace

Result<> Log::Impl::add_damage(const DamagedRange& range) {
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  Change next = change();
  const auto is_its = [&](const SegmentInfo& info) { return belongs_to(range, info); };
  const bool listed = is_its(next.writer->info()) ||
                      std::any_of(next.closed->begin(), next.closed->end(),
                                  [&](const SegmentPtr& segment) { return is_its(segment->info); });
  auto& damaged = next.manifest.damaged;
  if (!listed || std::any_of(damaged.begin(), damaged.end(),
                             [&](const DamagedRange& known) { return contains(known, range); })) {
    return {};
  }
  std::erase_if(damaged, [&](const DamagedRange& known) { return contains(range, known); });
  damaged.push_back(range);
  report(Severity::kError, path_of({.base_offset = range.segment_base_offset,
                                    .generation = range.segment_generation}) +
                               ": no good batch at position " + std::to_string(range.position) +
                               ", " + std::to_string(range.length_bytes) + " bytes: offsets " +
                               std::to_string(range.first_offset) + " to " +
                               std::to_string(range.last_offset) + " may be lost");
  auto saved = save(next);
  // Readers skip it whether or not it could be written down.
  adopt(std::move(next), {});
  return saved;
}

Result<> Log::Impl::remove_damage(const DamagedRange& range) {
  if (belongs_to(range, view().active)) {
    auto closed = close_active(std::nullopt);
    if (!closed) return closed.take_error();
  }
  const auto is_its = [&](const SegmentPtr& segment) { return belongs_to(range, segment->info); };
  const auto closed = view().closed;
  const auto found = std::find_if(closed->begin(), closed->end(), is_its);
  SegmentPtr repaired;
  if (found != closed->end()) {
    auto file = env_.cache.open(path_of((*found)->info));
    if (!file) return file.take_error();
    auto checksum = checksum_of(**file, (*found)->info.size_bytes);
    if (!checksum) return checksum.take_error();
    Segment summed = **found;
    summed.info.checksum = *checksum;
    repaired = std::make_shared<Segment>(std::move(summed));
  }
  Lock append_lock(append_mutex_);
  LW_TRY(usable());
  Change next = change();
  if (std::erase(next.manifest.damaged, range) == 0) return {};
  auto segments = std::make_shared<SegmentList>(*next.closed);
  if (repaired) std::replace_if(segments->begin(), segments->end(), is_its, repaired);
  next.closed = std::move(segments);
  report(Severity::kInfo, "offsets " + std::to_string(range.first_offset) + " to " +
                              std::to_string(range.last_offset) + " are good again");
  return commit(std::move(next));
}

/// A walk over headers from `trusted.from`, where a batch starts, met bytes that are none. Finds
/// out with checksums where the damage begins and ends. Success: look again.
Result<> Log::Impl::handle_bad_bytes(const Place& place, const std::shared_ptr<File>& file,
                                     const BatchWalk::Range& trusted) {
  auto first_offset = first_offset_of(*file, trusted, *place.damaged, place.info);
  if (!first_offset) return first_offset.take_error();
  Bytes buffer;
  SegmentReader reader(file,
                       {.from = trusted.from,
                        .to = trusted.to,
                        .first_offset = *first_offset,
                        .last_offset = trusted.last_offset},
                       buffer);
  Offset last_good = *first_offset - 1;
  for (;;) {
    auto batch = reader.next();
    if (batch && *batch) {
      last_good = (*batch)->header.last_offset();
      continue;
    }
    if (batch) return {};  // all is well now: the file was replaced or cut meanwhile
    if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
    break;
  }
  DamagedRange range{.segment_base_offset = place.info.base_offset,
                     .segment_generation = place.info.generation,
                     .position = reader.position(),
                     .length_bytes = 0,
                     .first_offset = last_good + 1,
                     .last_offset = place.info.last_offset};
  auto end = reader.skip_damage();
  if (!end) return end.take_error();
  range.length_bytes = *end - range.position;
  if (*end < trusted.to) {
    auto next = reader.next();
    if (next && *next) range.last_offset = (*next)->header.base_offset - 1;
  }
  range.last_offset = std::max(range.last_offset, range.first_offset);
  if (auto added = add_damage(range); !added && added.error().kind == ErrorKind::kClosed)
    return added;
  return {};
}

/// The file of a segment is not there. Either it was replaced meanwhile, or it is lost.
Result<> Log::Impl::handle_missing_file(const Place& place) {
  const ReadView now = read_view();
  bool listed = same_file(now.readable, place.info);
  for (const SegmentPtr& segment : *now.closed) {
    listed = listed || same_file(segment->info, place.info);
  }
  if (!listed) return {};
  auto added = add_damage(damage_of_all(place.info));
  return added || added.error().kind != ErrorKind::kClosed ? Result<>() : std::move(added);
}

}  // namespace lastword::storage
