// SPDX-License-Identifier: Apache-2.0
// The effective settings of a topic or of the broker as DescribeConfigs and CreateTopics tell them:
// one walk over the tables of config/.
//
// Threads   pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/broker_settings.h"
#include "config/topic_settings.h"
#include "protocol/messages/describe_configs.h"

namespace lastword::server {

using ConfigEntry = DescribeConfigsResponse::Result::Config;

/// Kafka's `config_source`.
enum class ConfigSource : std::int8_t { kTopic = 1, kStaticBroker = 4, kDefault = 5 };

struct TopicConfigs {
  const TopicOptions& options;
  const std::map<std::string, std::string>& overrides;  // of the topic
  const std::map<std::string, std::string>& defaults;   // of the broker's settings file
  bool in_file = false;  // then an admin call cannot change its overrides
};

struct ConfigDetail {
  bool synonyms = false;
  bool documentation = false;
};

std::vector<ConfigEntry> topic_configs(const TopicConfigs& topic, const ConfigDetail& detail);
std::vector<ConfigEntry> broker_configs(const BrokerOptions& options, const ConfigDetail& detail);

}  // namespace lastword::server
