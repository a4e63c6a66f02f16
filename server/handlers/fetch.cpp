// SPDX-License-Identifier: Apache-2.0
// Fetch: plans which file pages to send, without looking into them; waits for min_bytes until
// max_wait_ms. Sessions (KIP-227) are not offered: every fetch is a full one.
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "server/error_map.h"
#include "server/handlers.h"
#include "server/handlers/lookup.h"
#include "server/on.h"

namespace lastword::server {

namespace {

using PartitionRequest = FetchRequest::Topic::Partition;
using PartitionResult = FetchResponse::Topic::Partition;
using std::chrono::steady_clock;

constexpr std::int16_t kFirstVersionWithTopicIds = 13;
constexpr std::int16_t kFirstVersionWithStorageError = 6;
constexpr auto kLookForClient = std::chrono::seconds(5);
constexpr auto kLongestWait =
    std::chrono::seconds(60);  // what a request holds is not held for ever

// One partition of the request and its place in the response.
struct Read {
  Found found{};
  const PartitionRequest* asked = nullptr;
  std::size_t topic = 0;
  std::size_t partition = 0;
};

void fail(PartitionResult& result, ErrorCode code) {
  result.error_code = code;
  result.high_watermark = -1;
  result.last_stable_offset = -1;
  result.log_start_offset = -1;
}

class Fetching {
 public:
  Fetching(Context& context, const Request& info, const FetchRequest& request)
      : context_(context),
        request_(request),
        by_id_(info.api_version >= kFirstVersionWithTopicIds),
        knows_storage_error_(info.api_version >= kFirstVersionWithStorageError) {
    const std::int64_t most = context.options.load()->limits.fetch_bytes;
    bytes_max_ = static_cast<std::uint64_t>(std::clamp<std::int64_t>(request.max_bytes, 0, most));
    bytes_min_ = std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max(request.min_bytes, 0)),
                                         bytes_max_);
    plan();
  }

  /// Whether the answer can go out now: enough to read, nothing more could be added, or an error to
  /// tell. Never blocks.
  bool enough() const {
    if (failed_ || reads_.empty()) return true;
    std::uint64_t readable = 0;
    for (const Read& read : reads_) {
      const auto offsets = read.found.log->offsets();
      const Offset from = read.asked->fetch_offset;
      if (gone(read) || from < offsets.log_start || from > offsets.log_end) return true;
      const auto cap = static_cast<std::uint64_t>(std::max(read.asked->partition_max_bytes, 0));
      const std::uint64_t bytes = read.found.log->readable_bytes(from);
      if (bytes > 0 && bytes >= cap) return true;
      readable += bytes;
      if (readable >= bytes_min_ && readable > 0) return true;
    }
    return bytes_min_ == 0;
  }

  std::vector<storage::PartitionPtr> partitions() const {
    std::vector<storage::PartitionPtr> all;
    for (const Read& read : reads_) all.push_back(read.found.partition);
    return all;
  }

  /// Tells where the logs stand if there is nothing to read in any; false if there is. Never
  /// blocks.
  bool answer_empty() {
    for (const Read& read : reads_) {
      const auto offsets = read.found.log->offsets();
      const Offset from = read.asked->fetch_offset;
      if (gone(read) || from < offsets.high_watermark || from > offsets.log_end) return false;
      tell(result_of(read), offsets);
    }
    return true;
  }

  /// Plans every read; may wait for the disk.
  void read_all() {
    std::uint64_t left = bytes_max_;
    bool first = true;
    for (const Read& read : reads_) {
      PartitionResult& result = result_of(read);
      if (gone(read)) {
        fail(result, by_id_ ? ErrorCode::kUnknownTopicId : ErrorCode::kUnknownTopicOrPartition);
        continue;
      }
      const auto cap = static_cast<std::uint64_t>(std::max(read.asked->partition_max_bytes, 0));
      auto plan = read.found.log->read(
          read.asked->fetch_offset, {.bytes_max = std::min(cap, left), .first_batch_whole = first});
      // The files of an answer are held until it is sent; what they leave comes with the next one.
      if (!plan && plan.error().kind == ErrorKind::kTooManyOpenFiles && !first) break;
      if (!plan) {
        fail(result, for_old_client(wire_code(plan.error().kind), knows_storage_error_));
        continue;
      }
      tell(result, plan->offsets);
      left -= std::min(left, plan->size_bytes);
      first = first && plan->size_bytes == 0;
      result.records.value = std::move(plan->ranges);
    }
  }

