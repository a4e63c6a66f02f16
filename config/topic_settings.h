// SPDX-License-Identifier: Apache-2.0
// The table of topic settings: one row each, from which the config loader, CreateTopics,
// DescribeConfigs, the JSON schema and the reference page all follow.
//
// Threads   a constant table and pure functions.
// Lifetime  everything returned by reference or view lives for the whole program.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/options.h"
#include "config/setting_value.h"

namespace lastword {

/// `kafka_name` is what Kafka calls the broker's default for it, such as "log.cleanup.policy".
using TopicSetting = Setting<TopicOptions>;

/// All settings that are honoured, sorted by name.
std::span<const TopicSetting> topic_settings();

/// Row by exact name; null when there is none.
const TopicSetting* find_topic_setting(std::string_view name);

/// Settings of Kafka that mean nothing on one node (replication throttles and the like): accepted
/// with a log line that says so, never stored.
bool is_ignored_topic_setting(std::string_view name);

/// Those names, for the page and the schema; one that ends in "*" stands for all with that start.
std::span<const std::string_view> ignored_topic_settings();

/// "unknown topic setting …", with the nearest valid name when there is one. `also_valid` is a name
/// that the caller takes besides those of the table.
std::string unknown_topic_setting(std::string_view name, std::string_view also_valid = {});

/// Overrides on top of defaults. The error names setting, value, what is allowed, and for an
/// unknown name the nearest valid one. Checks across settings too (min lag above max lag).
struct TopicOptionsOrError {
  TopicOptions options{};
  std::optional<std::string> error{};
};
TopicOptionsOrError make_topic_options(const TopicOptions& defaults,
                                       const std::map<std::string, std::string>& overrides);

}  // namespace lastword
