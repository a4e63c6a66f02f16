// SPDX-License-Identifier: Apache-2.0
// CreateTopics: each topic by itself; durable before the answer.
#include <map>

#include "server/error_map.h"
#include "server/handlers.h"
#include "server/handlers/lookup.h"
#include "server/handlers/topic_configs.h"
#include "server/on.h"

namespace lastword::server {

namespace {

using TopicRequest = CreateTopicsRequest::Topic;
using TopicResult = CreateTopicsResponse::Topic;

constexpr std::int32_t kDefaultCount = -1;
constexpr std::int32_t kDefaultPartitions = 1;
constexpr std::int16_t kOneReplica = 1;
constexpr std::int16_t kFirstVersionWithDefaults = 4;

// A code that no kind of ours stands for.
struct Refusal {
  ErrorCode code = ErrorCode::kNone;
  std::string text{};
};

Refusal check_assignments(const TopicRequest& asked) {
  if (asked.num_partitions != kDefaultCount || asked.replication_factor != kDefaultCount) {
    return {ErrorCode::kInvalidRequest,
            "with assignments, partitions and replication factor must both be -1"};
  }
  std::vector<bool> seen(asked.assignments.size());
  for (const auto& assignment : asked.assignments) {
    const auto index = static_cast<std::size_t>(assignment.partition_index);
    if (assignment.partition_index < 0 || index >= seen.size() || seen[index] ||
        assignment.broker_ids != std::vector<std::int32_t>{kNodeId}) {
      return {ErrorCode::kInvalidReplicaAssignment,
              "partitions must be numbered from 0, each on broker " + std::to_string(kNodeId)};
    }
    seen[index] = true;
  }
  return {};
}

Refusal check_counts(const TopicRequest& asked, std::int16_t version) {
  if (!asked.assignments.empty()) return check_assignments(asked);
  const bool defaults = version >= kFirstVersionWithDefaults;
  if (asked.num_partitions < 1 && !(defaults && asked.num_partitions == kDefaultCount)) {
    return {ErrorCode::kInvalidPartitions, "a topic needs at least one partition"};
  }
  if (asked.replication_factor != kOneReplica &&
      !(defaults && asked.replication_factor == kDefaultCount)) {
    return {ErrorCode::kInvalidReplicationFactor,
            "this broker is the only one: the replication factor can only be 1 (or -1, the "
            "default), not " +
                std::to_string(asked.replication_factor)};
  }
  return {};
}

class Creating {
 public:
  Creating(Context& context, const Request& info, const CreateTopicsRequest& request)
      : context_(context), info_(info), request_(request) {
    for (const TopicRequest& topic : request.topics) ++times_named_[topic.name];
  }

  /// Runs on the disk pool.
  CreateTopicsResponse run() {
    CreateTopicsResponse response;
    for (const TopicRequest& asked : request_.topics) {
      TopicResult& result = response.topics.emplace_back();
      result.name = asked.name;
      create(asked, result);
    }
    return response;
  }

 private:
  void create(const TopicRequest& asked, TopicResult& result) {
    if (times_named_[asked.name] > 1) {
      return fail(result, {ErrorCode::kInvalidRequest, "the request names this topic twice"});
    }
    const Refusal counts = check_counts(asked, info_.api_version);
    if (counts.code != ErrorCode::kNone) return fail(result, counts);
    storage::TopicStore::NewTopic topic{.name = asked.name};
    topic.partitions = !asked.assignments.empty()
                           ? static_cast<std::int32_t>(asked.assignments.size())
                       : asked.num_partitions == kDefaultCount ? kDefaultPartitions
                                                               : asked.num_partitions;
    for (const auto& config : asked.configs) {
      if (!config.value) {
        return fail(result, {ErrorCode::kInvalidConfig, "setting " + config.name + " is null"});
      }
      topic.overrides[config.name] = *config.value;
    }
    const auto options = context_.store.check(topic);
    if (!options) return fail(result, of(options.error()));
    if (!request_.validate_only) {
      const auto made = context_.store.create(topic);
      if (!made) return fail(result, of(made.error()));
      tell_ignored(asked);
      result.topic_id = uuid_of((*made)->id);
      topic.overrides = (*made)->overrides;
    }
    describe(topic, *options, result);
  }

  // Kafka's settings for clusters mean nothing here; whoever sets one should know.
  void tell_ignored(const TopicRequest& asked) const {
    for (const auto& config : asked.configs) {
      if (!is_ignored_topic_setting(config.name)) continue;
      context_.store.environment().report(
          storage::Severity::kWarning,
          "topic " + asked.name + ": " + config.name + " means nothing on one node and is ignored");
    }
  }

  void describe(const storage::TopicStore::NewTopic& topic, const TopicOptions& options,
                TopicResult& result) {
    result.num_partitions = topic.partitions;
    result.replication_factor = kOneReplica;
    const auto broker = context_.options.load();
    auto& configs = result.configs.emplace();
    for (ConfigEntry& entry :
         topic_configs({options, topic.overrides, broker->topic_defaults}, {})) {
      configs.push_back({.name = std::move(entry.name),
                         .value = std::move(entry.value),
                         .read_only = entry.read_only,
                         .config_source = entry.config_source});
    }
  }

  static Refusal of(const Error& error) { return {wire_code(error.kind), error.text}; }

  static void fail(TopicResult& result, const Refusal& refusal) {
    result.error_code = refusal.code;
    result.error_message = refusal.text;
    result.topic_id = {};
    result.configs.emplace();
  }

  Context& context_;
  const Request& info_;
  const CreateTopicsRequest& request_;
  std::map<std::string, int> times_named_{};
};

}  // namespace

awaitable<CreateTopicsResponse> create_topics(Context& context, const Request& info,
                                              CreateTopicsRequest request) {
  co_return co_await on(context.disk, [&] { return Creating(context, info, request).run(); });
}

}  // namespace lastword::server
