// SPDX-License-Identifier: Apache-2.0
// Which APIs this broker serves, in which versions. Key 18.
//
// Threads   plain data.
// Lifetime  owns what it holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/apis.h"

namespace lastword {

struct ApiVersionsRequest {
  std::string client_software_name{};
  std::string client_software_version{};

  static constexpr const Api& api = kApiVersionsApi;
  static void fields(auto& walk) {
    walk("client_software_name", &ApiVersionsRequest::client_software_name, since(3));
    walk("client_software_version", &ApiVersionsRequest::client_software_version, since(3));
  }
};

struct ApiVersionsResponse {
  struct ApiKey {
    std::int16_t api_key = 0;
    std::int16_t min_version = 0;
    std::int16_t max_version = 0;

    static void fields(auto& walk) {
      walk("api_key", &ApiKey::api_key);
      walk("min_version", &ApiKey::min_version);
      walk("max_version", &ApiKey::max_version);
    }
  };

  struct SupportedFeature {
    std::string name{};
    std::int16_t min_version = 0;
    std::int16_t max_version = 0;

    static void fields(auto& walk) {
      walk("name", &SupportedFeature::name);
      walk("min_version", &SupportedFeature::min_version);
      walk("max_version", &SupportedFeature::max_version);
    }
  };

  struct FinalizedFeature {
    std::string name{};
    std::int16_t max_version_level = 0;
    std::int16_t min_version_level = 0;

    static void fields(auto& walk) {
      walk("name", &FinalizedFeature::name);
      walk("max_version_level", &FinalizedFeature::max_version_level);
      walk("min_version_level", &FinalizedFeature::min_version_level);
    }
  };

  ErrorCode error_code = ErrorCode::kNone;
  std::vector<ApiKey> api_keys{};
  std::int32_t throttle_time_ms = 0;
  std::vector<SupportedFeature> supported_features{};
  std::int64_t finalized_features_epoch = -1;
  std::vector<FinalizedFeature> finalized_features{};
  bool zk_migration_ready = false;

  static constexpr const Api& api = kApiVersionsApi;
  static void fields(auto& walk) {
    walk("error_code", &ApiVersionsResponse::error_code);
    walk("api_keys", &ApiVersionsResponse::api_keys);
    walk("throttle_time_ms", &ApiVersionsResponse::throttle_time_ms, since(1));
    walk("supported_features", &ApiVersionsResponse::supported_features, since(3), tag(0));
    walk("finalized_features_epoch", &ApiVersionsResponse::finalized_features_epoch, since(3),
         tag(1));
    walk("finalized_features", &ApiVersionsResponse::finalized_features, since(3), tag(2));
    walk("zk_migration_ready", &ApiVersionsResponse::zk_migration_ready, since(3), tag(3));
  }
};

}  // namespace lastword
