// SPDX-License-Identifier: Apache-2.0
// Metadata: this broker, the topics asked for, and on request (a tag of our own) how each partition
// stands. Makes topics when both sides allow it.
#include <algorithm>
#include <set>

#include "config/topic_name.h"
#include "server/handlers.h"
#include "server/handlers/lookup.h"
#include "server/handlers/partition_status.h"
#include "server/on.h"

namespace lastword::server {

namespace {

using TopicRequest = MetadataRequest::Topic;
using TopicResult = MetadataResponse::Topic;

constexpr std::int16_t kFirstVersionWithNull = 1;
constexpr std::int16_t kFirstVersionWithIdLookup = 12;

class Describing {
 public:
  Describing(Context& context, const Request& info, const MetadataRequest& request)
      : context_(context), info_(info), request_(request), options_(context.options.load()) {}

  bool all_topics() const { return asks_for_all_topics(request_, info_.api_version); }

  /// Topics that this request brings into being.
  std::vector<std::string> to_create() const {
    std::vector<std::string> names;
    if (!options_->auto_create_topics || !request_.allow_auto_topic_creation || all_topics()) {
      return names;
    }
    for (const TopicRequest& asked : *request_.topics) {
      if (asked.name && !context_.store.find(*asked.name)) names.push_back(*asked.name);
    }
    return names;
  }

  MetadataResponse answer() const {
    MetadataResponse response;
    const Address address = advertised_address(*options_, info_.local);
    response.brokers.push_back({.node_id = kNodeId, .host = address.host, .port = address.port});
    response.cluster_id = context_.store.cluster_id();
    response.controller_id = kNodeId;
    if (all_topics()) {
      for (const auto& [name, topic] : context_.store.topics()->by_name) {
        response.topics.push_back(describe(*topic));
      }
      return response;
    }
    const bool by_id = std::ranges::any_of(
        *request_.topics, [](const TopicRequest& asked) { return !asked.topic_id.is_zero(); });
    // Each once, however often it is named: a small request must not make a huge answer.
    std::set<std::pair<Uuid, std::optional<std::string>>> seen;
    for (const TopicRequest& asked : *request_.topics) {
      const bool first = by_id ? seen.emplace(asked.topic_id, std::nullopt).second
                               : seen.emplace(Uuid(), asked.name).second;
      if (!first) continue;
      response.topics.push_back(by_id ? describe_by_id(asked) : describe_by_name(asked));
    }
    return response;
  }

 private:
  TopicResult describe_by_id(const TopicRequest& asked) const {
    TopicResult result{.name = asked.name, .topic_id = asked.topic_id};
    if (info_.api_version < kFirstVersionWithIdLookup) {
      result.error_code = ErrorCode::kInvalidRequest;
      if (!result.name) result.name = "";
      return result;
    }
    const auto topic = context_.store.find(topic_id_of(asked.topic_id));
    if (topic) return describe(*topic);
    result.name.reset();
    result.error_code = ErrorCode::kUnknownTopicId;
    return result;
  }

  TopicResult describe_by_name(const TopicRequest& asked) const {
    if (!asked.name) {
      return {.error_code = ErrorCode::kInvalidRequest, .name = ""};
    }
    if (const auto topic = context_.store.find(*asked.name)) return describe(*topic);
    TopicResult result{.name = *asked.name};
    // The name alone: the store's own check waits for whoever is making a topic.
    result.error_code = topic_name_error(*asked.name) ? ErrorCode::kInvalidTopicException
                                                      : ErrorCode::kUnknownTopicOrPartition;
    return result;
  }

  TopicResult describe(const storage::Topic& topic) const {
    TopicResult result{.name = topic.name, .topic_id = uuid_of(topic.id)};
    for (const auto& partition : topic.partitions) {
      auto& described = result.partitions.emplace_back();
      described.partition_index = partition->index;
      described.leader_id = kNodeId;
      const auto log = partition->log();
      described.leader_epoch = log ? log->offsets().leader_epoch : -1;
      described.replica_nodes = {kNodeId};
      described.isr_nodes = {kNodeId};
      if (request_.want_partition_status) {
        described.partition_status = partition_status(context_, *partition);
      }
    }
    return result;
  }

  Context& context_;
  const Request& info_;
  const MetadataRequest& request_;
  const std::shared_ptr<const BrokerOptions> options_;
};

}  // namespace

bool asks_for_all_topics(const MetadataRequest& request, std::int16_t version) {
  if (version >= kFirstVersionWithNull) return !request.topics;
  return !request.topics || request.topics->empty();
}

awaitable<MetadataResponse> metadata(Context& context, const Request& info,
                                     MetadataRequest request) {
  const Describing describing(context, info, request);
  const auto names = describing.to_create();
  if (!names.empty()) {
    co_await on(context.disk, [&] {
      // A refusal (name, limits) shows in the answer as an unknown or invalid topic.
      for (const std::string& name : names) (void)context.store.create({.name = name});
      return true;
    });
  }
  co_return describing.answer();
}

}  // namespace lastword::server
