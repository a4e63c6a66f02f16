// SPDX-License-Identifier: Apache-2.0
// Which topics a world has, and what their settings may be.
#include <map>
#include <vector>

#include "tests/model/world.h"

namespace lastword::model {
namespace {

using Values = std::vector<std::string>;

/// What may change while the broker runs. Small, so that everything happens within a few steps.
const std::map<std::string, Values>& changing_settings() {
  static const std::map<std::string, Values> settings{
      {"delete.retention.ms", {"0", "1000", "60000", "3600000", "86400000"}},
      {"segment.bytes", {"1024", "2048", "6000"}},
      {"segment.ms", {"60000", "3600000", "604800000"}},
      {"segment.jitter.ms", {"0", "30000"}},
      {"min.cleanable.dirty.ratio", {"0", "0.2", "0.5", "1"}},
      {"min.compaction.lag.ms", {"0", "0", "0", "60000"}},
      {"max.compaction.lag.ms", {"9223372036854775807", "3600000"}},
      {"index.interval.bytes", {"100", "1000", "4096"}},
      {"file.delete.delay.ms", {"0", "0", "60000"}},
      {"compression.type", {"producer", "producer", "uncompressed", "zstd", "lz4"}},
  };
  return settings;
}

const std::map<std::string, Values>& retention_settings() {
  static const std::map<std::string, Values> settings{
      {"retention.ms", {"-1", "3600000", "86400000", "604800000"}},
      {"retention.bytes", {"-1", "-1", "3000"}},
  };
  return settings;
}

const std::string& any_of(Random& random, const Values& values) {
  return values[random.below(values.size())];
}

constexpr const char* kPolicyTopic = "switched";

}  // namespace

BrokerOptions random_options(Random& random) {
  BrokerOptions options;
  options.data_dir = "/data";
  options.durability = random.percent(70) ? Durability::kFsync : Durability::kOs;
  options.cleaner.memory_bytes = random.pick<std::int64_t>({24, 100, 200, 1000, kMebibyte});
  options.retention_check_interval_ms = 1;
  options.producer_id_expiration_ms = kUnlimited;
  options.limits.disk_reserve_bytes = random.pick<std::int64_t>({0, 4096});
  options.limits.open_files = random.pick<std::int64_t>({16, 512});
  options.topics = {
      {"addresses", {.partitions = 2, .settings = {{"cleanup.policy", "compact"}}}},
      {"sessions",
       {.settings = {{"cleanup.policy", "compact,delete"}, {"retention.ms", "604800000"}}}},
      {"stamped",
       {.settings = {{"cleanup.policy", "compact"}, {"message.timestamp.type", "LogAppendTime"}}}},
      {"events", {.settings = {{"cleanup.policy", "delete"}, {"retention.ms", "86400000"}}}},
      {kPolicyTopic, {.settings = {{"cleanup.policy", "delete"}}}},
  };
  for (auto& [name, topic] : options.topics) {
    for (const auto& [setting, values] : changing_settings()) {
      topic.settings[setting] = any_of(random, values);
    }
  }
  return options;
}

void change_setting(Random& random, BrokerOptions& options) {
  auto topic = options.topics.begin();
  std::advance(topic, static_cast<std::ptrdiff_t>(random.below(options.topics.size())));
  auto& settings = topic->second.settings;
  if (topic->first == kPolicyTopic && random.percent(60)) {
    settings["cleanup.policy"] = random.pick({"delete", "compact", "compact,delete"});
    return;
  }
  const bool retains = settings["cleanup.policy"] != "compact";
  const auto& changing = retains && random.percent(30) ? retention_settings() : changing_settings();
  auto setting = changing.begin();
  std::advance(setting, static_cast<std::ptrdiff_t>(random.below(changing.size())));
  settings[setting->first] = any_of(random, setting->second);
}

}  // namespace lastword::model
