// SPDX-License-Identifier: Apache-2.0
// Fetch: what is sent, how much, and when.
#include <gtest/gtest.h>

#include <set>

#include <chrono>

#include "protocol/messages/delete_topics.h"
#include "server/handlers/lookup.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int32_t kLongWaitMs = 15000;
constexpr milliseconds kShortly{100};

std::int32_t begin_fetch(RawClient& client, const FetchFrom& from) {
  return client.begin(fetch_request(from), kFetchVersion);
}

FetchedPartition finish_fetch(RawClient& client, std::int32_t id) {
  return only(client.finish<FetchResponse>(id, kFetchVersion));
}

TEST(Fetch, ReadsByNameAndById) {
  ServerFixture server;
  auto client = server.with_topic();
  produce(*client, one_record("k", "v"));
  for (std::int16_t version = 4; version <= 17; ++version) {
    auto request = fetch_request({});
    if (version >= 13) request.topics[0].topic_id = server::uuid_of(server.topic_id());
    const auto answer = client->call<FetchResponse>(request, version);
    SCOPED_TRACE("version " + std::to_string(version));
    const auto partition = only(answer);
    EXPECT_EQ(partition.error_code, ErrorCode::kNone);
    EXPECT_EQ(partition.high_watermark, 1);
    EXPECT_EQ(partition.last_stable_offset, 1);
    const auto records = records_in(partition);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].value, "v");
    if (version >= 13) {
      EXPECT_EQ(answer.responses[0].topic_id, request.topics[0].topic_id);
    }
  }
}

TEST(Fetch, ErrsForWhatIsNotThere) {
  ServerFixture server;
  auto client = server.with_topic();
  EXPECT_EQ(fetch(*client, {.topic = "nothing"}).error_code, ErrorCode::kUnknownTopicOrPartition);
  auto request = fetch_request({});
  request.topics[0].partitions[0].partition = 7;
  EXPECT_EQ(only(client->call<FetchResponse>(request, 12)).error_code,
            ErrorCode::kUnknownTopicOrPartition);
  request = fetch_request({});
  request.topics[0].topic_id.bytes[0] = std::byte{1};
  EXPECT_EQ(only(client->call<FetchResponse>(request, 13)).error_code, ErrorCode::kUnknownTopicId);
}

TEST(Fetch, ChecksTheEpochOfTheReader) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = fetch_request({.max_wait_ms = kLongWaitMs});
  request.topics[0].partitions[0].current_leader_epoch = 7;
  EXPECT_EQ(only(client->call<FetchResponse>(request, 12)).error_code,
            ErrorCode::kUnknownLeaderEpoch);
}

TEST(Fetch, TellsAnOffsetOutOfRangeAtOnce) {
  ServerFixture server;
  auto client = server.with_topic();
  produce(*client, one_record("k", "v"));
  const auto partition = fetch(*client, {.offset = 2, .max_wait_ms = kLongWaitMs});
  EXPECT_EQ(partition.error_code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(fetch(*client, {.offset = -1}).error_code, ErrorCode::kOffsetOutOfRange);
}

TEST(Fetch, AnswersEmptyRecordsThatAreNotNull) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = fetch_request({});
  // The last field of the last partition, in a version without tags.
  const auto id = client->begin(request, 11);
  const auto frame = client->frame();
  ASSERT_TRUE(frame);
  std::int32_t length = 7;
  Reader(frame->last(4)).number(length);
  EXPECT_EQ(length, 0);
  static_cast<void>(id);
}

TEST(Fetch, MovesOnWithAMaximumOfOneByte) {
  ServerFixture server;
  auto client = server.with_topic();
  for (int i = 0; i < 3; ++i) produce(*client, one_record("k", std::to_string(i)));
  for (Offset offset = 0; offset < 3; ++offset) {
    const auto records = records_in(fetch(*client, {.offset = offset, .max_bytes = 1}));
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].offset, offset);
  }
}

