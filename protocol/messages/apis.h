// SPDX-License-Identifier: Apache-2.0
// Every API that this broker serves: key, versions, first flexible version. ApiVersions answers
// from this list, the header is chosen by it, and each message names its entry.
//
// Threads   constants.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "protocol/fields.h"

namespace lastword {

// Produce is served from 3, but older librdkafka takes a range without 0 for "cannot compress"
// (KAFKA-18659). Nothing sends 0-2 to a broker that offers more.
inline constexpr Api kProduceApi{0, "Produce", {0, 12}, {3, 12}, 9};
inline constexpr Api kFetchApi{1, "Fetch", {4, 17}, {4, 17}, 12};
inline constexpr Api kListOffsetsApi{2, "ListOffsets", {1, 11}, {1, 11}, 6};
inline constexpr Api kMetadataApi{3, "Metadata", {0, 12}, {0, 12}, 9};
inline constexpr Api kFindCoordinatorApi{10, "FindCoordinator", {0, 6}, {0, 6}, 3};
inline constexpr Api kApiVersionsApi{18, "ApiVersions", {0, 4}, {0, 4}, 3};
inline constexpr Api kCreateTopicsApi{19, "CreateTopics", {2, 7}, {2, 7}, 5};
inline constexpr Api kDeleteTopicsApi{20, "DeleteTopics", {1, 6}, {1, 6}, 4};
inline constexpr Api kInitProducerIdApi{22, "InitProducerId", {0, 5}, {0, 5}, 2};
inline constexpr Api kOffsetForLeaderEpochApi{23, "OffsetForLeaderEpoch", {2, 4}, {2, 4}, 4};
inline constexpr Api kDescribeConfigsApi{32, "DescribeConfigs", {1, 4}, {1, 4}, 4};

/// All of the above, by key.
inline constexpr std::array kApis{
    &kProduceApi,         &kFetchApi,
    &kListOffsetsApi,     &kMetadataApi,
    &kFindCoordinatorApi, &kApiVersionsApi,
    &kCreateTopicsApi,    &kDeleteTopicsApi,
    &kInitProducerIdApi,  &kOffsetForLeaderEpochApi,
    &kDescribeConfigsApi,
};

/// Null if this broker does not know `key`.
constexpr const Api* find_api(std::int16_t key) {
  for (const Api* api : kApis) {
    if (api->key == key) return api;
  }
  return nullptr;
}

/// Kafka's name for `key`, served here or not, for log lines; "unknown" beyond Kafka's list.
std::string_view api_name(std::int16_t key);

}  // namespace lastword
