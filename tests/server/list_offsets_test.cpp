// SPDX-License-Identifier: Apache-2.0
// ListOffsets and OffsetForLeaderEpoch.
#include <gtest/gtest.h>

#include "protocol/messages/offset_for_leader_epoch.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kMaxTimestamp = -3;
constexpr std::int64_t kEarliestLocal = -4;
constexpr std::int64_t kLatestTiered = -5;
constexpr std::int64_t kEarliestPendingUpload = -6;
constexpr std::int64_t kT = ManualClock::kStartMs;

TEST(ListOffsets, FindsTheEnds) {
  ServerFixture server;
  auto client = server.with_topic();
  for (int i = 0; i < 3; ++i) produce(*client, one_record("k", "v"));
  for (std::int16_t version = 1; version <= 11; ++version) {
    EXPECT_EQ(list_offset(*client, kLatest, version).offset, 3) << version;
    EXPECT_EQ(list_offset(*client, kEarliest, version).offset, 0) << version;
  }
  EXPECT_EQ(list_offset(*client, kEarliestLocal, 8).offset, 0);
  EXPECT_EQ(list_offset(*client, kLatestTiered, 9).offset, -1);
  EXPECT_EQ(list_offset(*client, kEarliestPendingUpload, 11).offset, -1);
}

TEST(ListOffsets, RefusesSentinelsBelowTheVersionThatHasThem) {
  ServerFixture server;
  auto client = server.with_topic();
  const auto code = [&](std::int64_t timestamp, std::int16_t version) {
    return list_offset(*client, timestamp, version).error_code;
  };
  EXPECT_EQ(code(kMaxTimestamp, 6), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code(kEarliestLocal, 7), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code(kLatestTiered, 8), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code(kEarliestPendingUpload, 10), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code(-7, 11), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code(kMaxTimestamp, 7), ErrorCode::kNone);
}

TEST(ListOffsets, LooksIntoCompressedBatchesForATime) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    SCOPED_TRACE(codec_name(codec));
    ServerFixture server;
    auto client = server.with_topic();
    produce(*client, batch({.records = {{.key = "a", .value = "1", .timestamp = kT + 10},
                                        {.key = "b", .value = "2", .timestamp = kT + 30},
                                        {.key = "c", .value = "3", .timestamp = kT + 20}},
                            .codec = codec,
                            .timestamp = kT}));
    produce(*client, batch({.records = {{.key = "d", .value = "4", .timestamp = kT + 25}},
                            .codec = codec,
                            .timestamp = kT}));
    EXPECT_EQ(list_offset(*client, kT).offset, 0);
    const auto found = list_offset(*client, kT + 11);
    EXPECT_EQ(found.offset, 1);
    EXPECT_EQ(found.timestamp, kT + 30);
    EXPECT_GE(found.leader_epoch, 0);
    const auto largest = list_offset(*client, kMaxTimestamp);
    EXPECT_EQ(largest.offset, 1);
    EXPECT_EQ(largest.timestamp, kT + 30);
    const auto none = list_offset(*client, kT + 31);
    EXPECT_EQ(none.error_code, ErrorCode::kNone);
    EXPECT_EQ(none.offset, -1);
    EXPECT_EQ(none.timestamp, -1);
  }
}

TEST(ListOffsets, ErrsForWhatIsNotThereAndForAPartitionAskedTwice) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = list_request(kLatest);
  request.topics[0].partitions.push_back({.partition_index = 0, .timestamp = kEarliest});
  request.topics[0].partitions.push_back({.partition_index = 9, .timestamp = kEarliest});
  request.topics.push_back(list_request(kEarliest).topics[0]);
  const auto topics = client->call<ListOffsetsResponse>(request, 7).topics;
  EXPECT_EQ(topics.at(1).partitions.at(0).error_code, ErrorCode::kInvalidRequest);
  const auto& answer = topics.at(0).partitions;
  EXPECT_EQ(answer.at(0).error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.at(1).error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(answer.at(2).error_code, ErrorCode::kUnknownTopicOrPartition);
  request.topics.pop_back();
  request.topics[0].partitions = {{.current_leader_epoch = 9, .timestamp = kLatest}};
  EXPECT_EQ(client->call<ListOffsetsResponse>(request, 7).topics.at(0).partitions.at(0).error_code,
            ErrorCode::kUnknownLeaderEpoch);
}

TEST(ListOffsets, TellsTheMarkOnlyToThoseWhoAsk) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = list_request(kEarliest);
  const auto ask = [&] {
    return client->call<ListOffsetsResponse>(request, 7).topics.at(0).partitions.at(0);
  };
  EXPECT_FALSE(ask().removed_tombstone_mark.has_value());
  request.want_removed_tombstone_mark = true;
  EXPECT_EQ(ask().removed_tombstone_mark, 0);
}

TEST(OffsetForLeaderEpoch, TellsWhereAnEpochEnds) {
  ServerFixture server;
  auto client = server.with_topic();
  produce(*client, one_record("k", "v"));
  const auto epoch = list_offset(*client, kT).leader_epoch;
  const auto ask = [&](std::int32_t of, std::int32_t current, std::int32_t partition) {
    OffsetForLeaderEpochRequest request;
    request.topics.push_back(
        {.topic = ServerFixture::kTopic,
         .partitions = {
             {.partition = partition, .current_leader_epoch = current, .leader_epoch = of}}});
    return client->call<OffsetForLeaderEpochResponse>(request, 4).topics.at(0).partitions.at(0);
  };
  EXPECT_EQ(ask(epoch, -1, 0).end_offset, 1);
  EXPECT_EQ(ask(epoch, -1, 0).leader_epoch, epoch);
  EXPECT_EQ(ask(epoch + 1, -1, 0).end_offset, -1);
  EXPECT_EQ(ask(epoch, epoch + 1, 0).error_code, ErrorCode::kUnknownLeaderEpoch);
  EXPECT_EQ(ask(epoch, -1, 5).error_code, ErrorCode::kUnknownTopicOrPartition);
}

TEST(ListOffsets, KeepsTheMarkOverARestart) {
  ServerFixture server;
  auto client = server.with_topic({{"cleanup.policy", "compact"},
                                   {"delete.retention.ms", "1000"},
                                   {"segment.ms", "1000"},
                                   {"min.cleanable.dirty.ratio", "0"}});
  produce(*client, one_record("gone", "v"));
  produce(*client, batch({.records = {{.key = "gone"}}, .timestamp = kT}));
  produce(*client, one_record("other", "v"));
  for (int i = 0; i < 4; ++i) {
    server.clock.advance(2000);
    server.broker->cleaner().run_due();
  }
  auto request = list_request(kEarliest);
  request.want_removed_tombstone_mark = true;
  const auto mark = [&](RawClient& of) {
    return of.call<ListOffsetsResponse>(request, 7)
        .topics.at(0)
        .partitions.at(0)
        .removed_tombstone_mark.value();
  };
  const auto before = mark(*client);
  EXPECT_EQ(before, 2);
  client->close();
  server.restart();
  auto again = server.client();
  EXPECT_EQ(mark(again), before);
}

}  // namespace
}  // namespace lastword::test
