// SPDX-License-Identifier: Apache-2.0
// Settings of topics and of the broker. Key 32.
//
// Threads   plain data.
// Lifetime  owns what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/apis.h"

namespace lastword {

struct DescribeConfigsRequest {
  struct Resource {
    std::int8_t resource_type = 0;
    std::string resource_name{};
    std::optional<std::vector<std::string>> configuration_keys{};

    static void fields(auto& walk) {
      walk("resource_type", &Resource::resource_type);
      walk("resource_name", &Resource::resource_name);
      walk("configuration_keys", &Resource::configuration_keys);
    }
  };

  std::vector<Resource> resources{};
  bool include_synonyms = false;
  bool include_documentation = false;

  static constexpr const Api& api = kDescribeConfigsApi;
  static void fields(auto& walk) {
    walk("resources", &DescribeConfigsRequest::resources);
    walk("include_synonyms", &DescribeConfigsRequest::include_synonyms);
    walk("include_documentation", &DescribeConfigsRequest::include_documentation, since(3));
  }
};

struct DescribeConfigsResponse {
  struct Result {
    struct Config {
      struct Synonym {
        std::string name{};
        std::optional<std::string> value{};
        std::int8_t source = 0;

        static void fields(auto& walk) {
          walk("name", &Synonym::name);
          walk("value", &Synonym::value);
          walk("source", &Synonym::source);
        }
      };

      std::string name{};
      std::optional<std::string> value{};
      bool read_only = false;
      std::int8_t config_source = -1;
      bool is_sensitive = false;
      std::vector<Synonym> synonyms{};
      std::int8_t config_type = 0;
      std::optional<std::string> documentation{};

      static void fields(auto& walk) {
        walk("name", &Config::name);
        walk("value", &Config::value);
        walk("read_only", &Config::read_only);
        walk("config_source", &Config::config_source);
        walk("is_sensitive", &Config::is_sensitive);
        walk("synonyms", &Config::synonyms);
        walk("config_type", &Config::config_type, since(3));
        walk("documentation", &Config::documentation, since(3));
      }
    };

    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message{};
    std::int8_t resource_type = 0;
    std::string resource_name{};
    std::vector<Config> configs{};

    static void fields(auto& walk) {
      walk("error_code", &Result::error_code);
      walk("error_message", &Result::error_message);
      walk("resource_type", &Result::resource_type);
      walk("resource_name", &Result::resource_name);
      walk("configs", &Result::configs);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Result> results{};

  static constexpr const Api& api = kDescribeConfigsApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &DescribeConfigsResponse::throttle_time_ms);
    walk("results", &DescribeConfigsResponse::results);
  }
};

}  // namespace lastword
