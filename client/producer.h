// SPDX-License-Identifier: Apache-2.0
// Sends records to one topic: gathered into batches by partition, several requests on their way at
// once, and by default idempotent: what has to be sent again after a lost connection is stored
// once.
//
// Purpose   each record is reported once, as stored (with its offset) or as refused (with the
//           broker's reason). Records of a partition keep the order in which they were sent.
// Threads   one at a time; nothing happens between calls, so call poll() while waiting for input.
// Lifetime  records that were not flushed are lost with the producer.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/batch_queue.h"
#include "client/link.h"
#include "client/record.h"
#include "protocol/messages/produce.h"

namespace lastword::client {

enum class Acks : std::int16_t { kAll = -1, kNone = 0, kLeader = 1 };

/// What became of one batch. Records are numbered from 0 in the order of send().
struct Delivery {
  struct RefusedRecord {
    std::uint64_t number = 0;
    std::string text{};
  };
  std::int32_t partition = 0;
  std::vector<std::uint64_t> numbers{};
  Offset base_offset = -1;  // of the first; -1 if it is not known (acks 0, some duplicates)
  std::optional<Error> error{};
  std::vector<RefusedRecord> refused{};  // the ones to blame, where the broker names them
};

class Producer {
 public:
  struct Options {
    BatchQueue::Limits batch{};
    Acks acks = Acks::kAll;
    bool idempotent = true;         // needs Acks::kAll, else it is off
    std::size_t in_flight_max = 5;  // requests; 1 unless idempotent, to keep the order
    std::size_t request_bytes_max = 1 << 20;
    std::chrono::milliseconds delivery_timeout{120'000};  // from send() to the last attempt
    std::function<void(const Delivery&)> on_delivery{};
  };

  /// Looks the topic up; a broker with auto_create_topics makes it, else kUnknownTopic if there is
  /// none.
  static Result<std::unique_ptr<Producer>> open(const ConnectionSetup& setup,
                                                const std::string& topic, Options options);
  ~Producer();

  /// Takes the record in; sends what is full. Blocks while in_flight_max requests are unanswered,
  /// and in an idempotent producer between the first batch to a partition and the second.
  /// An Error is final: the producer is of no more use.
  Result<> send(const Record& record);
  /// Reports the answers that have come, and sends batches whose linger time is over. Waits for no
  /// answer but where send() would.
  Result<> poll();
  /// Sends everything and returns when every record was reported.
  Result<> flush();

  std::int32_t partition_count() const { return partition_count_; }
  std::int64_t producer_id() const { return producer_id_; }

 private:
  struct Request {
    Connection::Sent sent{};
    std::vector<OutgoingBatch> batches{};
  };
  Producer(const ConnectionSetup& setup, std::string topic, Options options);
  Result<> begin();
  Result<> begin_idempotence();
  std::int32_t choose_partition(const Record& record) const;

  // Out of the queue into requests. What goes wrong ends in again_ or in failure_.
  Result<> send_overdue();
  Result<> pump();
  bool has_to_wait(const OutgoingBatch& batch) const;
  Request next_request();
  void send_some();
  Result<> connect();
  void connection_lost(const Error& error);
  void requeue();

  // Answers into reports.
  void receive_one();
  void settle(OutgoingBatch&& batch, const ProduceResponse::Topic::Partition& answer);
  void refuse(OutgoingBatch&& batch, const ProduceResponse::Topic::Partition& answer);
  void send_in_halves(const OutgoingBatch& batch);
  void renumber_from(const OutgoingBatch& refused);
  void report_stored(const OutgoingBatch& batch, Offset base_offset);
  void give_up(const Error& error);

  const std::string topic_;
  const Options options_;
  const bool idempotent_;
  Link link_;
  Connection* connection_ = nullptr;  // that in_flight_ went over
  BatchQueue queue_;
  std::int32_t partition_count_ = 0;
  std::int64_t producer_id_ = kNoProducerId;
  std::int16_t producer_epoch_ = -1;
  std::map<std::int32_t, std::int32_t> next_sequences_{};
  std::set<std::int32_t> begun_{};  // partitions in which a batch of this producer was stored
  std::deque<Request> in_flight_{};
  std::deque<OutgoingBatch> again_{};  // to be sent again once nothing is in flight
  bool moved_up_ = false;  // batches in flight have lost their numbers, and will come again
  std::optional<Error> retry_cause_{};
  std::chrono::milliseconds pause_{};
  std::uint64_t next_number_ = 0;
  std::int32_t sticky_partition_ = 0;  // of records without a key, until its batch is full
  std::optional<Error> failure_{};
};

}  // namespace lastword::client
