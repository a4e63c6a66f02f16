// SPDX-License-Identifier: Apache-2.0
#include "server/handlers/lookup.h"

namespace lastword::server {

Found find_partition(const storage::TopicPtr& topic, std::int32_t index) {
  if (!topic || index < 0 || static_cast<std::size_t>(index) >= topic->partitions.size()) {
    return {.error = ErrorCode::kUnknownTopicOrPartition};
  }
  Found found{.partition = topic->partitions[static_cast<std::size_t>(index)]};
  found.log = found.partition->log();
  if (!found.log) {
    found.error = found.partition->failure().empty() ? ErrorCode::kNotLeaderOrFollower
                                                     : ErrorCode::kKafkaStorageError;
  }
  return found;
}

ErrorCode check_epoch(std::int32_t asked, std::int32_t current) {
  if (asked < 0 || asked == current) return ErrorCode::kNone;
  return asked < current ? ErrorCode::kFencedLeaderEpoch : ErrorCode::kUnknownLeaderEpoch;
}

storage::TopicId topic_id_of(const Uuid& id) {
  storage::TopicId result;
  std::copy(id.bytes.begin(), id.bytes.end(), result.begin());
  return result;
}

Uuid uuid_of(const storage::TopicId& id) {
  Uuid result;
  std::copy(id.begin(), id.end(), result.bytes.begin());
  return result;
}

}  // namespace lastword::server
