// SPDX-License-Identifier: Apache-2.0
// DescribeConfigs: settings of topics and of this broker, with their sources.
#include <algorithm>
#include <set>

#include "config/topic_name.h"
#include "server/handlers.h"
#include "server/handlers/topic_configs.h"

namespace lastword::server {

namespace {

using Resource = DescribeConfigsRequest::Resource;
using ResourceResult = DescribeConfigsResponse::Result;

constexpr std::int8_t kTopicResource = 2;
constexpr std::int8_t kBrokerResource = 4;

void fail(ResourceResult& result, ErrorCode code, std::string text) {
  result.error_code = code;
  result.error_message = std::move(text);
}

void keep_asked(std::vector<ConfigEntry>& entries, const Resource& resource) {
  // Null and empty both mean all.
  if (!resource.configuration_keys || resource.configuration_keys->empty()) return;
  std::erase_if(entries, [&](const ConfigEntry& entry) {
    return std::ranges::find(*resource.configuration_keys, entry.name) ==
           resource.configuration_keys->end();
  });
}

void describe_topic(const Context& context, const Resource& resource, const ConfigDetail& detail,
                    ResourceResult& result) {
  if (const auto error = topic_name_error(resource.resource_name)) {
    return fail(result, ErrorCode::kInvalidTopicException, *error);
  }
  const auto topic = context.store.find(resource.resource_name);
  if (!topic) {
    return fail(result, ErrorCode::kUnknownTopicOrPartition,
                "there is no topic " + resource.resource_name);
  }
  const auto options = context.options.load();
  result.configs = topic_configs(
      {*topic->options, topic->overrides, options->topic_defaults, topic->in_file}, detail);
}

void describe_broker(const Context& context, const Resource& resource, const ConfigDetail& detail,
                     ResourceResult& result) {
  if (!resource.resource_name.empty() && resource.resource_name != std::to_string(kNodeId)) {
    return fail(
        result, ErrorCode::kInvalidRequest,
        "there is no broker " + resource.resource_name + ", only " + std::to_string(kNodeId));
  }
  result.configs = broker_configs(*context.options.load(), detail);
}

}  // namespace

awaitable<DescribeConfigsResponse> describe_configs(Context& context, const Request& info,
                                                    DescribeConfigsRequest request) {
  (void)info;
  const ConfigDetail detail{.synonyms = request.include_synonyms,
                            .documentation = request.include_documentation};
  DescribeConfigsResponse response;
  // Each once, however often it is named: a small request must not make a huge answer.
  std::set<std::pair<std::int8_t, std::string>> seen;
  for (const Resource& resource : request.resources) {
    if (!seen.emplace(resource.resource_type, resource.resource_name).second) continue;
    ResourceResult& result = response.results.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    switch (resource.resource_type) {
      case kTopicResource:
        describe_topic(context, resource, detail, result);
        break;
      case kBrokerResource:
        describe_broker(context, resource, detail, result);
        break;
      default:
        fail(result, ErrorCode::kInvalidRequest,
             "settings of resource type " + std::to_string(resource.resource_type) +
                 " are not here: only topics (2) and brokers (4)");
    }
    keep_asked(result.configs, resource);
  }
  co_return response;
}

}  // namespace lastword::server
