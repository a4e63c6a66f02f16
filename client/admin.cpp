// SPDX-License-Identifier: Apache-2.0
#include "client/admin.h"

#include <algorithm>
#include <utility>

#include "protocol/messages/create_topics.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/describe_configs.h"
#include "protocol/messages/list_offsets.h"
#include "protocol/messages/offset_for_leader_epoch.h"

namespace lastword::client {

namespace {

constexpr std::int32_t kTimeoutMs = 30'000;
constexpr std::int8_t kTopicResource = 2;

TopicInfo info_of(MetadataResponse::Topic&& topic) {
  TopicInfo info{
      .name = topic.name.value_or(""), .id = topic.topic_id, .internal = topic.is_internal};
  for (auto& partition : topic.partitions) {
    info.partitions.push_back({.index = partition.partition_index,
                               .leader_epoch = partition.leader_epoch,
                               .status = std::move(partition.partition_status)});
  }
  std::ranges::sort(info.partitions, {}, &PartitionInfo::index);
  return info;
}

Error no_such_topic(const std::string& name) {
  return {ErrorKind::kUnknownTopic,
          "there is no topic " + name + "; create it: lastword topics create " + name +
              " --config cleanup.policy=compact (keeps the latest value of each key), or without "
              "--config (the broker's defaults)"};
}

// What the broker says of a topic, whose name stands in front of it already.
std::string without_name(const std::optional<std::string>& message, const std::string& topic) {
  const std::string prefix = "topic " + topic + ": ";
  if (!message) return {};
  return message->starts_with(prefix) ? message->substr(prefix.size()) : *message;
}

// Kafka's numbers of where a setting comes from, in words.
constexpr std::int8_t kFromDefault = 5;
std::string source_text(std::int8_t source, bool read_only) {
  switch (source) {
    case 1:
      return read_only ? "settings file, topic" : "topic";
    case 2:
    case 3:
      return "broker, changed while it runs";
    case 4:
      return "settings file, topic_defaults";
    case kFromDefault:
      return "default";
    default:
      return "unknown";
  }
}

template <class Topic>
const auto* only_partition(const std::vector<Topic>& topics) {
  using Partition = typename decltype(topics.front().partitions)::value_type;
  const Partition* found = nullptr;
  if (topics.size() == 1 && topics.front().partitions.size() == 1) {
    found = &topics.front().partitions.front();
  }
  return found;
}

ListOffsetsRequest offsets_request(const std::string& topic,
                                   std::span<const std::int32_t> partitions,
                                   const Admin::OffsetQuery& query) {
  ListOffsetsRequest request{.topics = {{.name = topic}},
                             .timeout_ms = kTimeoutMs,
                             .want_removed_tombstone_mark = query.want_removed_tombstone_mark};
  for (const std::int32_t partition : partitions) {
    request.topics.front().partitions.push_back(
        {.partition_index = partition, .timestamp = query.timestamp});
  }
  return request;
}

}  // namespace

Result<std::vector<TopicInfo>> Admin::list_topics() {
  auto response = link_.call<MetadataResponse>(MetadataRequest{.allow_auto_topic_creation = false});
  if (!response) return response.error();
  std::vector<TopicInfo> topics;
  for (auto& topic : response->topics) topics.push_back(info_of(std::move(topic)));
  std::ranges::sort(topics, {}, &TopicInfo::name);
  return topics;
}

Result<TopicInfo> Admin::topic(const std::string& name, bool with_status) {
  return look_up({.topics = {{{.name = name}}},
                  .allow_auto_topic_creation = false,
                  .want_partition_status = with_status});
}

Result<TopicInfo> Admin::topic_to_write(const std::string& name) {
  return look_up({.topics = {{{.name = name}}}, .allow_auto_topic_creation = true});
}

Result<TopicInfo> Admin::look_up(const MetadataRequest& request) {
  const std::string name = request.topics->front().name.value_or("");
  for (Retries retries;;) {
    auto response = link_.call<MetadataResponse>(request);
    if (!response) return response.error();
    if (response->topics.size() != 1) {
      return Error{ErrorKind::kMalformed, "the broker's answer about topic " + name + " is empty"};
    }
    auto& topic = response->topics.front();
    if (topic.error_code == ErrorCode::kNone) return info_of(std::move(topic));
    if (topic.error_code == ErrorCode::kUnknownTopicOrPartition) return no_such_topic(name);
    if (!is_retriable(topic.error_code) || !retries.again()) {
      return broker_error("cannot describe topic " + name, topic.error_code);
    }
  }
}

Result<TopicInfo> Admin::create_topic(const TopicToCreate& topic) {
  CreateTopicsRequest request{.timeout_ms = kTimeoutMs};
  auto& wanted = request.topics.emplace_back();
  wanted.name = topic.name;
  wanted.num_partitions = topic.partitions;
  for (const auto& [name, value] : topic.configs) {
    wanted.configs.push_back({.name = name, .value = value});
  }
  auto response = link_.call<CreateTopicsResponse>(request);
  if (!response) return response.error();
  if (response->topics.size() != 1) {
    return Error{ErrorKind::kMalformed,
                 "the broker's answer about topic " + topic.name + " is empty"};
  }
  const auto& result = response->topics.front();
  if (result.error_code == ErrorCode::kTopicAlreadyExists) {
    return Error{ErrorKind::kTopicExists,
                 "topic " + topic.name + " exists already (TOPIC_ALREADY_EXISTS)"};
  }
  if (result.error_code != ErrorCode::kNone) {
    return broker_error("cannot create topic " + topic.name, result.error_code,
                        without_name(result.error_message, topic.name));
  }
  return this->topic(topic.name);
}

Result<> Admin::delete_topic(const std::string& name) {
  DeleteTopicsRequest request{
      .topics = {{.name = name}}, .topic_names = {name}, .timeout_ms = kTimeoutMs};
  auto response = link_.call<DeleteTopicsResponse>(request);
  if (!response) return response.error();
  if (response->responses.size() != 1) {
    return Error{ErrorKind::kMalformed, "the broker's answer about topic " + name + " is empty"};
  }
  const auto& result = response->responses.front();
  if (result.error_code == ErrorCode::kUnknownTopicOrPartition) {
    return Error{ErrorKind::kUnknownTopic, "there is no topic " + name};
  }
  if (result.error_code != ErrorCode::kNone) {
    return broker_error("cannot delete topic " + name, result.error_code,
                        without_name(result.error_message, name));
  }
  return {};
}

Result<std::vector<TopicSetting>> Admin::topic_settings(const std::string& name) {
  const DescribeConfigsRequest request{
      .resources = {{.resource_type = kTopicResource, .resource_name = name}}};
  auto response = link_.call<DescribeConfigsResponse>(request);
  if (!response) return response.error();
  std::vector<TopicSetting> settings;
  for (const auto& result : response->results) {
    if (result.error_code != ErrorCode::kNone) {
      return broker_error("cannot read the settings of topic " + name, result.error_code,
                          result.error_message.value_or(""));
    }
    for (const auto& config : result.configs) {
      settings.push_back({config.name, config.value,
                          source_text(config.config_source, config.read_only),
                          config.config_source == kFromDefault});
    }
  }
  std::ranges::sort(settings, {}, &TopicSetting::name);
  return settings;
}

std::string Admin::cleanup_policy(const std::string& name) {
  const auto settings = topic_settings(name);
  if (!settings) return {};
  const auto policy = std::ranges::find(*settings, "cleanup.policy", &TopicSetting::name);
  return policy == settings->end() ? "" : policy->value.value_or("");
}

Result<std::map<std::int32_t, OffsetAnswer>> Admin::offsets(
    const std::string& topic, std::span<const std::int32_t> partitions, const OffsetQuery& query) {
  std::map<std::int32_t, OffsetAnswer> answers;
  std::vector<std::int32_t> left(partitions.begin(), partitions.end());
  for (Retries retries; !left.empty();) {
    auto response = link_.call<ListOffsetsResponse>(offsets_request(topic, left, query),
                                                    {.extra = std::chrono::seconds(30)});
    if (!response) return response.error();
    left.clear();
    ErrorCode failure = ErrorCode::kNone;
    for (const auto& answered : response->topics) {
      for (const auto& partition : answered.partitions) {
        if (partition.error_code == ErrorCode::kNone) {
          answers[partition.partition_index] = {partition.offset, partition.timestamp,
                                                partition.leader_epoch,
                                                partition.removed_tombstone_mark};
          continue;
        }
        failure = partition.error_code;
        if (failure == ErrorCode::kUnknownTopicOrPartition) return no_such_topic(topic);
        left.push_back(partition.partition_index);
        if (!is_retriable(failure)) {
          return broker_error("cannot list offsets of " + topic + " partition " +
                                  std::to_string(partition.partition_index),
                              failure);
        }
      }
    }
    if (!left.empty() && !retries.again()) {
      return broker_error("cannot list offsets of " + topic, failure);
    }
  }
  return answers;
}

Result<Admin::EpochEnd> Admin::end_of_epoch(const std::string& topic, std::int32_t partition,
                                            std::int32_t epoch) {
  const OffsetForLeaderEpochRequest request{
      .replica_id = -1,
      .topics = {
          {.topic = topic, .partitions = {{.partition = partition, .leader_epoch = epoch}}}}};
  for (Retries retries;;) {
    auto response = link_.call<OffsetForLeaderEpochResponse>(request);
    if (!response) return response.error();
    const auto* result = only_partition(response->topics);
    if (result == nullptr) {
      return Error{ErrorKind::kMalformed, "the broker's answer about leader epochs is empty"};
    }
    if (result->error_code == ErrorCode::kNone) {
      return EpochEnd{result->leader_epoch, result->end_offset};
    }
    if (!is_retriable(result->error_code) || !retries.again()) {
      return broker_error(
          "cannot ask for the leader epoch of " + topic + " partition " + std::to_string(partition),
          result->error_code);
    }
  }
}

}  // namespace lastword::client