  FetchResponse take_response() { return std::move(response_); }

 private:
  void plan() {
    for (const auto& topic : request_.topics) {
      auto& topic_result = response_.responses.emplace_back();
      topic_result.topic = topic.topic;
      topic_result.topic_id = topic.topic_id;
      const auto known = by_id_ ? context_.store.find(topic_id_of(topic.topic_id))
                                : context_.store.find(topic.topic);
      for (const PartitionRequest& asked : topic.partitions) {
        auto& result = topic_result.partitions.emplace_back();
        result.partition_index = asked.partition;
        add(known, asked, result);
      }
    }
  }

  void add(const storage::TopicPtr& topic, const PartitionRequest& asked, PartitionResult& result) {
    Read read{.found = find_partition(topic, asked.partition),
              .asked = &asked,
              .topic = response_.responses.size() - 1,
              .partition = response_.responses.back().partitions.size() - 1};
    ErrorCode error = read.found.error;
    if (by_id_ && !topic) error = ErrorCode::kUnknownTopicId;
    if (error == ErrorCode::kNone) {
      const auto offsets = read.found.log->offsets();
      error = check_epoch(asked.current_leader_epoch, offsets.leader_epoch);
      tell(result, offsets);
    }
    if (error == ErrorCode::kNone && !seen_.insert(read.found.partition.get()).second) {
      error = ErrorCode::kInvalidRequest;
    }
    if (error == ErrorCode::kNone) return reads_.push_back(std::move(read));
    fail(result, for_old_client(error, knows_storage_error_));
    failed_ = true;
  }

  void tell(PartitionResult& result, const storage::Offsets& offsets) const {
    result.high_watermark = offsets.high_watermark;
    result.last_stable_offset = offsets.high_watermark;  // no transactions: nothing is open
    result.log_start_offset = offsets.log_start;
    if (request_.want_removed_tombstone_mark) {
      result.removed_tombstone_mark = offsets.removed_tombstone_mark;
    }
  }

  // The topic was deleted since, perhaps made again.
  bool gone(const Read& read) const {
    return context_.store.find(read.found.partition->topic_id) == nullptr;
  }

  PartitionResult& result_of(const Read& read) {
    return response_.responses[read.topic].partitions[read.partition];
  }

  Context& context_;
  const FetchRequest& request_;
  const bool by_id_;
  const bool knows_storage_error_;
  std::uint64_t bytes_max_ = 0;
  std::uint64_t bytes_min_ = 0;
  bool failed_ = false;
  std::set<const storage::Partition*> seen_{};  // a partition that is named twice is refused
  std::vector<Read> reads_{};
  FetchResponse response_{};
};

// A client with a session of another broker is told to begin anew (KIP-227).
bool asks_for_session(const FetchRequest& request) {
  return request.session_id != 0 && request.session_epoch > 0;
}

awaitable<void> wait_for_enough(Context& context, const Request& info, Fetching& fetching,
                                steady_clock::time_point deadline) {
  bool client_gone = false;
  while (!client_gone && steady_clock::now() < deadline) {
    const auto look = std::min(deadline, steady_clock::now() + kLookForClient);
    const bool enough = co_await context.progress.wait(fetching.partitions(), {.deadline = look},
                                                       [&] { return fetching.enough(); });
    if (enough || steady_clock::now() < look) co_return;  // or the broker stops
    client_gone = info.peer_gone && info.peer_gone();
  }
}

}  // namespace

awaitable<FetchResponse> fetch(Context& context, const Request& info, FetchRequest request) {
  if (asks_for_session(request)) {
    co_return FetchResponse{.error_code = ErrorCode::kFetchSessionIdNotFound};
  }
  Fetching fetching(context, info, request);
  if (request.max_wait_ms > 0 && !fetching.enough()) {
    const auto deadline =
        steady_clock::now() + std::min<steady_clock::duration>(
                                  std::chrono::milliseconds(request.max_wait_ms), kLongestWait);
    co_await wait_for_enough(context, info, fetching, deadline);
  }
  if (!fetching.answer_empty()) {
    co_await on(context.disk, [&] {
      fetching.read_all();
      return true;
    });
  }
  co_return fetching.take_response();
}

}  // namespace lastword::server
