// SPDX-License-Identifier: Apache-2.0
// Which broker coordinates a group or transaction. Key 10.
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

struct FindCoordinatorRequest {
  std::string key{};
  std::int8_t key_type = 0;
  std::vector<std::string> coordinator_keys{};

  static constexpr const Api& api = kFindCoordinatorApi;
  static void fields(auto& walk) {
    walk("key", &FindCoordinatorRequest::key, until(3));
    walk("key_type", &FindCoordinatorRequest::key_type, since(1));
    walk("coordinator_keys", &FindCoordinatorRequest::coordinator_keys, since(4));
  }
};

struct FindCoordinatorResponse {
  struct Coordinator {
    std::string key{};
    std::int32_t node_id = 0;
    std::string host{};
    std::int32_t port = 0;
    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> error_message{};

    static void fields(auto& walk) {
      walk("key", &Coordinator::key);
      walk("node_id", &Coordinator::node_id);
      walk("host", &Coordinator::host);
      walk("port", &Coordinator::port);
      walk("error_code", &Coordinator::error_code);
      walk("error_message", &Coordinator::error_message);
    }
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> error_message{};
  std::int32_t node_id = 0;
  std::string host{};
  std::int32_t port = 0;
  std::vector<Coordinator> coordinators{};

  static constexpr const Api& api = kFindCoordinatorApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &FindCoordinatorResponse::throttle_time_ms, since(1));
    walk("error_code", &FindCoordinatorResponse::error_code, until(3));
    walk("error_message", &FindCoordinatorResponse::error_message, between(1, 3));
    walk("node_id", &FindCoordinatorResponse::node_id, until(3));
    walk("host", &FindCoordinatorResponse::host, until(3));
    walk("port", &FindCoordinatorResponse::port, until(3));
    walk("coordinators", &FindCoordinatorResponse::coordinators, since(4));
  }
};

}  // namespace lastword
