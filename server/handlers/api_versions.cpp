// SPDX-License-Identifier: Apache-2.0
// ApiVersions: the list of protocol/messages/apis.h. No features are announced: clients change
// protocol on them (KAFKA-17011).
#include <algorithm>
#include <string_view>

#include "server/handlers.h"

namespace lastword::server {

namespace {

constexpr std::int16_t kFirstVersionWithClientSoftware = 3;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Kafka's rule for client software names and versions (KIP-511).
bool is_software_word(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text,
                             [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

ApiVersionsResponse::ApiKey range_of(const Api& api) {
  return {
      .api_key = api.key, .min_version = api.advertised.first, .max_version = api.advertised.last};
}

}  // namespace

ApiVersionsResponse api_versions(const ApiVersionsRequest& request, const Request& info,
                                 bool version_known) {
  ApiVersionsResponse response;
  if (!version_known) {
    response.error_code = ErrorCode::kUnsupportedVersion;
    response.api_keys.push_back(range_of(kApiVersionsApi));
    return response;
  }
  if (info.api_version >= kFirstVersionWithClientSoftware &&
      (!is_software_word(request.client_software_name) ||
       !is_software_word(request.client_software_version))) {
    response.error_code = ErrorCode::kInvalidRequest;
    return response;
  }
  for (const Api* api : kApis) response.api_keys.push_back(range_of(*api));
  return response;
}

}  // namespace lastword::server