TEST(Fetch, KeepsToTheMaximumOverAllPartitions) {
  ServerFixture server;
  server.create("wide", {}, 3);
  auto client = server.client();
  const Bytes batch = one_record("k", std::string(1000, 'v'));
  for (std::int32_t i = 0; i < 3; ++i) {
    client.call<ProduceResponse>(produce_request(batch, -1, "wide", i), kProduceVersion);
  }
  FetchRequest request{.max_bytes = static_cast<std::int32_t>(batch.size() * 2)};
  auto& topic = request.topics.emplace_back();
  topic.topic = "wide";
  for (std::int32_t i = 0; i < 3; ++i) {
    topic.partitions.push_back({.partition = i, .partition_max_bytes = 1 << 20});
  }
  const auto answer = client.call<FetchResponse>(request, 12);
  std::size_t with_records = 0;
  for (const auto& partition : answer.responses.at(0).partitions) {
    with_records += partition.records.size_bytes() > 0 ? 1 : 0;
  }
  EXPECT_EQ(with_records, 2u);
}

TEST(Fetch, WaitsUntilRecordsAreReadable) {
  ServerFixture server;
  auto reader = server.with_topic();
  auto writer = server.client();
  const auto id = begin_fetch(*reader, {.max_wait_ms = kLongWaitMs});
  EXPECT_FALSE(reader->readable(kShortly));
  const auto begun = steady_clock::now();
  produce(writer, one_record("k", "v"));
  EXPECT_EQ(records_in(finish_fetch(*reader, id)).size(), 1u);
  EXPECT_LT(steady_clock::now() - begun, milliseconds(kLongWaitMs / 2));
}

TEST(Fetch, WaitsForMinBytes) {
  ServerFixture server;
  auto reader = server.with_topic();
  auto writer = server.client();
  const Bytes batch = one_record("k", "v");
  const auto id = begin_fetch(*reader, {.max_wait_ms = kLongWaitMs,
                                        .min_bytes = static_cast<std::int32_t>(batch.size() + 1)});
  produce(writer, batch);
  EXPECT_FALSE(reader->readable(kShortly));
  produce(writer, batch);
  EXPECT_EQ(records_in(finish_fetch(*reader, id)).size(), 2u);
}

TEST(Fetch, AnswersEmptyWhenTheWaitIsOver) {
  ServerFixture server;
  auto reader = server.with_topic();
  const auto begun = steady_clock::now();
  const auto partition = fetch(*reader, {.max_wait_ms = 150});
  EXPECT_GE(steady_clock::now() - begun, milliseconds(150));
  EXPECT_EQ(partition.error_code, ErrorCode::kNone);
  EXPECT_EQ(partition.records.size_bytes(), 0u);
  EXPECT_EQ(partition.high_watermark, 0);
}

TEST(Fetch, WakesForOneOfManyPartitions) {
  ServerFixture server;
  server.create("wide", {}, 20);
  auto reader = server.client();
  auto writer = server.client();
  FetchRequest request{.max_wait_ms = kLongWaitMs, .min_bytes = 1};
  auto& topic = request.topics.emplace_back();
  topic.topic = "wide";
  for (std::int32_t i = 0; i < 20; ++i) {
    topic.partitions.push_back({.partition = i, .partition_max_bytes = 1 << 20});
  }
  const auto id = reader.begin(request, 12);
  EXPECT_FALSE(reader.readable(kShortly));
  writer.call<ProduceResponse>(produce_request(one_record("k", "v"), -1, "wide", 13),
                               kProduceVersion);
  const auto answer = reader.finish<FetchResponse>(id, 12);
  EXPECT_GT(answer.responses.at(0).partitions.at(13).records.size_bytes(), 0u);
}

TEST(Fetch, EndsItsWaitWhenTheTopicIsDeleted) {
  ServerFixture server;
  auto reader = server.with_topic();
  auto admin = server.client();
  const auto id = begin_fetch(*reader, {.max_wait_ms = kLongWaitMs});
  EXPECT_FALSE(reader->readable(kShortly));
  admin.call<DeleteTopicsResponse>(DeleteTopicsRequest{.topic_names = {ServerFixture::kTopic}}, 5);
  EXPECT_EQ(finish_fetch(*reader, id).error_code, ErrorCode::kUnknownTopicOrPartition);
}

