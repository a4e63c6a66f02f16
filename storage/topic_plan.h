// SPDX-License-Identifier: Apache-2.0
// Which topics there may be, and what becomes of them when the config file changes.
//
// Threads   functions of values; the only thing that is not given to them is random: ids of new
// topics. Lifetime  values.
#pragma once

#include <map>
#include <string>

#include "config/options.h"
#include "storage/topics_file.h"

namespace lastword::storage {

/// Built-in defaults with the broker's `topic_defaults`; kInvalidConfig.
Result<TopicOptions> default_topic_options(const BrokerOptions& options);

/// `defaults` with a topic's own settings; kInvalidConfig naming the topic.
Result<TopicOptions> topic_options(const std::string& name, const TopicOptions& defaults,
                                   const std::map<std::string, std::string>& overrides);

/// Settings as they are stored: values as Kafka writes them, without those that mean nothing on one
/// node. They must have passed topic_options().
std::map<std::string, std::string> canonical_overrides(
    const TopicOptions& options, const std::map<std::string, std::string>& overrides);

/// Why there cannot be another topic of this name and size: kInvalidTopicName, kTopicExists,
/// kInvalidPartitions, kPolicyViolation (limits.partitions).
Result<> check_new_topic(const TopicsFile& present, const std::string& name,
                         std::int32_t partitions, const BrokerOptions& options);

/// `present` with the topics that the config file names made or adapted; those that left it are the
/// users' own. kInvalidPartitions if the file takes partitions away; and as the functions above,
/// for any topic: with new defaults the settings of each must still fit together.
Result<TopicsFile> adapt_to_file(TopicsFile present, const BrokerOptions& options);

}  // namespace lastword::storage
