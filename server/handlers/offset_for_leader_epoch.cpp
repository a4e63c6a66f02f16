// SPDX-License-Identifier: Apache-2.0
// OffsetForLeaderEpoch: where an epoch ended, so that a client notices that a tail was lost
// (KIP-320).
#include "server/handlers.h"
#include "server/handlers/lookup.h"

namespace lastword::server {

awaitable<OffsetForLeaderEpochResponse> offset_for_leader_epoch(
    Context& context, const Request& info, OffsetForLeaderEpochRequest request) {
  (void)info;
  OffsetForLeaderEpochResponse response;
  for (const auto& topic : request.topics) {
    auto& topic_result = response.topics.emplace_back();
    topic_result.topic = topic.topic;
    const auto known = context.store.find(topic.topic);
    for (const auto& asked : topic.partitions) {
      auto& result = topic_result.partitions.emplace_back();
      result.partition = asked.partition;
      const Found found = find_partition(known, asked.partition);
      result.error_code = found.error;
      if (!found) continue;
      result.error_code =
          check_epoch(asked.current_leader_epoch, found.log->offsets().leader_epoch);
      if (result.error_code != ErrorCode::kNone) continue;
      const auto end = found.log->end_of_epoch(asked.leader_epoch);
      result.leader_epoch = end.epoch;
      result.end_offset = end.end_offset;
    }
  }
  co_return response;
}

}  // namespace lastword::server