TEST(Fetch, GetsAReaderPastDamageToTheHighWatermark) {
  ServerFixture server;
  auto client = server.with_topic();
  const std::string log = "/data/addresses-0/00000000000000000000.log";
  produce(*client, one_record("k", "v"));
  const std::size_t good_bytes = server.memory.content(log).size();
  produce(*client, one_record("k", "lost"));
  server.memory.damage(log, good_bytes, Bytes(kBatchHeaderBytes, std::byte{9}));
  const auto partition = fetch(*client, {.offset = 1, .max_wait_ms = kLongWaitMs});
  EXPECT_EQ(partition.error_code, ErrorCode::kNone);
  EXPECT_TRUE(records_in(partition).empty());
  const auto headers = headers_of(partition.records.view());
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].last_offset() + 1, partition.high_watermark);
}

TEST(Fetch, OffersNoSessions) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = fetch_request({});
  request.session_epoch = 0;  // "open one for me"
  const auto first = client->call<FetchResponse>(request, 12);
  EXPECT_EQ(first.error_code, ErrorCode::kNone);
  EXPECT_EQ(first.session_id, 0);
  EXPECT_EQ(first.responses.size(), 1u);
  request.session_id = 5;
  request.session_epoch = 3;
  const auto other = client->call<FetchResponse>(request, 12);
  EXPECT_EQ(other.error_code, ErrorCode::kFetchSessionIdNotFound);
  EXPECT_TRUE(other.responses.empty());
}

TEST(Fetch, TellsTheMarkOnlyToThoseWhoAsk) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = fetch_request({});
  EXPECT_FALSE(only(client->call<FetchResponse>(request, 12)).removed_tombstone_mark.has_value());
  request.want_removed_tombstone_mark = true;
  EXPECT_EQ(only(client->call<FetchResponse>(request, 12)).removed_tombstone_mark, 0);
}

TEST(Fetch, RefusesAPartitionThatIsNamedTwiceAndAnswersTheFirst) {
  ServerFixture server;
  auto client = server.with_topic();
  produce(*client, one_record("k", "v"));
  auto request = fetch_request({});
  request.topics.push_back(request.topics[0]);
  const auto answer = client->call<FetchResponse>(request, 12);
  EXPECT_EQ(records_in(answer.responses.at(0).partitions.at(0)).size(), 1u);
  EXPECT_EQ(answer.responses.at(1).partitions.at(0).error_code, ErrorCode::kInvalidRequest);
}

/// More partitions than files may be open: each answer brings some, none an error, and a producer
/// still gets its own.
TEST(Fetch, OfMorePartitionsThanOpenFilesBringsThemAllInTurn) {
  constexpr std::int32_t kPartitions = 48;
  ServerFixture server([](BrokerOptions& options) { options.limits.open_files = 16; });
  server.create(ServerFixture::kTopic, {}, kPartitions);
  auto client = server.client();
  auto request = fetch_request({});
  request.topics[0].partitions.clear();
  for (std::int32_t i = 0; i < kPartitions; ++i) {
    const auto produced = client.call<ProduceResponse>(
        produce_request(one_record("k", "v"), -1, ServerFixture::kTopic, i), kProduceVersion);
    EXPECT_EQ(only(produced).error_code, ErrorCode::kNone);
    request.topics[0].partitions.push_back({.partition = i, .partition_max_bytes = 1 << 20});
  }
  std::set<std::int32_t> seen;
  for (int round = 0; round < kPartitions && !request.topics[0].partitions.empty(); ++round) {
    const auto answer = client.call<FetchResponse>(request, kFetchVersion);
    for (const auto& partition : answer.responses.at(0).partitions) {
      EXPECT_EQ(partition.error_code, ErrorCode::kNone) << partition.partition_index;
      if (partition.records.size_bytes() > 0) seen.insert(partition.partition_index);
    }
    std::erase_if(request.topics[0].partitions,
                  [&](const auto& asked) { return seen.contains(asked.partition); });
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kPartitions));
}

}  // namespace
}  // namespace lastword::test
