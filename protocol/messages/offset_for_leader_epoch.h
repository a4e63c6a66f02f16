// SPDX-License-Identifier: Apache-2.0
// Where a leader epoch ends. Key 23.
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

struct OffsetForLeaderEpochRequest {
  struct Topic {
    struct Partition {
      std::int32_t partition = 0;
      std::int32_t current_leader_epoch = -1;
      std::int32_t leader_epoch = 0;

      static void fields(auto& walk) {
        walk("partition", &Partition::partition);
        walk("current_leader_epoch", &Partition::current_leader_epoch);
        walk("leader_epoch", &Partition::leader_epoch);
      }
    };

    std::string topic{};
    std::vector<Partition> partitions{};

    static void fields(auto& walk) {
      walk("topic", &Topic::topic);
      walk("partitions", &Topic::partitions);
    }
  };

  std::int32_t replica_id = -2;
  std::vector<Topic> topics{};

  static constexpr const Api& api = kOffsetForLeaderEpochApi;
  static void fields(auto& walk) {
    walk("replica_id", &OffsetForLeaderEpochRequest::replica_id, since(3));
    walk("topics", &OffsetForLeaderEpochRequest::topics);
  }
};

struct OffsetForLeaderEpochResponse {
  struct Topic {
    struct Partition {
      ErrorCode error_code = ErrorCode::kNone;
      std::int32_t partition = 0;
      std::int32_t leader_epoch = -1;
      std::int64_t end_offset = -1;

      static void fields(auto& walk) {
        walk("error_code", &Partition::error_code);
        walk("partition", &Partition::partition);
        walk("leader_epoch", &Partition::leader_epoch);
        walk("end_offset", &Partition::end_offset);
      }
    };

    std::string topic{};
    std::vector<Partition> partitions{};

    static void fields(auto& walk) {
      walk("topic", &Topic::topic);
      walk("partitions", &Topic::partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics{};

  static constexpr const Api& api = kOffsetForLeaderEpochApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &OffsetForLeaderEpochResponse::throttle_time_ms);
    walk("topics", &OffsetForLeaderEpochResponse::topics);
  }
};

}  // namespace lastword
