// SPDX-License-Identifier: Apache-2.0
// Appends record batches to partitions. Key 0.
//
// Threads   plain data.
// Lifetime  records point into the frame they were decoded from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/error_code.h"
#include "protocol/messages/apis.h"
#include "protocol/messages/common.h"

namespace lastword {

struct ProduceRequest {
  struct Topic {
    struct Partition {
      std::int32_t index = 0;
      std::optional<RecordsField> records{};

      static void fields(auto& walk) {
        walk("index", &Partition::index);
        walk("records", &Partition::records);
      }
    };

    std::string name{};
    std::vector<Partition> partition_data{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("partition_data", &Topic::partition_data);
    }
  };

  std::optional<std::string> transactional_id{};
  std::int16_t acks = -1;
  std::int32_t timeout_ms = 0;
  std::vector<Topic> topic_data{};

  static constexpr const Api& api = kProduceApi;
  static void fields(auto& walk) {
    walk("transactional_id", &ProduceRequest::transactional_id);
    walk("acks", &ProduceRequest::acks);
    walk("timeout_ms", &ProduceRequest::timeout_ms);
    walk("topic_data", &ProduceRequest::topic_data);
  }
};

struct ProduceResponse {
  struct Topic {
    struct Partition {
      struct RecordError {
        std::int32_t batch_index = 0;
        std::optional<std::string> batch_index_error_message{};

        static void fields(auto& walk) {
          walk("batch_index", &RecordError::batch_index);
          walk("batch_index_error_message", &RecordError::batch_index_error_message);
        }
      };

      std::int32_t index = 0;
      ErrorCode error_code = ErrorCode::kNone;
      std::int64_t base_offset = -1;
      std::int64_t log_append_time_ms = -1;
      std::int64_t log_start_offset = -1;
      std::vector<RecordError> record_errors{};
      std::optional<std::string> error_message{};
      std::optional<LeaderIdAndEpoch> current_leader{};

      static void fields(auto& walk) {
        walk("index", &Partition::index);
        walk("error_code", &Partition::error_code);
        walk("base_offset", &Partition::base_offset);
        walk("log_append_time_ms", &Partition::log_append_time_ms);
        walk("log_start_offset", &Partition::log_start_offset, since(5));
        walk("record_errors", &Partition::record_errors, since(8));
        walk("error_message", &Partition::error_message, since(8));
        walk("current_leader", &Partition::current_leader, since(10), tag(0));
      }
    };

    std::string name{};
    std::vector<Partition> partition_responses{};

    static void fields(auto& walk) {
      walk("name", &Topic::name);
      walk("partition_responses", &Topic::partition_responses);
    }
  };

  std::vector<Topic> responses{};
  std::int32_t throttle_time_ms = 0;
  std::vector<NodeEndpoint> node_endpoints{};

  static constexpr const Api& api = kProduceApi;
  static void fields(auto& walk) {
    walk("responses", &ProduceResponse::responses);
    walk("throttle_time_ms", &ProduceResponse::throttle_time_ms);
    walk("node_endpoints", &ProduceResponse::node_endpoints, since(10), tag(0));
  }
};

}  // namespace lastword
