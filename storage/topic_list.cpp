// SPDX-License-Identifier: Apache-2.0
#include "storage/topic_list.h"

#include <utility>

#include "storage/topic_plan.h"

namespace lastword::storage {
namespace {

bool is_as_stored(const Topic& topic, const StoredTopic& stored, const TopicOptions& options) {
  return topic.id == stored.id && topic.in_file == stored.in_file &&
         topic.overrides == stored.overrides && *topic.options == options &&
         std::cmp_equal(topic.partitions.size(), stored.partitions);
}

/// `before` is the topic of that name until now, or null.
TopicPtr make_topic(const std::string& name, const StoredTopic& stored, const TopicOptions& options,
                    const TopicPtr& before) {
  if (before && is_as_stored(*before, stored, options)) return before;
  auto topic =
      std::make_shared<Topic>(Topic{.name = name,
                                    .id = stored.id,
                                    .overrides = stored.overrides,
                                    .in_file = stored.in_file,
                                    .options = std::make_shared<const TopicOptions>(options)});
  if (before && before->id == stored.id) topic->partitions = before->partitions;
  while (std::cmp_less(topic->partitions.size(), stored.partitions)) {
    auto partition = std::make_shared<Partition>();
    partition->topic = name;
    partition->index = static_cast<std::int32_t>(topic->partitions.size());
    partition->topic_id = stored.id;
    topic->partitions.push_back(std::move(partition));
  }
  return topic;
}

TopicPtr find(const Topics& topics, const std::string& name) {
  const auto found = topics.by_name.find(name);
  return found == topics.by_name.end() ? nullptr : found->second;
}

}  // namespace

Result<TopicsPtr> make_topics(const TopicsFile& stored, const TopicOptions& defaults,
                              const Topics& before) {
  auto topics = std::make_shared<Topics>();
  for (const auto& [name, topic] : stored.topics) {
    const auto options = topic_options(name, defaults, topic.overrides);
    if (!options) return Error(options.error());
    const TopicPtr made = make_topic(name, topic, *options, find(before, name));
    topics->by_name.emplace(name, made);
    topics->by_id.emplace(topic.id, made);
  }
  return TopicsPtr(std::move(topics));
}

std::vector<PartitionPtr> all_partitions(const Topics& topics) {
  std::vector<PartitionPtr> all;
  for (const auto& [name, topic] : topics.by_name) {
    all.insert(all.end(), topic->partitions.begin(), topic->partitions.end());
  }
  return all;
}

std::vector<PartitionToOpen> partitions_to_open(const Topic& topic) {
  std::vector<PartitionToOpen> wanted;
  for (const PartitionPtr& partition : topic.partitions) {
    if (!partition->log()) wanted.push_back({partition, topic.options});
  }
  return wanted;
}

std::vector<PartitionToOpen> partitions_to_open(const Topics& topics) {
  std::vector<PartitionToOpen> wanted;
  for (const auto& [name, topic] : topics.by_name) {
    const auto of_topic = partitions_to_open(*topic);
    wanted.insert(wanted.end(), of_topic.begin(), of_topic.end());
  }
  return wanted;
}

std::vector<PartitionToOpen> partitions_added(const Topics& topics, const Topics& before) {
  std::vector<PartitionToOpen> added;
  for (const auto& [name, topic] : topics.by_name) {
    const TopicPtr known = find(before, name);
    const std::size_t from = known && known->id == topic->id ? known->partitions.size() : 0;
    for (std::size_t i = from; i < topic->partitions.size(); ++i) {
      added.push_back({topic->partitions[i], topic->options});
    }
  }
  return added;
}

void hand_on_options(const Topics& topics) {
  for (const auto& [name, topic] : topics.by_name) {
    for (const PartitionPtr& partition : topic->partitions) {
      const auto log = partition->log();
      if (log && log->options() != topic->options) log->set_options(topic->options);
    }
  }
}

}  // namespace lastword::storage
