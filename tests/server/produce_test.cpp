// SPDX-License-Identifier: Apache-2.0
// Produce: what is taken, what is refused, and how that is told.
#include <gtest/gtest.h>

#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

constexpr std::int64_t kT = ManualClock::kStartMs;
constexpr std::int64_t kProducer = 4242;

Bytes numbered(std::int32_t sequence, int records = 1, std::int16_t epoch = 0) {
  BatchSpec spec{.timestamp = kT,
                 .producer_id = kProducer,
                 .producer_epoch = epoch,
                 .base_sequence = sequence};
  for (int i = 0; i < records; ++i) {
    spec.records.push_back({.key = "k", .value = std::to_string(sequence + i)});
  }
  return batch(spec);
}

TEST(Produce, NamesEachBadRecordOfABatchAndStoresNone) {
  ServerFixture server;
  auto client = server.with_topic({{"cleanup.policy", "compact"}});
  const auto result = produce(*client, batch({.records = {{.key = "good", .value = "1"},
                                                          {.value = "no key"},
                                                          {.key = "good", .value = "2"},
                                                          {.value = "no key either"}},
                                              .timestamp = kT}));
  EXPECT_EQ(result.error_code, ErrorCode::kInvalidRecord);
  EXPECT_EQ(result.base_offset, -1);
  EXPECT_TRUE(result.error_message.has_value());
  ASSERT_EQ(result.record_errors.size(), 2u);
  EXPECT_EQ(result.record_errors[0].batch_index, 1);
  EXPECT_EQ(result.record_errors[1].batch_index, 3);
  EXPECT_NE(result.record_errors[0].batch_index_error_message.value().find("key"),
            std::string::npos);
  EXPECT_EQ(fetch(*client, {}).high_watermark, 0);
}

TEST(Produce, TellsTheFirstOffsetOfEachBatchAndTheAppendTime) {
  ServerFixture server;
  auto client = server.with_topic({{"message.timestamp.type", "LogAppendTime"}});
  const Bytes two =
      batch({.records = {{.key = "a", .value = "1"}, {.key = "b", .value = "2"}}, .timestamp = kT});
  EXPECT_EQ(produce(*client, two).base_offset, 0);
  const auto second = produce(*client, two);
  EXPECT_EQ(second.base_offset, 2);
  EXPECT_EQ(second.log_append_time_ms, kT);
  EXPECT_EQ(second.log_start_offset, 0);
}

TEST(Produce, IsNeverAnsweredWithoutAcks) {
  ServerFixture server;
  auto client = server.with_topic();
  client->begin(produce_request(one_record("k", "v"), 0), kProduceVersion);
  // The next answer is that of the next request.
  EXPECT_EQ(list_offset(*client, -1).offset, 1);
}

TEST(Produce, ClosesWhenOneWithoutAcksFails) {
  ServerFixture server;
  auto client = server.with_topic();
  client->begin(produce_request(one_record("k", "v"), 0, "nothing"), kProduceVersion);
  EXPECT_TRUE(client->is_closed());
  EXPECT_TRUE(server.reported({"client raw", "acks=0"}));
}

TEST(Produce, RefusesOtherAcks) {
  ServerFixture server;
  auto client = server.with_topic();
  for (const std::int16_t acks : {std::int16_t{2}, std::int16_t{-2}}) {
    const auto result = produce(*client, one_record("k", "v"), acks);
    EXPECT_EQ(result.error_code, ErrorCode::kInvalidRequiredAcks);
    EXPECT_EQ(result.base_offset, -1);
  }
  EXPECT_EQ(fetch(*client, {}).high_watermark, 0);
}

