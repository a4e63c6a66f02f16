// SPDX-License-Identifier: Apache-2.0
#include "tests/server/server_fixture.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <stdexcept>
#include <thread>

namespace lastword::test {

struct ServerFixture::Lines {
  std::mutex mutex{};
  std::condition_variable added{};
  std::vector<std::string> all{};
};

ServerFixture::ServerFixture(std::function<void(BrokerOptions&)> change)
    : lines_(std::make_shared<Lines>()) {
  options.listen = "127.0.0.1:0";
  options.data_dir = "/data";
  options.limits.disk_reserve_bytes = 0;
  options.limits.disk_threads = 4;
  if (change) change(options);
  start();
}

ServerFixture::~ServerFixture() {
  files.release();
  files.let_sync();
  if (broker) stop();
}

void ServerFixture::start() {
  begin_start();
  broker->wait_until_loaded();
}

void ServerFixture::begin_start() {
  auto started =
      server::Broker::start({.options = options,
                             .files = files,
                             .clock = clock,
                             .report =
                                 [lines = lines_](storage::Severity, const std::string& line) {
                                   const std::lock_guard lock(lines->mutex);
                                   lines->all.push_back(line);
                                   lines->added.notify_all();
                                 },
                             .cleaner_threads = false});
  if (!started) throw std::runtime_error(started.error().text);
  broker = *std::move(started);
}

void ServerFixture::stop() {
  const auto stopped = broker->stop();
  EXPECT_TRUE(stopped) << stopped.error().text;
  broker.reset();
}

void ServerFixture::kill() {
  memory.stop_at(memory.operations() + 1);
  files.release();
  broker.reset();
  memory.crash(1, CrashKind::kProcess);
}

void ServerFixture::create(const std::string& topic, std::map<std::string, std::string> settings,
                           std::int32_t partitions) {
  const auto made = broker->store().create(
      {.name = topic, .partitions = partitions, .overrides = std::move(settings)});
  if (!made) throw std::runtime_error(made.error().text);
}

storage::TopicId ServerFixture::topic_id(const std::string& topic) const {
  return broker->store().find(topic)->id;
}

bool ServerFixture::is_written_to(Offset end) const {
  const auto log = broker->store().partition(kTopic, 0)->log();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (log->offsets().log_end < end) {
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::yield();
  }
  return true;
}

std::vector<std::string> ServerFixture::lines() const {
  const std::lock_guard lock(lines_->mutex);
  return lines_->all;
}

bool ServerFixture::reported(const std::vector<std::string>& parts) const {
  const auto has_all = [&](const std::string& line) {
    return std::ranges::all_of(
        parts, [&](const std::string& part) { return line.find(part) != std::string::npos; });
  };
  std::unique_lock lock(lines_->mutex);
  return lines_->added.wait_for(lock, std::chrono::seconds(10),
                                [&] { return std::ranges::any_of(lines_->all, has_all); });
}

Bytes one_record(const std::string& key, const std::string& value) {
  return batch({.records = {{.key = key, .value = value}}, .timestamp = ManualClock::kStartMs});
}

ProduceRequest produce_request(Bytes records, std::int16_t acks, const std::string& topic,
                               std::int32_t partition) {
  ProduceRequest request{.acks = acks, .timeout_ms = 30000};
  ProduceRequest::Topic& of = request.topic_data.emplace_back();
  of.name = topic;
  of.partition_data.push_back({.index = partition, .records = RecordsField{std::move(records)}});
  return request;
}

ProducedPartition only(const ProduceResponse& response) {
  return response.responses.at(0).partition_responses.at(0);
}

ProducedPartition produce(RawClient& client, Bytes records, std::int16_t acks,
                          const std::string& topic) {
  return only(client.call<ProduceResponse>(produce_request(std::move(records), acks, topic),
                                           kProduceVersion));
}

FetchRequest fetch_request(const FetchFrom& from) {
  FetchRequest request{
      .max_wait_ms = from.max_wait_ms, .min_bytes = from.min_bytes, .max_bytes = from.max_bytes};
  FetchRequest::Topic& topic = request.topics.emplace_back();
  topic.topic = from.topic;
  topic.partitions.push_back({.fetch_offset = from.offset, .partition_max_bytes = from.max_bytes});
  return request;
}

FetchedPartition only(const FetchResponse& response) {
  return response.responses.at(0).partitions.at(0);
}

FetchedPartition fetch(RawClient& client, const FetchFrom& from) {
  return only(client.call<FetchResponse>(fetch_request(from), kFetchVersion));
}

std::vector<OwnedRecord> records_in(const FetchedPartition& partition) {
  return records_of(partition.records.view());
}

ListOffsetsRequest list_request(std::int64_t timestamp, const std::string& topic) {
  ListOffsetsRequest request;
  request.topics.push_back({.name = topic, .partitions = {{.timestamp = timestamp}}});
  return request;
}

void wait_until_open(RawClient& client, const std::string& topic) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < patience) {
    const auto answer = client.call<ListOffsetsResponse>(list_request(-2, topic), 7);
    if (answer.topics.at(0).partitions.at(0).error_code != ErrorCode::kNotLeaderOrFollower) return;
  }
  throw std::runtime_error(topic + " does not open");
}

ListedPartition list_offset(RawClient& client, std::int64_t timestamp, std::int16_t version) {
  return client.call<ListOffsetsResponse>(list_request(timestamp), version)
      .topics.at(0)
      .partitions.at(0);
}

}  // namespace lastword::test
