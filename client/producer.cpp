// SPDX-License-Identifier: Apache-2.0
#include "client/producer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "client/admin.h"
#include "client/partitioner.h"
#include "protocol/messages/init_producer_id.h"

namespace lastword::client {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Answer = ProduceResponse::Topic::Partition;

constexpr milliseconds kBrokerTimeout{30'000};
constexpr milliseconds kPauseMin{50};
constexpr milliseconds kPauseMax{1000};

std::int32_t sequence_after(std::int32_t sequence, std::size_t records) {
  const auto sum = static_cast<std::uint32_t>(sequence) + static_cast<std::uint32_t>(records);
  return static_cast<std::int32_t>(sum & 0x7fffffffU);
}

const Answer* answer_of(const ProduceResponse& response, std::int32_t partition) {
  for (const auto& topic : response.responses) {
    for (const Answer& answer : topic.partition_responses) {
      if (answer.index == partition) return &answer;
    }
  }
  return nullptr;
}

}  // namespace

Producer::Producer(const ConnectionSetup& setup, std::string topic, Options options)
    : topic_(std::move(topic)),
      options_(std::move(options)),
      idempotent_(options_.idempotent && options_.acks == Acks::kAll),
      link_(setup),
      queue_(options_.batch) {}
Producer::~Producer() = default;

Result<std::unique_ptr<Producer>> Producer::open(const ConnectionSetup& setup,
                                                 const std::string& topic, Options options) {
  std::unique_ptr<Producer> producer(new Producer(setup, topic, std::move(options)));
  LW_TRY(producer->begin());
  return producer;
}

Result<> Producer::begin() {
  const auto topic = Admin(link_).topic_to_write(topic_);
  if (!topic) return topic.error();
  partition_count_ = static_cast<std::int32_t>(topic->partitions.size());
  if (partition_count_ == 0) {
    return Error{ErrorKind::kUnknownTopic, "topic " + topic_ + " has no partitions"};
  }
  return idempotent_ ? begin_idempotence() : Result<>();
}

Result<> Producer::begin_idempotence() {
  for (Retries retries;;) {
    auto response = link_.call<InitProducerIdResponse>(InitProducerIdRequest{});
    if (!response) return response.error();
    if (response->error_code == ErrorCode::kNone) {
      producer_id_ = response->producer_id;
      producer_epoch_ = response->producer_epoch;
      return {};
    }
    if (!is_retriable(response->error_code) || !retries.again()) {
      return broker_error("cannot get a producer id", response->error_code);
    }
  }
}

std::int32_t Producer::choose_partition(const Record& record) const {
  if (record.partition) return *record.partition;
  return record.key ? partition_of_key(*record.key, partition_count_) : sticky_partition_;
}

Result<> Producer::send(const Record& record) {
  if (failure_) return *failure_;
  const std::int32_t partition = choose_partition(record);
  if (partition < 0 || partition >= partition_count_) {
    return Error{ErrorKind::kInvalidPartitions, "topic " + topic_ + " has partitions 0 to " +
                                                    std::to_string(partition_count_ - 1) +
                                                    ", not " + std::to_string(partition)};
  }
  const auto closed = queue_.add(partition, record, next_number_++);
  if (!closed) return closed.error();
  if (*closed && partition == sticky_partition_) {
    sticky_partition_ = (sticky_partition_ + 1) % partition_count_;
  }
  return send_overdue();
}

Result<> Producer::poll() {
  while (!in_flight_.empty() && connection_->readable()) receive_one();
  if (failure_) return *failure_;
  return send_overdue();
}

Result<> Producer::send_overdue() {
  LW_TRY(queue_.close_overdue(steady_clock::now()));
  return pump();
}

Result<> Producer::flush() {
  if (failure_) return *failure_;
  LW_TRY(queue_.close_all());
  for (;;) {
    LW_TRY(pump());
    if (in_flight_.empty() && again_.empty()) return {};
    if (!in_flight_.empty()) receive_one();
    if (failure_) return *failure_;
  }
}

Result<> Producer::pump() {
  while (!queue_.ready().empty() || !again_.empty()) {
    if (!again_.empty() || moved_up_) {
      // What comes behind a batch that has to be sent again would be out of order.
      while (!in_flight_.empty()) receive_one();
      requeue();
    }
    const std::size_t in_flight_max = idempotent_ ? options_.in_flight_max : 1;
    const auto& ready = queue_.ready();
    if (in_flight_.size() >= in_flight_max || (!ready.empty() && has_to_wait(ready.front()))) {
      receive_one();
    } else if (!ready.empty()) {
      send_some();
    }
    if (failure_) return *failure_;
  }
  return {};
}

// The broker takes any number from a producer that it does not know in this partition. Until it has
// stored a batch there, one that follows a refused one would be stored in its place, and what is
// sent again of that would come too late. So the first goes alone.
bool Producer::has_to_wait(const OutgoingBatch& batch) const {
  if (!idempotent_ || begun_.contains(batch.partition)) return false;
  return std::ranges::any_of(in_flight_, [&](const Request& request) {
    return std::ranges::any_of(request.batches, [&](const OutgoingBatch& other) {
      return other.partition == batch.partition;
    });
  });
}

Producer::Request Producer::next_request() {
  Request request;
  std::size_t bytes = 0;
  auto& ready = queue_.ready();
  while (!ready.empty()) {
    OutgoingBatch& batch = ready.front();
    bytes += batch.bytes.size();
    const bool again = std::ranges::any_of(request.batches, [&](const OutgoingBatch& other) {
      return other.partition == batch.partition;
    });
    if (!request.batches.empty() && (again || bytes > options_.request_bytes_max)) break;
    if (has_to_wait(batch)) break;
    if (idempotent_ && batch.base_sequence < 0) {
      std::int32_t& next = next_sequences_[batch.partition];
      batch.base_sequence = next;
      next = sequence_after(next, batch.numbers.size());
      stamp_producer(batch, producer_id_, producer_epoch_);
    }
    request.batches.push_back(std::move(batch));
    ready.pop_front();
  }
  return request;
}

void Producer::send_some() {
  Request request = next_request();
  ProduceRequest message{.acks = static_cast<std::int16_t>(options_.acks),
                         .timeout_ms = static_cast<std::int32_t>(kBrokerTimeout.count()),
                         .topic_data = {{.name = topic_}}};
  for (const OutgoingBatch& batch : request.batches) {
    message.topic_data.front().partition_data.push_back(
        {.index = batch.partition, .records = RecordsField{ByteView(batch.bytes)}});
  }
  Result<> sent = connect();
  if (sent) {
    const auto version = connection_->version(kProduceApi);
    const auto written =
        version ? connection_->send(message, *version) : Result<Connection::Sent>(version.error());
    if (written) {
      request.sent = *written;
    } else {
      sent = written.error();
    }
  }
  in_flight_.push_back(std::move(request));
  if (!sent) return connection_lost(sent.error());
  if (options_.acks != Acks::kNone) return;
  for (const OutgoingBatch& batch : in_flight_.back().batches) report_stored(batch, -1);
  in_flight_.pop_back();
}

// Answers come over the connection that their requests went, so it changes only between them.
Result<> Producer::connect() {
  if (!in_flight_.empty()) return {};
  const auto open = link_.connection();
  if (!open) return open.error();
  connection_ = *open;
  return {};
}

void Producer::receive_one() {
  const auto response =
      connection_->receive<ProduceResponse>(in_flight_.front().sent, kBrokerTimeout);
  if (!response) return connection_lost(response.error());
  Request request = std::move(in_flight_.front());
  in_flight_.pop_front();
  pause_ = milliseconds(0);
  for (OutgoingBatch& batch : request.batches) {
    if (const Answer* answer = answer_of(*response, batch.partition)) {
      settle(std::move(batch), *answer);
    } else {
      settle(std::move(batch), {.error_code = ErrorCode::kUnknownServerError});
    }
  }
  if (failure_) give_up(Error(*failure_));  // what came behind the batch that ended it
}

void Producer::settle(OutgoingBatch&& batch, const Answer& answer) {
  const ErrorCode code = answer.error_code;
  if (code == ErrorCode::kNone) return report_stored(batch, answer.base_offset);
  if (code == ErrorCode::kDuplicateSequenceNumber) return report_stored(batch, -1);
  const bool behind_another =
      idempotent_ &&
      (batch.base_sequence < 0 || std::ranges::any_of(again_, [&](const OutgoingBatch& other) {
         return other.partition == batch.partition;
       }));
  if (code == ErrorCode::kOutOfOrderSequenceNumber && behind_another) {
    again_.push_back(std::move(batch));
  } else if (is_retriable(code) && code != ErrorCode::kUnknownTopicOrPartition) {
    batch.outcome_unknown = true;  // it may have been written, but not synced
    retry_cause_ =
        broker_error("cannot write to " + topic_, code, answer.error_message.value_or(""));
    again_.push_back(std::move(batch));
  } else if (code == ErrorCode::kMessageTooLarge && batch.numbers.size() > 1 &&
             !batch.outcome_unknown) {
    send_in_halves(batch);
  } else {
    refuse(std::move(batch), answer);
  }
}

void Producer::send_in_halves(const OutgoingBatch& batch) {
  auto halves = split(batch, options_.batch.compression);
  if (!halves) return give_up(halves.error());
  if (idempotent_) renumber_from(batch);
  for (OutgoingBatch& half : *halves) again_.push_back(std::move(half));
}

void Producer::refuse(OutgoingBatch&& batch, const Answer& answer) {
  Delivery delivery{.partition = batch.partition,
                    .numbers = batch.numbers,
                    .error = broker_error(topic_ + " partition " + std::to_string(batch.partition) +
                                              " refused records",
                                          answer.error_code, answer.error_message.value_or(""))};
  for (const auto& record : answer.record_errors) {
    const auto index = static_cast<std::size_t>(record.batch_index);
    if (index >= batch.numbers.size()) continue;
    delivery.refused.push_back(
        {batch.numbers[index], record.batch_index_error_message.value_or("")});
  }
  if (options_.on_delivery) options_.on_delivery(delivery);
  if (idempotent_) renumber_from(batch);
  // Once the first try's fate is unknown, nobody can say which number is next.
  if (idempotent_ && batch.outcome_unknown) give_up(*delivery.error);
}

// Those that follow in this partition move up: the broker knows the producer there (has_to_wait()
// sees to it), so it still waits for the first number of the refused batch and has taken none.
void Producer::renumber_from(const OutgoingBatch& refused) {
  if (refused.base_sequence < 0) return;  // one before it was refused, and this one moved up
  next_sequences_[refused.partition] = refused.base_sequence;
  for (Request& request : in_flight_) {
    for (OutgoingBatch& batch : request.batches) {
      if (batch.partition != refused.partition) continue;
      batch.base_sequence = -1;
      moved_up_ = true;
    }
  }
}

void Producer::connection_lost(const Error& error) {
  for (Request& request : in_flight_) {
    for (OutgoingBatch& batch : request.batches) {
      batch.outcome_unknown = batch.outcome_unknown || batch.base_sequence >= 0;
      again_.push_back(std::move(batch));
    }
  }
  in_flight_.clear();
  retry_cause_ = error;
  connection_ = nullptr;
  link_.drop();
}

// Puts back in line what has to be sent again, in its old order, after a pause.
void Producer::requeue() {
  const auto now = steady_clock::now();
  for (const OutgoingBatch& batch : again_) {
    if (batch.created + options_.delivery_timeout > now) continue;
    return give_up(retry_cause_.value_or(
        Error{ErrorKind::kOutOfOrderSequence, "the broker does not take the records in order"}));
  }
  std::this_thread::sleep_for(pause_);
  pause_ = std::clamp(pause_ * 2, kPauseMin, kPauseMax);
  auto& ready = queue_.ready();
  ready.insert(ready.begin(), std::make_move_iterator(again_.begin()),
               std::make_move_iterator(again_.end()));
  again_.clear();
  moved_up_ = false;
}

void Producer::report_stored(const OutgoingBatch& batch, Offset base_offset) {
  if (idempotent_) begun_.insert(batch.partition);
  if (!options_.on_delivery) return;
  options_.on_delivery(
      {.partition = batch.partition, .numbers = batch.numbers, .base_offset = base_offset});
}

void Producer::give_up(const Error& error) {
  failure_ = error;
  const auto report = [&](const OutgoingBatch& batch) {
    if (!options_.on_delivery) return;
    options_.on_delivery({.partition = batch.partition, .numbers = batch.numbers, .error = error});
  };
  std::ranges::for_each(again_, report);
  for (const Request& request : in_flight_) std::ranges::for_each(request.batches, report);
  static_cast<void>(queue_.close_all());
  std::ranges::for_each(queue_.ready(), report);
  again_.clear();
  in_flight_.clear();
  queue_.ready().clear();
}

}  // namespace lastword::client
