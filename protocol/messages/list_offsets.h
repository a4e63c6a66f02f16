// SPDX-License-Identifier: Apache-2.0
// Offsets by timestamp, or earliest and latest. Key 2.
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
#include "protocol/messages/extensions.h"

namespace lastword {

struct ListOffsetsRequest {
  struct Topic {
    struct Partition {
      std::int32_t partition_index = 0;
      std::int32_t current_leader_epoch = -1;
      std::int64_t timestamp = 0;

      static void fields(auto& walk) {
        walk("partition_index", &Partition::partition_index);
        walk("current_leader_epoch", &Partition::current_leader_epoch, since(4));
        walk("timestamp", &Partition::timestamp);
      }
    };

    std::string name{};
    std::vector<Partition> partitions{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("partitions", &Topic::partitions);
    }
  };

  std::int32_t replica_id = -1;
  std::int8_t isolation_level = 0;
  std::vector<Topic> topics{};
  std::int32_t timeout_ms = 0;
  bool want_removed_tombstone_mark = false;  // our own, see EXTENSIONS.md

  static constexpr const Api& api = kListOffsetsApi;
  static void fields(auto& walk) {
    walk("replica_id", &ListOffsetsRequest::replica_id);
    walk("isolation_level", &ListOffsetsRequest::isolation_level, since(2));
    walk("topics", &ListOffsetsRequest::topics);
    walk("timeout_ms", &ListOffsetsRequest::timeout_ms, since(10));
    walk("want_removed_tombstone_mark", &ListOffsetsRequest::want_removed_tombstone_mark, since(6),
         tag(kRemovedTombstoneMarkTag));
  }
};

struct ListOffsetsResponse {
  struct Topic {
    struct Partition {
      std::int32_t partition_index = 0;
      ErrorCode error_code = ErrorCode::kNone;
      std::int64_t timestamp = -1;
      std::int64_t offset = -1;
      std::int32_t leader_epoch = -1;
      std::optional<std::int64_t> removed_tombstone_mark{};  // our own, see EXTENSIONS.md

      static void fields(auto& walk) {
        walk("partition_index", &Partition::partition_index);
        walk("error_code", &Partition::error_code);
        walk("timestamp", &Partition::timestamp);
        walk("offset", &Partition::offset);
        walk("leader_epoch", &Partition::leader_epoch, since(4));
        walk("removed_tombstone_mark", &Partition::removed_tombstone_mark, since(6),
             tag(kRemovedTombstoneMarkTag));
      }
    };

    std::string name{};
    std::vector<Partition> partitions{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("partitions", &Topic::partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Topic> topics{};

  static constexpr const Api& api = kListOffsetsApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &ListOffsetsResponse::throttle_time_ms, since(2));
    walk("topics", &ListOffsetsResponse::topics);
  }
};

}  // namespace lastword
