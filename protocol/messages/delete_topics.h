// SPDX-License-Identifier: Apache-2.0
// Deletes topics, by name or id. Key 20.
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

struct DeleteTopicsRequest {
  struct Topic {
    std::optional<std::string> name{};
    Uuid topic_id{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("topic_id", &Topic::topic_id);
    }
  };

  std::vector<Topic> topics{};
  std::vector<std::string> topic_names{};
  std::int32_t timeout_ms = 0;

  static constexpr const Api& api = kDeleteTopicsApi;
  static void fields(auto& walk) {
    walk("topics", &DeleteTopicsRequest::topics, since(6));
    walk("topic_names", &DeleteTopicsRequest::topic_names, until(5));
    walk("timeout_ms", &DeleteTopicsRequest::timeout_ms);
  }
};

struct DeleteTopicsResponse {
  struct Result {
    std::optional<std::string> name{};
    Uuid topic_id{};
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message{};

    static void fields(auto& walk) {
      walk("name", &Result::name, nullable_since(6));
      walk("topic_id", &Result::topic_id, since(6));
      walk("error_code", &Result::error_code);
      walk("error_message", &Result::error_message, since(5));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Result> responses{};

  static constexpr const Api& api = kDeleteTopicsApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &DeleteTopicsResponse::throttle_time_ms);
    walk("responses", &DeleteTopicsResponse::responses);
  }
};

}  // namespace lastword
