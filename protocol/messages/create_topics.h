// SPDX-License-Identifier: Apache-2.0
// Creates topics. Key 19.
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

struct CreateTopicsRequest {
  struct Topic {
    struct Assignment {
      std::int32_t partition_index = 0;
      std::vector<std::int32_t> broker_ids{};

      static void fields(auto& walk) {
        walk("partition_index", &Assignment::partition_index);
        walk("broker_ids", &Assignment::broker_ids);
      }
    };

    struct Config {
      std::string name{};
      std::optional<std::string> value{};

      static void fields(auto& walk) {
        walk("name", &Config::name);
        walk("value", &Config::value);
      }
    };

    std::string name{};
    std::int32_t num_partitions = -1;
    std::int16_t replication_factor = -1;
    std::vector<Assignment> assignments{};
    std::vector<Config> configs{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("num_partitions", &Topic::num_partitions);
      walk("replication_factor", &Topic::replication_factor);
      walk("assignments", &Topic::assignments);
      walk("configs", &Topic::configs);
    }
  };

  std::vector<Topic> topics{};
  std::int32_t timeout_ms = 60000;
  bool validate_only = false;

  static constexpr const Api& api = kCreateTopicsApi;
  static void fields(auto& walk) {
    walk("topics", &CreateTopicsRequest::topics);
    walk("timeout_ms", &CreateTopicsRequest::timeout_ms);
    walk("validate_only", &CreateTopicsRequest::validate_only);
  }
};

struct CreateTopicsResponse {
  struct Topic {
    struct Config {
      std::string name{};
      std::optional<std::string> value{};
      bool read_only = false;
      std::int8_t config_source = -1;
      bool is_sensitive = false;

      static void fields(auto& walk) {
        walk("name", &Config::name);
        walk("value", &Config::value);
        walk("read_only", &Config::read_only);
        walk("config_source", &Config::config_source);
        walk("is_sensitive", &Config::is_sensitive);
      }
    };

    std::string name{};
    Uuid topic_id{};
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message{};
    ErrorCode topic_config_error_code = ErrorCode::kNone;
    std::int32_t num_partitions = -1;
    std::int16_t replication_factor = -1;
    std::optional<std::vector<Config>> configs{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("topic_id", &Topic::topic_id, since(7));
      walk("error_code", &Topic::error_code);
      walk("error_message", &Topic::error_message);
      walk("topic_config_error_code", &Topic::topic_config_error_code, since(5), tag(0));
      walk("num_partitions", &Topic::num_partitions, since(5));
      walk("replication_factor", &Topic::replication_factor, since(5));
      walk("configs", &Topic::configs, since(5));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics{};

  static constexpr const Api& api = kCreateTopicsApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &CreateTopicsResponse::throttle_time_ms);
    walk("topics", &CreateTopicsResponse::topics);
  }
};

}  // namespace lastword
