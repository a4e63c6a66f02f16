// SPDX-License-Identifier: Apache-2.0
#include "storage/topic_plan.h"

#include <algorithm>

#include "config/topic_name.h"
#include "config/topic_settings.h"
#include "storage/identity.h"

namespace lastword::storage {
namespace {

Error topic_error(ErrorKind kind, const std::string& name, const std::string& text) {
  return Error{kind, "topic " + name + ": " + text};
}

std::int64_t count_partitions(const TopicsFile& topics) {
  std::int64_t count = 0;
  for (const auto& [name, topic] : topics.topics) count += topic.partitions;
  return count;
}

Result<> check_room(const TopicsFile& present, const std::string& name, std::int32_t more,
                    const BrokerOptions& options) {
  const std::int64_t count = count_partitions(present);
  if (count + more <= options.limits.partitions) return {};
  return topic_error(ErrorKind::kPolicyViolation, name,
                     std::to_string(more) + " more partitions do not fit: there are " +
                         std::to_string(count) + ", and limits.partitions is " +
                         std::to_string(options.limits.partitions) + "; raise it");
}

/// A topic that is there already gets the settings of the file, and its partitions if they are
/// more.
Result<> adapt(TopicsFile& topics, const std::string& name, const TopicInFile& wanted,
               const BrokerOptions& options) {
  StoredTopic& topic = topics.topics.at(name);
  if (wanted.partitions < topic.partitions) {
    return topic_error(ErrorKind::kInvalidPartitions, name,
                       "it has " + std::to_string(topic.partitions) +
                           " partitions, and the config file says " +
                           std::to_string(wanted.partitions) +
                           "; partitions cannot be taken away: write at least " +
                           std::to_string(topic.partitions));
  }
  if (wanted.partitions > topic.partitions) {
    LW_TRY(check_room(topics, name, wanted.partitions - topic.partitions, options));
  }
  topic.partitions = wanted.partitions;
  topic.overrides = wanted.settings;
  topic.in_file = true;
  return {};
}

}  // namespace

Result<TopicOptions> default_topic_options(const BrokerOptions& options) {
  auto made = make_topic_options(TopicOptions{}, options.topic_defaults);
  if (!made.error) return made.options;
  return Error{ErrorKind::kInvalidConfig, "topic_defaults: " + *made.error};
}

Result<TopicOptions> topic_options(const std::string& name, const TopicOptions& defaults,
                                   const std::map<std::string, std::string>& overrides) {
  auto made = make_topic_options(defaults, overrides);
  if (!made.error) return made.options;
  return topic_error(ErrorKind::kInvalidConfig, name, *made.error);
}

std::map<std::string, std::string> canonical_overrides(
    const TopicOptions& options, const std::map<std::string, std::string>& overrides) {
  std::map<std::string, std::string> canonical;
  for (const auto& [name, value] : overrides) {
    const TopicSetting* setting = find_topic_setting(name);
    if (setting != nullptr) canonical[name] = setting->get(options);
  }
  return canonical;
}

Result<> check_new_topic(const TopicsFile& present, const std::string& name,
                         std::int32_t partitions, const BrokerOptions& options) {
  if (const auto error = topic_name_error(name)) {
    return Error{ErrorKind::kInvalidTopicName, *error};
  }
  if (present.topics.contains(name)) {
    return topic_error(ErrorKind::kTopicExists, name, "it exists already");
  }
  const auto alike = std::ranges::find_if(
      present.topics, [&](const auto& topic) { return topic_names_collide(topic.first, name); });
  if (alike != present.topics.end()) {
    return topic_error(ErrorKind::kInvalidTopicName, name,
                       "there is a topic " + alike->first +
                           ", which differs only in '.' and '_'; choose another name");
  }
  if (partitions < 1) {
    return topic_error(
        ErrorKind::kInvalidPartitions, name,
        std::to_string(partitions) + " partitions are too few; at least 1 is needed");
  }
  return check_room(present, name, partitions, options);
}

Result<TopicsFile> adapt_to_file(TopicsFile present, const BrokerOptions& options) {
  const auto defaults = default_topic_options(options);
  if (!defaults) return Error(defaults.error());
  for (auto& [name, topic] : present.topics) topic.in_file = false;
  for (const auto& [name, wanted] : options.topics) {
    if (!present.topics.contains(name)) {
      LW_TRY(check_new_topic(present, name, wanted.partitions, options));
      present.topics[name] = StoredTopic{.id = random_id(), .partitions = wanted.partitions};
    }
    LW_TRY(adapt(present, name, wanted, options));
  }
  for (auto& [name, topic] : present.topics) {
    const auto made = topic_options(name, *defaults, topic.overrides);
    if (!made) return Error(made.error());
    topic.overrides = canonical_overrides(*made, topic.overrides);
  }
  return present;
}

}  // namespace lastword::storage
