// SPDX-License-Identifier: Apache-2.0
// DeleteTopics: gone for every request that comes after the answer; what waits on the topic is
// woken.
#include "server/error_map.h"
#include "server/handlers.h"
#include "server/handlers/lookup.h"
#include "server/on.h"

namespace lastword::server {

namespace {

using TopicResult = DeleteTopicsResponse::Result;

constexpr std::int16_t kFirstVersionWithIds = 6;

void fail(TopicResult& result, ErrorCode code, std::string text) {
  result.error_code = code;
  result.error_message = std::move(text);
}

// Runs on the disk pool.
void remove(Context& context, const storage::TopicPtr& topic, TopicResult& result) {
  const auto removed = context.store.remove(topic->name, topic->id);
  if (!removed) return fail(result, wire_code(removed.error().kind), removed.error().text);
  for (const auto& partition : (*removed)->partitions) context.progress.notify(*partition);
}

void remove_by_name(Context& context, const std::string& name, TopicResult& result) {
  result.name = name;
  const auto topic = context.store.find(name);
  if (!topic) {
    return fail(result, ErrorCode::kUnknownTopicOrPartition, "there is no topic " + name);
  }
  result.topic_id = uuid_of(topic->id);
  remove(context, topic, result);
}

void remove_by_id(Context& context, const Uuid& id, TopicResult& result) {
  result.topic_id = id;
  const auto topic = context.store.find(topic_id_of(id));
  if (!topic) return fail(result, ErrorCode::kUnknownTopicId, "no topic has id " + to_string(id));
  result.name = topic->name;
  remove(context, topic, result);
}

DeleteTopicsResponse remove_all(Context& context, const Request& info,
                                const DeleteTopicsRequest& request) {
  DeleteTopicsResponse response;
  if (info.api_version < kFirstVersionWithIds) {
    for (const std::string& name : request.topic_names) {
      remove_by_name(context, name, response.responses.emplace_back());
    }
    return response;
  }
  for (const auto& asked : request.topics) {
    TopicResult& result = response.responses.emplace_back();
    const bool by_id = !asked.topic_id.is_zero();
    if (by_id == asked.name.has_value()) {
      result.name = asked.name;
      result.topic_id = asked.topic_id;
      fail(result, ErrorCode::kInvalidRequest, "name the topic by its name or by its id");
    } else if (by_id) {
      remove_by_id(context, asked.topic_id, result);
    } else {
      remove_by_name(context, *asked.name, result);
    }
  }
  return response;
}

}  // namespace

awaitable<DeleteTopicsResponse> delete_topics(Context& context, const Request& info,
                                              DeleteTopicsRequest request) {
  co_return co_await on(context.disk, [&] { return remove_all(context, info, request); });
}

}  // namespace lastword::server
