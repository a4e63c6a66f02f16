// SPDX-License-Identifier: Apache-2.0
// Produce: each batch is checked, then, at its log's turn, appended on the disk pool; the answer to
// acks=all waits for the sync that covers them (DESIGN: group commit).
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "protocol/batch_check.h"
#include "protocol/compression.h"
#include "server/error_map.h"
#include "server/handlers.h"
#include "server/handlers/lookup.h"
#include "server/on.h"

namespace lastword::server {

namespace {

using TopicResult = ProduceResponse::Topic;
using PartitionResult = ProduceResponse::Topic::Partition;
using storage::Appended;

constexpr std::int16_t kAcksAll = -1;
constexpr std::int16_t kFirstVersionWithZstd = 7;
constexpr std::int16_t kFirstVersionWithStorageError = 4;
constexpr std::int16_t kFirstVersionWithRecordErrors = 8;
constexpr std::size_t kRecordErrorsMax = 1000;  // in one answer
constexpr std::size_t kCheckedHereBytesMax = 16u << 10;

// One partition of the request on its way.
struct Write {
  Found found{};
  std::optional<std::span<std::byte>> records{};
  std::shared_ptr<const TopicOptions> options{};
  std::size_t topic = 0;  // places in the response
  std::size_t partition = 0;
  std::optional<CheckedBatch> checked{};  // between the check and the append
  bool large = false;                     // not checked yet: it unpacks to much
  std::optional<Appended> appended{};
  bool fenced = false;
};

void fail(PartitionResult& result, ErrorCode code, std::string text) {
  result.error_code = code;
  result.error_message = std::move(text);
  result.base_offset = -1;
  result.log_append_time_ms = -1;
  result.log_start_offset = -1;
}

// What the partitions of one request share.
struct Shared {
  const Context& context;
  const Request& info;
  std::size_t record_errors_left = kRecordErrorsMax;
};

void refuse(Shared& shared, PartitionResult& result, BatchRefusal refusal) {
  fail(result, wire_code(refusal.kind), std::move(refusal.text));
  if (shared.info.api_version < kFirstVersionWithRecordErrors) return;
  for (BatchRefusal::Record& record : refusal.records) {
    if (shared.record_errors_left == 0) return;
    --shared.record_errors_left;
    result.record_errors.push_back(
        {.batch_index = record.index, .batch_index_error_message = std::move(record.text)});
  }
}

// Leaves a batch alone (`large`) that unpacks to more than `unpacked_bytes_max` and may do so.
void check_one(Shared& shared, Write& write, PartitionResult& result,
               std::size_t unpacked_bytes_max) {
  const Context& context = shared.context;
  write.large = false;
  if (!write.records) {
    return fail(result, ErrorCode::kInvalidRecord, "the request holds no records");
  }
  const auto limit = static_cast<std::size_t>(context.options.load()->limits.decompressed_bytes);
  auto rules = BatchRules::of(*write.options, std::min(limit, unpacked_bytes_max));
  rules.zstd_allowed = shared.info.api_version >= kFirstVersionWithZstd;
  auto checked = check_batch(*write.records, rules, context.clock.now_ms());
  if (auto* refusal = std::get_if<BatchRefusal>(&checked)) {
    write.large = refusal->unpacks_to_more && limit > unpacked_bytes_max;
    if (!write.large) refuse(shared, result, std::move(*refusal));
    return;
  }
  write.checked = std::get<CheckedBatch>(std::move(checked));
}

// Runs on the disk pool.
void append_one(Write& write, PartitionResult& result) {
  auto appended = write.found.log->append(*write.checked);
  write.checked.reset();
  if (!appended) {
    write.fenced = appended.error().kind == ErrorKind::kFenced;
    return fail(result, wire_code(appended.error().kind), appended.error().text);
  }
  write.appended = *appended;
  result.base_offset = appended->base_offset;
  result.log_append_time_ms = appended->log_append_time;
  result.log_start_offset = appended->log_start;
}

std::vector<Write> plan(Context& context, const ProduceRequest& request, std::span<std::byte> frame,
                        ProduceResponse& response) {
  std::vector<Write> writes;
  std::set<const storage::Partition*> seen;
  for (const auto& topic : request.topic_data) {
    auto& topic_result = response.responses.emplace_back(TopicResult{.name = topic.name});
    const auto known = context.store.find(topic.name);
    for (const auto& partition : topic.partition_data) {
      auto& result = topic_result.partition_responses.emplace_back();
      result.index = partition.index;
      Write write{.found = find_partition(known, partition.index),
                  .topic = response.responses.size() - 1,
                  .partition = topic_result.partition_responses.size() - 1};
      if (!write.found) {
        fail(result, write.found.error,
             write.found.error == ErrorCode::kUnknownTopicOrPartition
                 ? "there is no such topic or partition here"
                 : "the partition is not open");
        continue;
      }
      if (!seen.insert(write.found.partition.get()).second) {
        fail(result, ErrorCode::kInvalidRequest, "the request names this partition twice");
        continue;
      }
      write.options = write.found.log->options();
      if (partition.records) write.records = mutable_in(frame, partition.records->view());
      writes.push_back(std::move(write));
    }
  }
  return writes;
}

PartitionResult& result_of(ProduceResponse& response, const Write& write) {
  return response.responses[write.topic].partition_responses[write.partition];
}

// What the rest of the broker has to know of an append.
void announce(Context& context, const Write& write) {
  const Appended& appended = *write.appended;
  if (appended.sync_wanted) context.flusher.request(write.found.partition);
  if (context.store.environment().durability == Durability::kOs) {
    context.progress.notify(*write.found.partition);
  }
  if (appended.opened_segment) context.cleaner.wake_by(write.found.log->active_close_due_ms());
  if (appended.first_unsynced && write.options->flush_ms != kUnlimited) {
    context.cleaner.wake_by(write.found.log->flush_due_ms());
  }
}

enum class Durable { kNotYet, kYes, kFenced, kDeleted };

// Once its log was fenced nobody knows whether a batch is there: the client has to send it again.
Durable durable(const Context& context, const Write& write) {
  const auto offsets = write.found.log->offsets();
  if (offsets.fenced || offsets.fences != write.appended->fences) return Durable::kFenced;
  if (offsets.high_watermark > write.appended->last_offset) return Durable::kYes;
  return context.store.find(write.found.partition->topic_id) ? Durable::kNotYet : Durable::kDeleted;
}

void settle(const Context& context, const Write& write, PartitionResult& result) {
  switch (durable(context, write)) {
    case Durable::kYes:
      return;
    case Durable::kFenced:
      return fail(result, ErrorCode::kKafkaStorageError,
                  "the disk failed to sync these records; send them again");
    case Durable::kDeleted:
      return fail(result, ErrorCode::kUnknownTopicOrPartition, "the topic was deleted meanwhile");
    case Durable::kNotYet:
      return fail(result, ErrorCode::kRequestTimedOut,
                  "the disk has not synced these records within the request's timeout");
  }
}

struct Patience {
  std::chrono::steady_clock::time_point until{};
  bool knows_storage_error = true;
};

awaitable<ProduceResponse> when_durable(Context& context, ProduceResponse response,
                                        std::vector<Write> writes, Patience patience) {
  for (const Write& write : writes) {
    if (!write.appended) continue;
    std::vector<storage::PartitionPtr> partitions{write.found.partition};
    co_await context.progress.wait(
        std::move(partitions), {.deadline = patience.until, .at_stop = AtStop::kWaitOn},
        [&context, &write] { return durable(context, write) != Durable::kNotYet; });
    PartitionResult& result = result_of(response, write);
    settle(context, write, result);
    result.error_code = for_old_client(result.error_code, patience.knows_storage_error);
  }
  co_return response;
}

// A client that gives no timeout waits as long as the disk takes.
std::chrono::steady_clock::time_point deadline_of(const ProduceRequest& request) {
  using std::chrono::steady_clock;
  if (request.timeout_ms <= 0) return steady_clock::time_point::max();
  return steady_clock::now() + std::chrono::milliseconds(request.timeout_ms);
}

// A batch that is packed anew is a copy. It is made at its log's turn, so that few of them exist.
bool is_copied(const Write& write) {
  return write.options->compression_type != CompressionType::kProducer;
}

// Whether checking takes no longer than a hop to another thread does.
bool is_checked_soon(const std::vector<Write>& writes) {
  std::size_t bytes = 0;
  for (const Write& write : writes) {
    if (!write.records || is_copied(write)) continue;
    const auto header = read_batch_header(*write.records);
    if (header && header->codec() != Codec::kNone) return false;
    bytes += write.records->size();
  }
  return bytes <= kCheckedHereBytesMax;
}

// One at a time for the whole broker, in turn, so that a few of them hold up neither the disk pool
// nor the memory. `then` runs on the disk pool as well, before the next one's turn.
template <class Then>
awaitable<void> check_large(Context& context, Shared& shared, std::vector<Write>& writes,
                            ProduceResponse& response, Then then) {
  for (Write& write : writes) {
    if (!write.large) continue;
    PartitionResult& result = result_of(response, write);
    if (context.progress.stopped()) {
      write.large = false;
      fail(result, ErrorCode::kNotLeaderOrFollower, "the broker is stopping");
      continue;
    }
    Turns::Held turn(context.unpacking_turns);
    std::vector<Turns::Key> the_one{&context.unpacking_turns};
    co_await turn.take(std::move(the_one));
    co_await on(context.disk, [&] {
      check_one(shared, write, result, std::numeric_limits<std::size_t>::max());
      then(write, result);
      return true;
    });
  }
}

// Everything that is no copy, without a turn at its log.
awaitable<void> check_all(Context& context, Shared& shared, std::vector<Write>& writes,
                          ProduceResponse& response) {
  const auto check = [&] {
    for (Write& write : writes) {
      if (!is_copied(write))
        check_one(shared, write, result_of(response, write), kLargeOutputBytes);
    }
    return true;
  };
  if (is_checked_soon(writes)) {
    check();
  } else {
    co_await on(context.disk, check);
  }
  co_await check_large(context, shared, writes, response, [](Write&, PartitionResult&) {});
}

// Checks, then appends what is good. Whoever waits for a turn holds no thread.
awaitable<void> write_all(Context& context, const Request& info, std::vector<Write>& writes,
                          ProduceResponse& response) {
  Shared shared{context, info};
  co_await check_all(context, shared, writes, response);
  std::vector<Turns::Key> logs;
  for (const Write& write : writes) {
    if (write.checked || is_copied(write)) logs.push_back(write.found.partition.get());
  }
  if (logs.empty()) co_return;
  const auto append = [](Write& write, PartitionResult& result) {
    if (write.checked) append_one(write, result);
  };
  Turns::Held turns(context.append_turns);
  co_await turns.take(std::move(logs));
  co_await on(context.disk, [&] {
    for (Write& write : writes) {
      PartitionResult& result = result_of(response, write);
      if (is_copied(write)) check_one(shared, write, result, kLargeOutputBytes);
      append(write, result);
    }
    return true;
  });
  co_await check_large(context, shared, writes, response, append);
}

awaitable<ProduceResponse> at_once(ProduceResponse response) { co_return response; }

}  // namespace

awaitable<Produced> produce(Context& context, const Request& info, ProduceRequest request,
                            std::span<std::byte> frame) {
  ProduceResponse response;
  auto writes = plan(context, request, frame, response);
  if (request.acks < -1 || request.acks > 1) {
    for (const Write& write : writes) {
      fail(result_of(response, write), ErrorCode::kInvalidRequiredAcks, "acks must be -1, 0 or 1");
    }
    writes.clear();
  } else if (request.transactional_id && !request.transactional_id->empty()) {
    for (const Write& write : writes) {
      fail(result_of(response, write), ErrorCode::kInvalidRequest,
           "this broker has no transactions: leave out transactional.id");
    }
    writes.clear();
  }
  if (!writes.empty()) {
    co_await write_all(context, info, writes, response);
  }
  const bool knows_storage_error = info.api_version >= kFirstVersionWithStorageError;
  bool failed = false;
  for (const Write& write : writes) {
    if (write.appended) announce(context, write);
    // Whoever fenced it (under durability os a roll or a pass may), the flusher is who heals it.
    if (write.fenced) context.flusher.request(write.found.partition);
  }
  for (TopicResult& topic : response.responses) {
    for (PartitionResult& result : topic.partition_responses) {
      result.error_code = for_old_client(result.error_code, knows_storage_error);
      failed = failed || result.error_code != ErrorCode::kNone;
    }
  }
  if (request.acks == 0) co_return Produced{.close = failed};
  if (request.acks == kAcksAll) {
    co_return Produced{.response = when_durable(context, std::move(response), std::move(writes),
                                                {deadline_of(request), knows_storage_error})};
  }
  co_return Produced{.response = at_once(std::move(response))};
}

}  // namespace lastword::server
