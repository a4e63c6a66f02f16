// SPDX-License-Identifier: Apache-2.0
// Reads the partitions of one topic, each from an offset of its own.
//
// Purpose   fetches, checks checksums, unpacks, and steps over what compaction left out: after each
//           batch the position is its last offset + 1, whether or not it holds a record.
// Threads   one at a time.
// Lifetime  the Link outlives it. What poll() returns is the caller's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "client/admin.h"
#include "client/link.h"
#include "client/record.h"
#include "protocol/messages/fetch.h"

namespace lastword::client {

/// What one fetch found in one partition: records, or an error and a position that has not moved.
struct PartitionChunk {
  std::int32_t partition = 0;
  /// kNone, or one of those that a caller has to act on: kOffsetOutOfRange, kFencedLeaderEpoch,
  /// kUnknownLeaderEpoch; (topic deleted, perhaps made again) kUnknownTopicOrPartition,
  /// kUnknownTopicId, kInconsistentTopicId; and kCorruptMessage, when `unreadable` is set.
  ErrorCode error = ErrorCode::kNone;
  /// Why the batch at the position cannot be read: it is damaged, or larger than batch_bytes_max.
  /// Names partition and offset. What came before that batch was in earlier chunks.
  std::optional<Error> unreadable{};
  Offset from = 0;  // the position that was asked for
  Offset next = 0;  // the position now
  Offset high_watermark = -1;
  Offset log_start = -1;
  std::int32_t leader_epoch = -1;                        // of the last batch read; -1: none was
  std::optional<std::int64_t> removed_tombstone_mark{};  // only if wanted; from lastwordd
  std::vector<ConsumedRecord> records{};
};

class Consumer {
 public:
  struct Options {
    std::chrono::milliseconds wait_max{500};  // for the first new record
    std::int32_t fetch_bytes_max = 16 << 20;  // one answer
    std::int32_t partition_bytes_max = 4 << 20;
    std::size_t batch_bytes_max = 256u << 20;  // one batch, unpacked
    std::size_t memory_bytes_max = 64u << 20;  // records that one poll() returns, about
    bool want_removed_tombstone_mark = false;
  };

  Consumer(Link& link, TopicInfo topic, const Options& options)
      : link_(link), topic_(std::move(topic)), options_(options) {}

  /// Reads `partition` from `offset` on. `epoch` is that of the leader as far as it is known; the
  /// broker then refuses to answer if it has another (-1: any will do).
  void seek(std::int32_t partition, Offset offset, std::int32_t epoch = -1);
  void remove(std::int32_t partition) { positions_.erase(partition); }
  Offset position(std::int32_t partition) const { return positions_.at(partition).offset; }

  /// Fetches once and moves the positions. Chunks come only for partitions that were answered; all
  /// may be without records, after wait_max. Retriable failures are tried again for some seconds,
  /// the connection is opened again if it was lost. An Error moves no position.
  Result<std::vector<PartitionChunk>> poll();
  void set_wait_max(std::chrono::milliseconds wait_max) { options_.wait_max = wait_max; }

  const TopicInfo& topic() const { return topic_; }

 private:
  struct Position {
    Offset offset = 0;
    std::int32_t epoch = -1;
  };
  FetchRequest request();
  std::vector<PartitionChunk> take(const FetchResponse& response);
  void read_records(ByteView batches, PartitionChunk& chunk);
  Result<> read_batch(ByteView batch, const BatchHeader& header, PartitionChunk& chunk);
  Error at_offset(const PartitionChunk& chunk, const Error& error) const;

  Link& link_;
  TopicInfo topic_;
  Options options_;
  std::map<std::int32_t, Position> positions_{};
  std::int32_t first_asked_ = 0;  // takes turns, so that none starves
  std::size_t memory_bytes_ = 0;
  Bytes scratch_{};
};

}  // namespace lastword::client
