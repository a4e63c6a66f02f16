// SPDX-License-Identifier: Apache-2.0
// Reads record batches from partitions. Key 1.
//
// Threads   plain data.
// Lifetime  records point into the frame they were decoded from.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/apis.h"
#include "protocol/messages/common.h"
#include "protocol/messages/extensions.h"

namespace lastword {

// Tags of followers and of partitions that moved; not used on one node.
struct ReplicaState {
  std::int32_t replica_id = -1;
  std::int64_t replica_epoch = -1;

  static void fields(auto& walk) {
    walk("replica_id", &ReplicaState::replica_id);
    walk("replica_epoch", &ReplicaState::replica_epoch);
  }
};

struct EpochEndOffset {
  std::int32_t epoch = -1;
  std::int64_t end_offset = -1;

  static void fields(auto& walk) {
    walk("epoch", &EpochEndOffset::epoch);
    walk("end_offset", &EpochEndOffset::end_offset);
  }
};

struct SnapshotId {
  std::int64_t end_offset = -1;
  std::int32_t epoch = -1;

  static void fields(auto& walk) {
    walk("end_offset", &SnapshotId::end_offset);
    walk("epoch", &SnapshotId::epoch);
  }
};

struct FetchRequest {
  struct Topic {
    struct Partition {
      std::int32_t partition = 0;
      std::int32_t current_leader_epoch = -1;
      std::int64_t fetch_offset = 0;
      std::int32_t last_fetched_epoch = -1;
      std::int64_t log_start_offset = -1;
      std::int32_t partition_max_bytes = 0;
      Uuid replica_directory_id{};

      static void fields(auto& walk) {
        walk("partition", &Partition::partition);
        walk("current_leader_epoch", &Partition::current_leader_epoch, since(9));
        walk("fetch_offset", &Partition::fetch_offset);
        walk("last_fetched_epoch", &Partition::last_fetched_epoch, since(12));
        walk("log_start_offset", &Partition::log_start_offset, since(5));
        walk("partition_max_bytes", &Partition::partition_max_bytes);
        walk("replica_directory_id", &Partition::replica_directory_id, since(17), tag(0));
      }
    };

    std::string topic{};
    Uuid topic_id{};
    std::vector<Partition> partitions{};

    static void fields(auto& walk) {
      walk("topic", &Topic::topic, until(12));
      walk("topic_id", &Topic::topic_id, since(13));
      walk("partitions", &Topic::partitions);
    }
  };

  struct ForgottenTopic {
    std::string topic{};
    Uuid topic_id{};
    std::vector<std::int32_t> partitions{};

    static void fields(auto& walk) {
      walk("topic", &ForgottenTopic::topic, between(7, 12));
      walk("topic_id", &ForgottenTopic::topic_id, since(13));
      walk("partitions", &ForgottenTopic::partitions);
    }
  };

  std::optional<std::string> cluster_id{};
  std::int32_t replica_id = -1;
  std::optional<ReplicaState> replica_state{};
  std::int32_t max_wait_ms = 0;
  std::int32_t min_bytes = 0;
  std::int32_t max_bytes = std::numeric_limits<std::int32_t>::max();
  std::int8_t isolation_level = 0;
  std::int32_t session_id = 0;
  std::int32_t session_epoch = -1;
  std::vector<Topic> topics{};
  std::vector<ForgottenTopic> forgotten_topics_data{};
  std::string rack_id{};
  bool want_removed_tombstone_mark = false;  // our own, see EXTENSIONS.md

  static constexpr const Api& api = kFetchApi;
  static void fields(auto& walk) {
    walk("cluster_id", &FetchRequest::cluster_id, since(12), tag(0));
    walk("replica_id", &FetchRequest::replica_id, until(14));
    walk("replica_state", &FetchRequest::replica_state, since(15), tag(1));
    walk("max_wait_ms", &FetchRequest::max_wait_ms);
    walk("min_bytes", &FetchRequest::min_bytes);
    walk("max_bytes", &FetchRequest::max_bytes);
    walk("isolation_level", &FetchRequest::isolation_level);
    walk("session_id", &FetchRequest::session_id, since(7));
    walk("session_epoch", &FetchRequest::session_epoch, since(7));
    walk("topics", &FetchRequest::topics);
    walk("forgotten_topics_data", &FetchRequest::forgotten_topics_data, since(7));
    walk("rack_id", &FetchRequest::rack_id, since(11));
    walk("want_removed_tombstone_mark", &FetchRequest::want_removed_tombstone_mark, since(12),
         tag(kRemovedTombstoneMarkTag));
  }
};

struct FetchResponse {
  struct Topic {
    struct Partition {
      struct AbortedTransaction {
        std::int64_t producer_id = 0;
        std::int64_t first_offset = 0;

        static void fields(auto& walk) {
          walk("producer_id", &AbortedTransaction::producer_id);
          walk("first_offset", &AbortedTransaction::first_offset);
        }
      };

      std::int32_t partition_index = 0;
      ErrorCode error_code = ErrorCode::kNone;
      std::int64_t high_watermark = -1;
      std::int64_t last_stable_offset = -1;
      std::int64_t log_start_offset = -1;
      std::optional<EpochEndOffset> diverging_epoch{};
      std::optional<LeaderIdAndEpoch> current_leader{};
      std::optional<SnapshotId> snapshot_id{};
      std::optional<std::vector<AbortedTransaction>> aborted_transactions{};
      std::int32_t preferred_read_replica = -1;
      RecordsField records{};  // never null: some clients take that for an error
      std::optional<std::int64_t> removed_tombstone_mark{};  // our own, see EXTENSIONS.md

      static void fields(auto& walk) {
        walk("partition_index", &Partition::partition_index);
        walk("error_code", &Partition::error_code);
        walk("high_watermark", &Partition::high_watermark);
        walk("last_stable_offset", &Partition::last_stable_offset);
        walk("log_start_offset", &Partition::log_start_offset, since(5));
        walk("diverging_epoch", &Partition::diverging_epoch, since(12), tag(0));
        walk("current_leader", &Partition::current_leader, since(12), tag(1));
        walk("snapshot_id", &Partition::snapshot_id, since(12), tag(2));
        walk("aborted_transactions", &Partition::aborted_transactions);
        walk("preferred_read_replica", &Partition::preferred_read_replica, since(11));
        walk("records", &Partition::records);
        walk("removed_tombstone_mark", &Partition::removed_tombstone_mark, since(12),
             tag(kRemovedTombstoneMarkTag));
      }
    };

    std::string topic{};
    Uuid topic_id{};
    std::vector<Partition> partitions{};

    static void fields(auto& walk) {
      walk("topic", &Topic::topic, until(12));
      walk("topic_id", &Topic::topic_id, since(13));
      walk("partitions", &Topic::partitions);
    }
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::int32_t session_id = 0;
  std::vector<Topic> responses{};
  std::vector<NodeEndpoint> node_endpoints{};

  static constexpr const Api& api = kFetchApi;
  static void fields(auto& walk) {
    walk("throttle_time_ms", &FetchResponse::throttle_time_ms);
    walk("error_code", &FetchResponse::error_code, since(7));
    walk("session_id", &FetchResponse::session_id, since(7));
    walk("responses", &FetchResponse::responses);
    walk("node_endpoints", &FetchResponse::node_endpoints, since(16), tag(0));
  }
};

}  // namespace lastword
