// SPDX-License-Identifier: Apache-2.0
// The list of topics that TopicStore publishes, made anew from the stored one at each change.
//
// Threads   plain data and functions on it.
// Lifetime  a list shares partitions, and topics that did not change, with the one before.
#pragma once

#include <memory>
#include <vector>

#include "storage/partition_logs.h"
#include "storage/topic_store.h"
#include "storage/topics_file.h"

namespace lastword::storage {

using TopicsPtr = std::shared_ptr<const Topics>;

/// What `stored` describes; partitions that `before` has are kept. kInvalidConfig.
Result<TopicsPtr> make_topics(const TopicsFile& stored, const TopicOptions& defaults,
                              const Topics& before);

std::vector<PartitionPtr> all_partitions(const Topics& topics);

/// The partitions that are not open.
std::vector<PartitionToOpen> partitions_to_open(const Topic& topic);
std::vector<PartitionToOpen> partitions_to_open(const Topics& topics);
/// The partitions that are new against `before`.
std::vector<PartitionToOpen> partitions_added(const Topics& topics, const Topics& before);

/// Gives every open log the settings of its topic.
void hand_on_options(const Topics& topics);

}  // namespace lastword::storage
