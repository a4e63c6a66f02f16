// SPDX-License-Identifier: Apache-2.0
// ListOffsets: by time, and the ends. "Latest" waits until what was written before it is durable,
// so that a client with acks=1 finds its own records.
#include <chrono>
#include <set>
#include <utility>

#include "server/error_map.h"
#include "server/handlers.h"
#include "server/handlers/lookup.h"
#include "server/on.h"

namespace lastword::server {

namespace {

using PartitionRequest = ListOffsetsRequest::Topic::Partition;
using PartitionResult = ListOffsetsResponse::Topic::Partition;

// Timestamps that stand for something else, and the first version that knows them.
constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kMaxTimestamp = -3;
constexpr std::int64_t kEarliestLocal = -4;
constexpr std::int64_t kLatestTiered = -5;
constexpr std::int64_t kEarliestPendingUpload = -6;

using std::chrono::steady_clock;
constexpr auto kWaitForSync = std::chrono::seconds(10);

std::int16_t first_version_with(std::int64_t timestamp) {
  switch (timestamp) {
    case kMaxTimestamp:
      return 7;
    case kEarliestLocal:
      return 8;
    case kLatestTiered:
      return 9;
    case kEarliestPendingUpload:
      return 11;
    default:
      return 1;
  }
}

awaitable<void> latest(Context& context, const Found& found, steady_clock::time_point deadline,
                       PartitionResult& result) {
  const auto begun = found.log->offsets();
  const auto settled = [&context, &found, &begun] {
    const auto offsets = found.log->offsets();
    // After a fence the end may lie lower than it did.
    return offsets.high_watermark >= begun.log_end || offsets.fenced ||
           offsets.fences != begun.fences || !context.store.find(found.partition->topic_id);
  };
  std::vector<storage::PartitionPtr> partitions{found.partition};
  co_await context.progress.wait(std::move(partitions), {.deadline = deadline}, settled);
  result.offset = found.log->offsets().high_watermark;
  result.leader_epoch = found.log->leader_epoch_at(result.offset - 1);
}

struct Asked {
  std::int64_t timestamp = 0;
  steady_clock::time_point deadline{};  // of the whole request
};

void take(PartitionResult& result, const Result<storage::TimestampOffset>& found) {
  if (!found) {
    result.error_code = wire_code(found.error().kind);
    return;
  }
  result.timestamp = found->timestamp;
  result.offset = found->offset;
  result.leader_epoch = found->leader_epoch;
}

awaitable<void> look_up(Context& context, const Found& found, const Asked& asked,
                        PartitionResult& result) {
  switch (asked.timestamp) {
    case kLatest:
      co_return co_await latest(context, found, asked.deadline, result);
    case kEarliest:
    case kEarliestLocal:
      result.offset = found.log->offsets().log_start;
      result.leader_epoch = found.log->leader_epoch_at(result.offset);
      co_return;
    case kLatestTiered:
    case kEarliestPendingUpload:
      co_return;  // nothing is tiered here
    case kMaxTimestamp:
      co_return take(result,
                     co_await on(context.disk, [&] { return found.log->find_max_timestamp(); }));
    default:
      co_return take(result, co_await on(context.disk, [&] {
                       return found.log->find_timestamp(asked.timestamp);
                     }));
  }
}

}  // namespace

awaitable<ListOffsetsResponse> list_offsets(Context& context, const Request& info,
                                            ListOffsetsRequest request) {
  ListOffsetsResponse response;
  const auto deadline = steady_clock::now() + kWaitForSync;
  std::set<std::pair<std::string, std::int32_t>> seen;
  for (const auto& topic : request.topics) {
    auto& topic_result = response.topics.emplace_back();
    topic_result.name = topic.name;
    const auto known = context.store.find(topic.name);
    for (const PartitionRequest& asked : topic.partitions) {
      PartitionResult result{.partition_index = asked.partition_index};
      const Found found = find_partition(known, asked.partition_index);
      if (!seen.emplace(topic.name, asked.partition_index).second) {
        result.error_code = ErrorCode::kInvalidRequest;
      } else if (!found) {
        result.error_code = found.error;
      } else if (asked.timestamp < kEarliestPendingUpload ||
                 info.api_version < first_version_with(asked.timestamp)) {
        result.error_code = ErrorCode::kUnsupportedVersion;
      } else {
        result.error_code =
            check_epoch(asked.current_leader_epoch, found.log->offsets().leader_epoch);
      }
      if (result.error_code == ErrorCode::kNone) {
        co_await look_up(context, found, {asked.timestamp, deadline}, result);
        if (request.want_removed_tombstone_mark) {
          result.removed_tombstone_mark = found.log->offsets().removed_tombstone_mark;
        }
      }
      topic_result.partitions.push_back(result);
    }
  }
  co_return response;
}

}  // namespace lastword::server
