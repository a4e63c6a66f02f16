// SPDX-License-Identifier: Apache-2.0
// Topics: list, create, delete, describe, settings; and offsets by time.
//
// Threads   one at a time.
// Lifetime  the Link outlives it. Retriable answers (a log that is still being opened) are tried
//           again for some seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/link.h"
#include "protocol/messages/extensions.h"
#include "protocol/messages/metadata.h"
#include "protocol/record_batch.h"

namespace lastword::client {

struct PartitionInfo {
  std::int32_t index = 0;
  std::int32_t leader_epoch = -1;
  std::optional<PartitionStatus> status{};  // only if asked for, and only from lastwordd
};

struct TopicInfo {
  std::string name{};
  Uuid id{};  // zero: the broker does not tell ids
  bool internal = false;
  std::vector<PartitionInfo> partitions{};  // by index
};

struct TopicToCreate {
  std::string name{};
  std::int32_t partitions = -1;                                // -1: the broker's default
  std::vector<std::pair<std::string, std::string>> configs{};  // in Kafka's names
};

struct TopicSetting {
  std::string name{};
  std::optional<std::string> value{};
  std::string source{};  // in words
  bool is_default = false;
};

/// Where a timestamp, or an end of the log, is in one partition.
struct OffsetAnswer {
  Offset offset = -1;  // -1: no record that late
  TimestampMs timestamp = -1;
  std::int32_t leader_epoch = -1;
  std::optional<std::int64_t> removed_tombstone_mark{};  // only if asked for; from lastwordd
};
inline constexpr TimestampMs kLatest = -1;
inline constexpr TimestampMs kEarliest = -2;

class Admin {
 public:
  explicit Admin(Link& link) : link_(link) {}

  /// All topics, by name.
  Result<std::vector<TopicInfo>> list_topics();
  /// kUnknownTopic, saying how to create it, if there is none.
  Result<TopicInfo> topic(const std::string& name, bool with_status = false);
  /// The same, but a broker with auto_create_topics makes a topic that is not there.
  Result<TopicInfo> topic_to_write(const std::string& name);
  Result<TopicInfo> create_topic(const TopicToCreate& topic);
  Result<> delete_topic(const std::string& name);
  Result<std::vector<TopicSetting>> topic_settings(const std::string& name);
  /// The topic's cleanup.policy; empty if the broker does not tell.
  std::string cleanup_policy(const std::string& name);

  struct OffsetQuery {
    TimestampMs timestamp = kLatest;  // or kEarliest, or a time: the first record at or after it
    bool want_removed_tombstone_mark = false;
  };
  /// By partition.
  Result<std::map<std::int32_t, OffsetAnswer>> offsets(const std::string& topic,
                                                       std::span<const std::int32_t> partitions,
                                                       const OffsetQuery& query);

  /// Where `epoch` ends: its own number, or that of the last one before it that is in the log, and
  /// the first offset behind. Both -1 when the broker does not know it.
  struct EpochEnd {
    std::int32_t epoch = -1;
    Offset end_offset = -1;
  };
  Result<EpochEnd> end_of_epoch(const std::string& topic, std::int32_t partition,
                                std::int32_t epoch);

 private:
  Result<TopicInfo> look_up(const MetadataRequest& request);

  Link& link_;
};

}  // namespace lastword::client