TEST(Produce, ErrsForOnePartitionAndTakesTheOther) {
  ServerFixture server;
  server.create(ServerFixture::kTopic, {}, 2);
  auto client = std::make_unique<RawClient>(server.client());
  auto request = produce_request(one_record("k", "v"));
  request.topic_data.push_back({.name = "nothing"});
  request.topic_data[1].partition_data.push_back(
      {.index = 0, .records = RecordsField{one_record("k", "v")}});
  request.topic_data[0].partition_data.push_back(
      {.index = 5, .records = RecordsField{one_record("k", "v")}});
  request.topic_data[0].partition_data.push_back({.index = 1});
  request.topic_data[0].partition_data.push_back(
      {.index = 0, .records = RecordsField{one_record("k", "named twice")}});
  const auto answer = client->call<ProduceResponse>(request, kProduceVersion);
  EXPECT_EQ(only(answer).error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.responses.at(0).partition_responses.at(1).error_code,
            ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(answer.responses.at(0).partition_responses.at(2).error_code, ErrorCode::kInvalidRecord);
  EXPECT_EQ(answer.responses.at(0).partition_responses.at(3).error_code,
            ErrorCode::kInvalidRequest);
  EXPECT_EQ(only({.responses = {answer.responses.at(1)}}).error_code,
            ErrorCode::kUnknownTopicOrPartition);
}

TEST(Produce, AnswersADuplicateWithTheFirstOffset) {
  ServerFixture server;
  auto client = server.with_topic();
  produce(*client, one_record("k", "before"));
  EXPECT_EQ(produce(*client, numbered(0, 3)).base_offset, 1);
  EXPECT_EQ(produce(*client, numbered(3)).base_offset, 4);
  const auto again = produce(*client, numbered(0, 3));
  EXPECT_EQ(again.error_code, ErrorCode::kNone);
  EXPECT_EQ(again.base_offset, 1);
  EXPECT_EQ(list_offset(*client, -1).offset, 5);
}

TEST(Produce, RefusesAGapInTheSequenceAndAnOldEpoch) {
  ServerFixture server;
  auto client = server.with_topic();
  produce(*client, numbered(0, 1, 1));
  EXPECT_EQ(produce(*client, numbered(2, 1, 1)).error_code, ErrorCode::kOutOfOrderSequenceNumber);
  EXPECT_EQ(produce(*client, numbered(1, 1, 0)).error_code, ErrorCode::kInvalidProducerEpoch);
  EXPECT_EQ(produce(*client, numbered(1, 1, 1)).error_code, ErrorCode::kNone);
}

TEST(Produce, TakesFiveBatchesInFlightOnOneConnectionInTheirOrder) {
  ServerFixture server;
  auto client = server.with_topic();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 5; ++i) {
      ids.push_back(client->begin(produce_request(numbered(round * 5 + i)), kProduceVersion));
    }
    for (int i = 0; i < 5; ++i) {
      const auto result =
          only(client->finish<ProduceResponse>(ids[static_cast<std::size_t>(i)], kProduceVersion));
      EXPECT_EQ(result.error_code, ErrorCode::kNone) << result.error_message.value_or("");
      EXPECT_EQ(result.base_offset, round * 5 + i);
    }
  }
}

TEST(Produce, KeepsTheCodecThatCame) {
  ServerFixture server;
  auto client = server.with_topic();
  Offset offset = 0;
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    SCOPED_TRACE(codec_name(codec));
    const std::string value(5000, 'v');
    const auto result = produce(
        *client,
        batch({.records = {{.key = "k", .value = value}}, .codec = codec, .timestamp = kT}));
    ASSERT_EQ(result.error_code, ErrorCode::kNone) << result.error_message.value_or("");
    const auto read = fetch(*client, {.offset = offset});
    EXPECT_EQ(headers_of(read.records.view()).at(0).codec(), codec);
    EXPECT_EQ(records_in(read).at(0).value, value);
    ++offset;
  }
}

TEST(Produce, RecompressesWhereTheTopicAsksForIt) {
  for (const char* type : {"uncompressed", "gzip", "snappy", "lz4", "zstd"}) {
    SCOPED_TRACE(type);
    ServerFixture server;
    auto client = server.with_topic({{"compression.type", type}});
    produce(*client, batch({.records = {{.key = "k", .value = std::string(5000, 'v')}},
                            .codec = Codec::kGzip,
                            .timestamp = kT}));
    const auto read = fetch(*client, {});
    const Codec codec = headers_of(read.records.view()).at(0).codec();
    EXPECT_EQ(type == std::string("uncompressed") ? "none" : type, codec_name(codec));
    EXPECT_EQ(records_in(read).at(0).value, std::string(5000, 'v'));
  }
}

TEST(Produce, RefusesZstdBelowVersionSeven) {
  ServerFixture server;
  auto client = server.with_topic();
  const auto request = produce_request(
      batch({.records = {{.key = "k", .value = "v"}}, .codec = Codec::kZstd, .timestamp = kT}));
  EXPECT_EQ(only(client->call<ProduceResponse>(request, 6)).error_code,
            ErrorCode::kUnsupportedCompressionType);
  EXPECT_EQ(only(client->call<ProduceResponse>(request, 7)).error_code, ErrorCode::kNone);
}

