// SPDX-License-Identifier: Apache-2.0
#include "cleaner/output.h"

#include <algorithm>
#include <limits>

#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/segment_scan.h"

namespace lastword::cleaner {
namespace {

using storage::SegmentFile;
using storage::SegmentInfo;
using storage::SegmentWriter;

constexpr std::size_t kWriteBufferBytes = 1u << 20;
constexpr std::int64_t kIndexableMax = std::numeric_limits<std::int32_t>::max();

}  // namespace

Output::Output(storage::Log& log, const storage::Environment& env, const TopicOptions& options)
    : log_(log), env_(env), options_(options) {}

Output::~Output() {
  if (kept_) return;
  writer_.reset();
  for (const SegmentInfo& info : made_) {
    for (const auto file :
         {SegmentFile::kLog, SegmentFile::kOffsetIndex, SegmentFile::kTimeIndex}) {
      const std::string path = storage::segment_path(log_.identity().directory, info, file);
      env_.cache.drop(path);
      // What cannot be removed is not listed, and goes at the next start.
      static_cast<void>(env_.files.remove(path));
    }
  }
}

bool Output::is_full(const BatchHeader& header) const {
  const SegmentInfo& info = writer_->info();
  if (info.empty()) return false;
  // A stamp may make a batch a little longer. A segment that was full does not become two for that.
  const std::int64_t segment_bytes =
      std::max(options_.segment_bytes, static_cast<std::int64_t>(source_.size_bytes));
  const std::int64_t bytes_max = std::min(segment_bytes / 8 * 9 + 8, kIndexableMax);
  const auto bytes = static_cast<std::int64_t>(info.size_bytes + header.size_bytes());
  return bytes > bytes_max || header.last_offset() - info.base_offset > kIndexableMax ||
         writer_->indexes_full();
}

Result<> Output::begin(const BatchHeader& header) {
  // The first one takes the place of its sources; one that goes on behind it begins at a batch.
  SegmentInfo info;
  info.base_offset = made_.empty() ? source_.base_offset : header.base_offset;
  info.last_offset = info.base_offset - 1;
  info.generation = log_.take_generation();
  info.first_append_ms = source_.first_append_ms;
  info.last_append_ms = source_.last_append_ms;
  storage::SegmentWriterOptions options = storage::writer_options(options_);
  options.preallocate_bytes = 0;
  options.write_buffer_bytes = kWriteBufferBytes;
  made_.push_back(info);
  auto writer = env_.reserve.with_reserve(
      [&] { return SegmentWriter::create(env_, log_.identity().directory, info, options); });
  if (!writer) return writer.take_error();
  writer_ = std::move(*writer);
  return {};
}

Result<> Output::append(ByteView batch, const storage::BatchFacts& facts) {
  if (writer_ && is_full(facts.header)) LW_TRY(end_segment());
  if (!writer_) LW_TRY(begin(facts.header));
  LW_TRY(env_.reserve.with_reserve(
      [&] { return writer_->append(batch, facts, source_.last_append_ms); }));
  size_bytes_ += static_cast<std::int64_t>(batch.size());
  return {};
}

Result<> Output::end_segment() {
  LW_TRY(env_.reserve.with_reserve([&] { return writer_->trim(); }));
  LW_TRY(writer_->sync_data());
  LW_TRY(env_.reserve.with_reserve([&] { return writer_->save_indexes(); }));
  made_.back() = writer_->info();
  writer_.reset();
  return {};
}

Result<std::vector<SegmentInfo>> Output::finish() {
  if (writer_) LW_TRY(end_segment());
  if (!made_.empty()) LW_TRY(env_.files.sync_directory(log_.identity().directory));
  return made_;
}

}  // namespace lastword::cleaner
