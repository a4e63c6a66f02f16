// SPDX-License-Identifier: Apache-2.0
#include "storage/producer_recovery.h"

#include <algorithm>
#include <utility>

#include "storage/batch_walk.h"
#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/file_names.h"
#include "storage/segment_scan.h"

namespace lastword::storage {
namespace {

constexpr std::size_t kSnapshotBytesMax = 256u << 20;

struct ReplayRange {
  Offset from = 0;
  Offset end = 0;
  std::uint64_t position = 0;  // where to begin in the segment
};

Result<> replay_segment(const Environment& env, const ProducerSource& source,
                        const SegmentInfo& info, const ReplayRange& range,
                        ProducerState& producers) {
  const std::string path = segment_path(source.directory, info);
  auto file = env.cache.open(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return {};
  if (!file) return file.take_error();
  std::uint64_t position = range.position;
  while (const auto run = run_at(source.manifest.damaged, info, position)) {
    BatchWalk walk(*file, {run->from, run->to, info.base_offset, info.last_offset});
    for (;;) {
      auto batch = walk.next();
      if (!batch && batch.error().kind == ErrorKind::kDamaged) {
        env.report(Severity::kError, source.name + ": " + path + ": " + batch.error().text +
                                         ": producers of what follows are forgotten");
        break;
      }
      if (!batch) return batch.take_error();
      if (!*batch || (*batch)->header.base_offset >= range.end) break;
      if ((*batch)->header.last_offset() >= range.from) {
        producers.note((*batch)->header, info.last_append_ms);
      }
    }
    position = run->to;
  }
  return {};
}

/// The snapshot that the manifest names; empty, with a line in the report, if it is of no use.
std::optional<ProducerState> load_snapshot(const Environment& env, const ProducerSource& source,
                                           Offset end) {
  const std::string path = path_in(source.directory, producer_snapshot_name(end));
  auto bytes = read_whole(env.files, path, kSnapshotBytesMax);
  std::string reason;
  if (bytes) {
    auto decoded =
        ProducerState::decode(*bytes, env.producer_ids_max, env.producer_id_expiration_ms);
    if (decoded && decoded->second == end) return std::move(decoded->first);
    reason = decoded ? "belongs to another offset" : decoded.error().text;
  } else {
    reason = bytes.error().text;
  }
  env.report(Severity::kWarning, source.name + ": producer snapshot " + path + ": " + reason +
                                     "; reading the whole log instead");
  return std::nullopt;
}

}  // namespace

Result<std::optional<Offset>> save_producers(const Environment& env, const std::string& directory,
                                             const ProducerState& producers, Offset end) {
  if (producers.size() == 0) return std::optional<Offset>();
  const std::string path = path_in(directory, producer_snapshot_name(end));
  const Bytes bytes = producers.encode(end);
  LW_TRY(env.reserve.with_reserve([&] { return replace_whole(env.files, path, bytes); }));
  return std::optional(end);
}

Result<ProducerState> load_producers(const Environment& env, const ProducerSource& source) {
  ProducerState producers(env.producer_ids_max, env.producer_id_expiration_ms);
  Offset from = source.manifest.recovery_point;
  if (const auto end = source.manifest.producer_snapshot) {
    auto loaded = load_snapshot(env, source, *end);
    from = loaded ? *end : 0;
    if (loaded) producers = std::move(*loaded);
  }
  for (std::size_t i = 0; i < source.segments.size(); ++i) {
    const SegmentInfo& info = source.segments[i];
    if (info.last_offset < from || info.base_offset >= source.end) continue;
    const bool from_recovery_point =
        i + 1 == source.segments.size() && from >= source.manifest.recovery_point;
    const std::uint64_t position = from_recovery_point ? source.recovery_position : 0;
    LW_TRY(replay_segment(env, source, info, {from, source.end, position}, producers));
  }
  producers.expire(env.clock.now_ms());
  return producers;
}

}  // namespace lastword::storage