TEST(Produce, RefusesBitsThatOnlyBrokersSet) {
  ServerFixture server;
  auto client = server.with_topic({{"cleanup.policy", "compact"}});
  for (const std::int16_t bit :
       {batch_attribute::kControl, batch_attribute::kDeleteHorizon, std::int16_t{0x80}}) {
    const auto result = produce(
        *client,
        batch({.records = {{.key = "k", .value = "v"}}, .timestamp = kT, .attributes = bit}));
    EXPECT_EQ(result.error_code, ErrorCode::kInvalidRecord) << bit;
  }
  EXPECT_EQ(fetch(*client, {}).high_watermark, 0);
}

TEST(Produce, TellsAtMostAThousandBadRecordsInOneAnswer) {
  ServerFixture server;
  server.create(ServerFixture::kTopic, {{"cleanup.policy", "compact"}}, 3);
  auto client = server.client();
  BatchSpec keyless{.timestamp = ManualClock::kStartMs};
  keyless.records.assign(400, {.key = std::nullopt, .value = "v"});
  auto request = produce_request(batch(keyless));
  for (const std::int32_t index : {1, 2}) {
    request.topic_data[0].partition_data.push_back(
        {.index = index, .records = RecordsField{batch(keyless)}});
  }
  const auto answer = client.call<ProduceResponse>(request, kProduceVersion);
  std::vector<std::size_t> told;
  for (const auto& partition : answer.responses.at(0).partition_responses) {
    EXPECT_EQ(partition.error_code, ErrorCode::kInvalidRecord);
    told.push_back(partition.record_errors.size());
  }
  EXPECT_EQ(told, (std::vector<std::size_t>{400, 400, 200}));
}

TEST(Produce, RefusesABatchThatWasDamagedOnTheWay) {
  ServerFixture server;
  auto client = server.with_topic();
  Bytes damaged = one_record("k", "value");
  damaged.back() ^= std::byte{1};
  EXPECT_EQ(produce(*client, damaged).error_code, ErrorCode::kCorruptMessage);
  EXPECT_EQ(produce(*client, Bytes(10)).error_code, ErrorCode::kCorruptMessage);
  EXPECT_EQ(produce(*client, one_record("k", "value")).error_code, ErrorCode::kNone);
}

TEST(Produce, RefusesWhatIsTooLargeAndGoesOn) {
  ServerFixture server;
  auto client = server.with_topic({{"max.message.bytes", "1000"}});
  const auto refused = produce(*client, one_record("k", std::string(2000, 'v')));
  EXPECT_EQ(refused.error_code, ErrorCode::kMessageTooLarge);
  EXPECT_NE(refused.error_message.value_or("").find("max.message.bytes (1000)"), std::string::npos);
  EXPECT_EQ(produce(*client, one_record("k", "v")).base_offset, 0);
}

TEST(Produce, RefusesTimestampsTooFarAhead) {
  ServerFixture server;
  auto client = server.with_topic({{"message.timestamp.after.max.ms", "1000"}});
  const auto result =
      produce(*client, batch({.records = {{.key = "k", .value = "v"}}, .timestamp = kT + 5000}));
  EXPECT_EQ(result.error_code, ErrorCode::kInvalidTimestamp);
  EXPECT_EQ(result.record_errors.size(), 1u);
}

TEST(Produce, RefusesTransactions) {
  ServerFixture server;
  auto client = server.with_topic();
  auto request = produce_request(one_record("k", "v"));
  request.transactional_id = "tx";
  const auto result = only(client->call<ProduceResponse>(request, kProduceVersion));
  EXPECT_EQ(result.error_code, ErrorCode::kInvalidRequest);
  EXPECT_NE(result.error_message.value().find("transaction"), std::string::npos);
}

TEST(Produce, TakesARequestAsLargeAsTheLimitAllows) {
  ServerFixture server([](BrokerOptions& options) {
    options.limits.request_bytes = 40 * kMebibyte;
    options.limits.request_memory_bytes = 48 * kMebibyte;
  });
  auto client = server.with_topic({{"max.message.bytes", std::to_string(40 * kMebibyte)}});
  const std::string value(static_cast<std::size_t>(39 * kMebibyte), 'v');
  const auto result = produce(*client, one_record("k", value));
  EXPECT_EQ(result.error_code, ErrorCode::kNone) << result.error_message.value_or("");
}

}  // namespace
}  // namespace lastword::test
