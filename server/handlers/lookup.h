// SPDX-License-Identifier: Apache-2.0
// Finding the partition that a request names, and the checks that come before its log is touched.
//
// Threads   pure but for the store's lookups, which never block.
// Lifetime  a Found keeps partition and log alive.
#pragma once

#include <memory>
#include <string>

#include "protocol/error_code.h"
#include "protocol/uuid.h"
#include "storage/topic_store.h"

namespace lastword::server {

/// A partition with an open log, or the code that says why there is none.
struct Found {
  storage::PartitionPtr partition{};
  std::shared_ptr<storage::Log> log{};
  ErrorCode error = ErrorCode::kNone;
  explicit operator bool() const { return error == ErrorCode::kNone; }
};

/// UNKNOWN_TOPIC_OR_PARTITION for what is not there; NOT_LEADER_OR_FOLLOWER (retriable) while the
/// log is opening; KAFKA_STORAGE_ERROR if it could not be opened.
Found find_partition(const storage::TopicPtr& topic, std::int32_t index);

/// KIP-320: FENCED_LEADER_EPOCH for a lower epoch than the log's, UNKNOWN_LEADER_EPOCH for a
/// higher; -1 is not checked.
ErrorCode check_epoch(std::int32_t asked, std::int32_t current);

storage::TopicId topic_id_of(const Uuid& id);
Uuid uuid_of(const storage::TopicId& id);

}  // namespace lastword::server
