// SPDX-License-Identifier: Apache-2.0
#include "cleaner/source.h"

#include <algorithm>

#include "protocol/crc32c.h"
#include "storage/file_cache.h"
#include "storage/segment_scan.h"

namespace lastword::cleaner {
namespace {

using storage::BatchAt;
using storage::DamagedRange;
using storage::SegmentInfo;
using storage::SegmentPtr;
using storage::SegmentReader;

bool is_listed(const storage::LogView& view, const SegmentInfo& info) {
  return std::any_of(view.closed->begin(), view.closed->end(), [&](const SegmentPtr& segment) {
    return storage::same_file(segment->info, info);
  });
}

std::string at_position(std::uint64_t position) {
  return ": position " + std::to_string(position) + ", ";
}

std::string offsets_text(Offset first, Offset last) {
  return "offsets " + std::to_string(first) + " to " + std::to_string(last);
}

/// The same error with the place in front. What a batch does not tell by its checksum is damage
/// too.
Error in_batch(const std::string& path, const BatchAt& batch, const Error& why) {
  const bool does_not_parse =
      why.kind == ErrorKind::kCorruptBatch || why.kind == ErrorKind::kUnsupportedCompression;
  const bool too_large = why.kind == ErrorKind::kInvalidRecord;
  if (!does_not_parse && !too_large) return why;
  return {ErrorKind::kDamaged,
          path + at_position(batch.position) +
              offsets_text(batch.header.base_offset, batch.header.last_offset()) + ": " + why.text};
}

const SegmentInfo* find_segment(const storage::LogView& view, const DamagedRange& range) {
  if (belongs_to(range, view.active)) return &view.active;
  for (const SegmentPtr& segment : *view.closed) {
    if (belongs_to(range, segment->info)) return &segment->info;
  }
  return nullptr;
}

/// Whether the range holds nothing but good batches now.
Result<bool> is_repaired(const PassInput& input, const std::string& path,
                         const DamagedRange& range) {
  auto file = input.env.cache.open(path);
  if (!file) {
    if (file.error().kind == ErrorKind::kNotFound) return false;
    return file.take_error();
  }
  Bytes buffer;
  SegmentReader reader(*file,
                       {.from = range.position,
                        .to = range.position + range.length_bytes,
                        .first_offset = range.first_offset,
                        .last_offset = range.last_offset},
                       buffer);
  for (;;) {
    auto batch = reader.next();
    if (!batch && batch.error().kind == ErrorKind::kDamaged) return false;
    if (!batch) return batch.take_error();
    if (!*batch) return true;
  }
}

}  // namespace

Result<std::shared_ptr<storage::File>> Source::open(const SegmentPtr& segment) {
  const std::string path = storage::segment_path(segment->directory, segment->info);
  auto file = input_.env.cache.open(path);
  if (file || file.error().kind != ErrorKind::kNotFound) return file;
  if (!is_listed(input_.log.view(), segment->info)) {
    return Error{ErrorKind::kCancelled, path + " has left the log"};
  }
  return Error{ErrorKind::kDamaged, path + " is missing"};
}

Result<> Source::may_go_on() const {
  if (!input_.cancelled || !input_.cancelled()) return {};
  return Error{ErrorKind::kCancelled, "the pass was cancelled"};
}

void Source::count(const BatchAt& batch) {
  const auto bytes = static_cast<std::int64_t>(batch.bytes.size());
  read_bytes_ += bytes;
  input_.throttle.take(bytes);
}

Result<> Source::for_each_batch(const SegmentPtr& segment, std::uint64_t to,
                                const std::function<Result<bool>(const BatchAt&)>& each) {
  const SegmentInfo& info = segment->info;
  const std::string path = storage::segment_path(segment->directory, info);
  auto file = open(segment);
  if (!file) return file.take_error();
  SegmentReader reader(*file, SegmentReader::Range::of_segment(info.base_offset, to), buffer_);
  std::uint32_t checksum = 0;
  last_good_ = info.base_offset - 1;
  for (;;) {
    LW_TRY(may_go_on());
    auto batch = reader.next();
    if (!batch && batch.error().kind == ErrorKind::kDamaged) {
      return damaged(segment, reader, batch.error());
    }
    if (!batch) return batch.take_error();
    if (!*batch) break;
    count(**batch);
    checksum = crc32c((*batch)->bytes, checksum);
    auto more = each(**batch);
    if (!more) return in_batch(path, **batch, more.error());
    if (!*more) return {};
    last_good_ = (*batch)->header.last_offset();
  }
  if (to == info.size_bytes && checksum != info.checksum) {
    input_.env.cache.drop(path);  // the next try opens what has its name then
    return Error{ErrorKind::kDamaged,
                 path + at_position(0) + offsets_text(info.base_offset, info.last_offset) +
                     ": the checksum of the whole file does not hold, though those of its batches "
                     "do: a base offset has changed; restore the file"};
  }
  return {};
}

/// Lists what the reader stopped at, and says where that is.
Error Source::damaged(const SegmentPtr& segment, SegmentReader& reader, const Error& why) {
  auto range = list_damage(segment->info, reader);
  if (!range) return range.take_error();
  return {ErrorKind::kDamaged,
          storage::segment_path(segment->directory, segment->info) + at_position(range->position) +
              offsets_text(range->first_offset, range->last_offset) + ": " + why.text};
}

/// Lists what the reader stopped at as a damaged range. The reader goes behind the next good batch.
Result<DamagedRange> Source::list_damage(const SegmentInfo& info, SegmentReader& reader) {
  DamagedRange range{.segment_base_offset = info.base_offset,
                     .segment_generation = info.generation,
                     .position = reader.position(),
                     .length_bytes = 0,
                     .first_offset = last_good_ + 1,
                     .last_offset = info.last_offset};
  auto end = reader.skip_damage();
  if (!end) return end.take_error();
  range.length_bytes = *end - range.position;
  input_.throttle.take(static_cast<std::int64_t>(range.length_bytes));
  if (*end < info.size_bytes) {
    auto next = reader.next();
    if (next && *next) {
      range.last_offset = (*next)->header.base_offset - 1;
      last_good_ = (*next)->header.last_offset();
      count(**next);
    }
  }
  range.last_offset = std::max(range.last_offset, range.first_offset);
  if (auto added = input_.log.add_damage(range); !added) return added.take_error();
  return range;
}

Result<> Source::list_all_damage(const SegmentPtr& segment) {
  const SegmentInfo& info = segment->info;
  auto file = open(segment);
  if (!file && file.error().kind == ErrorKind::kDamaged) {  // it is missing
    return input_.log.add_damage(storage::damage_of_all(info));
  }
  if (!file) return file.take_error();
  SegmentReader reader(*file, SegmentReader::Range::of_segment(info.base_offset, info.size_bytes),
                       buffer_);
  last_good_ = info.base_offset - 1;
  for (;;) {
    LW_TRY(may_go_on());
    auto batch = reader.next();
    if (batch && !*batch) return {};
    if (batch) {
      count(**batch);
      last_good_ = (*batch)->header.last_offset();
      continue;
    }
    if (batch.error().kind != ErrorKind::kDamaged) return batch.take_error();
    if (auto listed = list_damage(info, reader); !listed) return listed.take_error();
  }
}

Result<> survey_damage(const PassInput& input) {
  const auto use = input.log.use();  // files are found by name
  if (!use) return use.error();
  const storage::LogView view = input.log.view();
  Source source(input);
  for (const SegmentPtr& segment : *view.closed) {
    auto read = source.list_all_damage(segment);
    // Retention may remove segments meanwhile.
    if (read || !is_listed(input.log.view(), segment->info)) continue;
    // What cannot be read, for how long ever, does not hide what lies behind it.
    if (read.error().kind != ErrorKind::kStorage) return read;
    input.env.report(storage::Severity::kError, read.error().text);
  }
  return {};
}

Result<> verify_damage(const PassInput& input) {
  auto use = input.log.use();
  if (!use) return use.take_error();
  const storage::LogView view = input.log.view();
  for (const DamagedRange& range : view.damaged) {
    const SegmentInfo* const info = find_segment(view, range);
    if (info != nullptr) {
      const std::string path = storage::segment_path(input.log.identity().directory, *info);
      // A copy may have got the file's name. Not the active one's: what is appended goes to the
      // open file, so that this is the one to sync.
      if (!belongs_to(range, view.active)) input.env.cache.drop(path);
      auto good = is_repaired(input, path, range);
      if (!good) return good.take_error();
      if (!*good) {
        return Error{ErrorKind::kDamaged,
                     path + at_position(range.position) +
                         offsets_text(range.first_offset, range.last_offset) +
                         " may be lost: restore the file from a copy, or delete the topic"};
      }
    }
    LW_TRY(input.log.remove_damage(range));
  }
  return {};
}

}  // namespace lastword::cleaner
