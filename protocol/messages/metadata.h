// SPDX-License-Identifier: Apache-2.0
// Where brokers, topics and partitions are. Key 3.
//
// Threads   plain data.
// Lifetime  owns what it holds.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/apis.h"
#include "protocol/messages/extensions.h"

namespace lastword {

struct MetadataRequest {
  struct Topic {
    Uuid topic_id{};
    std::optional<std::string> name{};

    static void fields(auto& walk) {
      walk("topic_id", &Topic::topic_id, since(10));
      walk("name", &Topic::name, nullable_since(10));
    }
  };

  std::optional<std::vector<Topic>> topics{};
  bool allow_auto_topic_creation = true;
  bool include_cluster_authorized_operations = false;
  bool include_topic_authorized_operations = false;
  bool want_partition_status = false;  // our own, see EXTENSIONS.md

  static constexpr const Api& api = kMetadataApi;
  static void fields(auto& walk) {
    walk("topics", &MetadataRequest::topics, nullable_since(1));
    walk("allow_auto_topic_creation", &MetadataRequest::allow_auto_topic_creation, since(4));
    walk("include_cluster_authorized_operations",
         &MetadataRequest::include_cluster_authorized_operations, between(8, 10));
    walk("include_topic_authorized_operations",
         &MetadataRequest::include_topic_authorized_operations, since(8));
    walk("want_partition_status", &MetadataRequest::want_partition_status, since(9),
         tag(kPartitionStatusTag));
  }
};

struct MetadataResponse {
  struct Broker {
    std::int32_t node_id = 0;
    std::string host{};
    std::int32_t port = 0;
    std::optional<std::string> rack{};

    static void fields(auto& walk) {
      walk("node_id", &Broker::node_id);
      walk("host", &Broker::host);
      walk("port", &Broker::port);
      walk("rack", &Broker::rack, since(1));
    }
  };

  struct Topic {
    struct Partition {
      ErrorCode error_code = ErrorCode::kNone;
      std::int32_t partition_index = 0;
      std::int32_t leader_id = 0;
      std::int32_t leader_epoch = -1;
      std::vector<std::int32_t> replica_nodes{};
      std::vector<std::int32_t> isr_nodes{};
      std::vector<std::int32_t> offline_replicas{};
      std::optional<PartitionStatus> partition_status{};  // our own, see EXTENSIONS.md

      static void fields(auto& walk) {
        walk("error_code", &Partition::error_code);
        walk("partition_index", &Partition::partition_index);
        walk("leader_id", &Partition::leader_id);
        walk("leader_epoch", &Partition::leader_epoch, since(7));
        walk("replica_nodes", &Partition::replica_nodes);
        walk("isr_nodes", &Partition::isr_nodes);
        walk("offline_replicas", &Partition::offline_replicas, since(5));
        walk("partition_status", &Partition::partition_status, since(9), tag(kPartitionStatusTag));
      }
    };

    ErrorCode error_code = ErrorCode::kNone;
    std::optional<std::string> name{};
    Uuid topic_id{};
    bool is_internal = false;
    std::vector<Partition> partitions{};
    std::int32_t topic_authorized_operations = std::numeric_limits<std::int32_t>::min();

    static void fields(auto& walk) {
      walk("error_code", &Topic::error_code);
      walk("name", &Topic::name, nullable_since(12));
      walk("topic_id", &Topic::topic_id, since(10));
      walk("is_internal", &Topic::is_internal, since(1));
      walk("partitions", &Topic::partitions);
      walk("topic_authorized_operations", &Topic::topic_authorized_operations, since(8));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Broker> brokers{};
  std::optional<std::string> cluster_id{};
  std::int32_t controller_id = -1;
  std::vector<Topic> topics{};
  std::int32_t cluster_authorized_operations = std::numeric_limits<std::int32_t>::min();

  static constexpr const Api& api = kMetadataApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &MetadataResponse::throttle_time_ms, since(3));
    walk("brokers", &MetadataResponse::brokers);
    walk("cluster_id", &MetadataResponse::cluster_id, since(2));
    walk("controller_id", &MetadataResponse::controller_id, since(1));
    walk("topics", &MetadataResponse::topics);
    walk("cluster_authorized_operations", &MetadataResponse::cluster_authorized_operations,
         between(8, 10));
  }
};

}  // namespace lastword
