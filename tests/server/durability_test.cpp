// SPDX-License-Identifier: Apache-2.0
// What was told to a client is on the disk: seen through files that hold and fail their calls.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "protocol/messages/metadata.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortly{150};
constexpr std::int64_t kT = ManualClock::kStartMs;
constexpr const char* kLogFile = "addresses-0/";

std::int32_t begin_produce(RawClient& client, const std::string& value, std::int16_t acks = -1,
                           const std::string& topic = ServerFixture::kTopic) {
  return client.begin(produce_request(one_record("k", value), acks, topic), kProduceVersion);
}

ProducedPartition finish_produce(RawClient& client, std::int32_t id) {
  return only(client.finish<ProduceResponse>(id, kProduceVersion));
}

Bytes numbered(std::int32_t sequence) {
  return batch(
      {.records = {{.key = "k-" + std::to_string(sequence % 2), .value = std::to_string(sequence)}},
       .timestamp = kT,
       .producer_id = 7,
       .base_sequence = sequence});
}

TEST(Durability, NothingIsAcknowledgedOrShownBeforeItsSync) {
  ServerFixture server;
  auto writer = server.with_topic();
  auto reader = server.client();
  auto other = server.client();
  server.files.hold(CallKind::kSyncData, kLogFile);
  const auto produced = begin_produce(*writer, "v");
  ASSERT_TRUE(server.files.wait_until_held());
  const auto fetched = reader.begin(fetch_request({.max_wait_ms = 15000}), kFetchVersion);
  const auto listed = other.begin(list_request(-1), kListOffsetsVersion);
  EXPECT_FALSE(writer->readable(kShortly));
  EXPECT_FALSE(reader.readable(kShortly));
  EXPECT_FALSE(other.readable(kShortly));
  auto third = server.client();
  const auto now = fetch(third, {});
  EXPECT_EQ(now.high_watermark, 0);
  EXPECT_EQ(now.records.size_bytes(), 0u);
  EXPECT_EQ(list_offset(third, kT).offset, -1) << "found by its time before it was durable";
  server.files.release();
  EXPECT_EQ(finish_produce(*writer, produced).error_code, ErrorCode::kNone);
  EXPECT_EQ(records_in(only(reader.finish<FetchResponse>(fetched, kFetchVersion))).size(), 1u);
  EXPECT_EQ(other.finish<ListOffsetsResponse>(listed, kListOffsetsVersion)
                .topics.at(0)
                .partitions.at(0)
                .offset,
            1);
}

TEST(Durability, AcksOneIsAnsweredAfterTheWriteAndShownAfterTheSync) {
  ServerFixture server;
  auto writer = server.with_topic();
  auto reader = server.client();
  server.files.hold(CallKind::kSyncData, kLogFile);
  const auto produced = finish_produce(*writer, begin_produce(*writer, "v", 1));
  EXPECT_EQ(produced.error_code, ErrorCode::kNone);
  EXPECT_EQ(produced.base_offset, 0);
  ASSERT_TRUE(server.files.wait_until_held());
  EXPECT_EQ(fetch(reader, {}).high_watermark, 0);
  server.files.release();
  EXPECT_EQ(records_in(fetch(reader, {.max_wait_ms = 15000})).size(), 1u);
}

TEST(Durability, ADuplicateWaitsForTheSyncOfItsOriginal) {
  ServerFixture server;
  auto writer = server.with_topic();
  auto again = server.client();
  server.files.hold(CallKind::kSyncData, kLogFile);
  const auto first = writer->begin(produce_request(numbered(0)), kProduceVersion);
  ASSERT_TRUE(server.files.wait_until_held());
  const auto second = again.begin(produce_request(numbered(0)), kProduceVersion);
  EXPECT_FALSE(again.readable(kShortly));
  server.files.release();
  EXPECT_EQ(finish_produce(again, second).base_offset, 0);
  EXPECT_EQ(finish_produce(*writer, first).base_offset, 0);
  EXPECT_EQ(list_offset(*writer, -1).offset, 1);
}

TEST(Durability, OneSyncServesAllThatWait) {
  constexpr int kWriters = 16;
  ServerFixture server;
  auto first = server.with_topic();
  std::vector<RawClient> writers;
  for (int i = 0; i < kWriters; ++i) writers.push_back(server.client());
  server.files.hold(CallKind::kSyncData, kLogFile);
  const auto begun = begin_produce(*first, "first");
  ASSERT_TRUE(server.files.wait_until_held());
  server.files.clear();
  std::vector<std::int32_t> ids;
  for (RawClient& writer : writers) ids.push_back(begin_produce(writer, "v"));
  // All of them and the first are written, none is durable.
  ASSERT_TRUE(server.is_written_to(kWriters + 1));
  server.files.release();
  EXPECT_EQ(finish_produce(*first, begun).error_code, ErrorCode::kNone);
  for (std::size_t i = 0; i < writers.size(); ++i) {
    EXPECT_EQ(finish_produce(writers[i], ids[i]).error_code, ErrorCode::kNone);
  }
  EXPECT_EQ(server.files.count(CallKind::kSyncData, kLogFile), 2u);
}

TEST(Durability, NothingWaitsForTheDiskUnderDurabilityOs) {
  ServerFixture server([](BrokerOptions& options) { options.durability = Durability::kOs; });
  auto writer = server.with_topic();
  server.files.hold(CallKind::kSyncData);
  EXPECT_EQ(finish_produce(*writer, begin_produce(*writer, "v")).error_code, ErrorCode::kNone);
  EXPECT_EQ(records_in(fetch(*writer, {})).size(), 1u);
  server.files.release();
}

TEST(Durability, TheFirstUnsyncedRecordWakesTheSchedulerForFlushMs) {
  ServerFixture server([](BrokerOptions& options) {
    options.durability = Durability::kOs;
    options.cleaner.interval_ms = 600'000;
  });
  auto writer = server.with_topic({{"flush.ms", "5000"}});
  server.broker->cleaner().start();
  for (int round = 0; round < 3; ++round) {
    server.files.clear();
    server.files.hold(CallKind::kSyncData, kLogFile);
    EXPECT_EQ(finish_produce(*writer, begin_produce(*writer, "v")).error_code, ErrorCode::kNone);
    server.clock.advance(5000);
    EXPECT_TRUE(server.files.wait_until_held()) << round;
    server.files.release();
  }
  server.broker->cleaner().stop();
}

TEST(Durability, AFailedSyncIsToldAtOnceAndTheLogHeals) {
  ServerFixture server;
  auto writer = server.with_topic();
  auto reader = server.client();
  ASSERT_EQ(finish_produce(*writer, begin_produce(*writer, "good")).base_offset, 0);
  server.files.on_failed_sync(
      [&server](const std::string& path) { server.memory.lose_unsynced(path); });
  server.files.fail_syncs("addresses-0");
  const auto fetched =
      reader.begin(fetch_request({.offset = 1, .max_wait_ms = 20000}), kFetchVersion);
  const auto lost = finish_produce(*writer, begin_produce(*writer, "lost"));
  EXPECT_EQ(lost.error_code, ErrorCode::kKafkaStorageError);
  EXPECT_FALSE(reader.readable(kShortly)) << "a reader was shown a record that is not durable";
  const auto refused = finish_produce(*writer, begin_produce(*writer, "refused", 1));
  EXPECT_EQ(refused.error_code, ErrorCode::kKafkaStorageError);
  EXPECT_EQ(records_in(fetch(*writer, {})).size(), 1u) << "reads below the durable end go on";
  EXPECT_EQ(list_offset(*writer, -1).offset, 1);
  EXPECT_TRUE(server.reported({"addresses-0", "sync failed"}));

  server.files.let_sync();
  ASSERT_TRUE(server.reported({"addresses-0", "syncs work again"}));
  const auto after = finish_produce(*writer, begin_produce(*writer, "after"));
  EXPECT_EQ(after.error_code, ErrorCode::kNone) << after.error_message.value_or("");
  const auto records = records_in(only(reader.finish<FetchResponse>(fetched, kFetchVersion)));
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.front().offset, 1);
}

TEST(Durability, OldClientsAreToldOfAFailedSyncInACodeThatTheyKnow) {
  ServerFixture server;
  auto writer = server.with_topic();
  server.files.fail_syncs("addresses-0");
  const auto answer = writer->call<ProduceResponse>(produce_request(one_record("k", "v")), 3);
  EXPECT_EQ(only(answer).error_code, ErrorCode::kNotLeaderOrFollower);
}

TEST(Durability, AHeldSyncOfOnePartitionHoldsUpNoOther) {
  ServerFixture server;
  server.create("slow");
  auto slow = server.client();
  auto fast = server.with_topic();
  server.files.hold(CallKind::kSyncData, "slow-0/");
  const auto held = begin_produce(slow, "v", -1, "slow");
  ASSERT_TRUE(server.files.wait_until_held());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(finish_produce(*fast, begin_produce(*fast, "v")).base_offset, i);
  }
  EXPECT_FALSE(slow.readable(milliseconds(0)));
  server.files.release();
  EXPECT_EQ(finish_produce(slow, held).error_code, ErrorCode::kNone);
}

/// An append that rolls waits for the disk with its log locked; those behind it wait elsewhere than
/// on the threads that everybody needs.
TEST(Durability, ProducersOfALogThatRollsHoldUpNoOther) {
  ServerFixture server;
  server.create("slow", {{"segment.bytes", "1024"}});
  auto fast = server.with_topic();
  auto first = server.client();
  server.files.hold(CallKind::kSyncData, "slow-0/");
  first.begin(produce_request(one_record("k", std::string(1000, 'v')), 1, "slow"), kProduceVersion);
  ASSERT_TRUE(server.files.wait_until_held());
  std::vector<RawClient> waiting;
  const auto producers = 2 * static_cast<std::size_t>(server.options.limits.disk_threads);
  for (std::size_t i = 0; i < producers; ++i) {
    waiting.push_back(server.client());
    begin_produce(waiting.back(), std::string(1000, 'v'), -1, "slow");
  }
  EXPECT_FALSE(waiting.back().readable(kShortly));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(produce(*fast, one_record("k", "v"), 1).base_offset, i);
  }
  server.files.release();
  for (RawClient& producer : waiting) {
    EXPECT_EQ(finish_produce(producer, 1).error_code, ErrorCode::kNone);
  }
}

TEST(Durability, AReadThatHangsStallsNoOtherClient) {
  ServerFixture server([](BrokerOptions& options) { options.limits.loop_threads = 1; });
  server.create("slow");
  auto slow = server.client();
  auto fast = server.with_topic();
  produce(slow, one_record("k", "v"), -1, "slow");
  server.files.hold(CallKind::kRead, "slow-0/");
  const auto held = slow.begin(fetch_request({.topic = "slow"}), kFetchVersion);
  ASSERT_TRUE(server.files.wait_until_held());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(produce(*fast, one_record("k", "v")).base_offset, i);
    EXPECT_EQ(records_in(fetch(*fast, {.offset = i})).size(), 1u);
  }
  EXPECT_FALSE(slow.readable(milliseconds(0)));
  server.files.release();
  EXPECT_EQ(records_in(only(slow.finish<FetchResponse>(held, kFetchVersion))).size(), 1u);
}

TEST(Durability, ATopicThatIsBeingMadeHoldsUpNoLoopThread) {
  ServerFixture server([](BrokerOptions& options) { options.limits.loop_threads = 1; });
  auto fast = server.with_topic();
  server.files.hold(CallKind::kCreateDirectories, "held-0");
  server.files.hold(CallKind::kSyncData, "topics");
  std::thread maker([&server] { EXPECT_TRUE(server.broker->store().create({.name = "held"})); });
  EXPECT_TRUE(server.files.wait_until_held());
  MetadataRequest unknown;
  unknown.topics.emplace().push_back({.name = "nothing"});
  const auto answer = fast->call<MetadataResponse>(unknown, 12);
  EXPECT_EQ(answer.topics.at(0).error_code, ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(produce(*fast, one_record("k", "v")).base_offset, 0);
  server.files.release();
  maker.join();
}

// Five batches are on their way; the daemon dies when `answered` of them have been acknowledged,
// and the producer sends all five again.
void resend_after_kill(int answered, bool with_pass) {
  SCOPED_TRACE("killed after " + std::to_string(answered) + (with_pass ? ", with a pass" : ""));
  ServerFixture server;
  auto writer = server.with_topic(
      {{"cleanup.policy", "compact"}, {"segment.ms", "1000"}, {"min.cleanable.dirty.ratio", "0"}});
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 5; ++i) {
    if (i == answered) {
      // From here on nothing is acknowledged, though it is written.
      server.files.hold(CallKind::kSyncData, kLogFile);
    }
    ids.push_back(writer->begin(produce_request(numbered(i)), kProduceVersion));
    if (i < answered) {
      ASSERT_EQ(finish_produce(*writer, ids.back()).base_offset, i);
    }
  }
  if (answered < 5) {
    ASSERT_TRUE(server.is_written_to(5));
  }
  server.kill();
  server.start();
  if (with_pass) {
    // The values of both keys but the last ones go.
    server.clock.advance(5000);
    server.broker->cleaner().run_due();
    server.clock.advance(5000);
    server.broker->cleaner().run_due();
  }
  auto again = server.client();
  for (int i = 0; i < 5; ++i) {
    const auto result = produce(again, numbered(i));
    EXPECT_EQ(result.error_code, ErrorCode::kNone) << result.error_message.value_or("");
    EXPECT_EQ(result.base_offset, i);
  }
  EXPECT_EQ(list_offset(again, -1).offset, 5);
  std::map<std::string, int> times;
  for (const auto& record : records_in(fetch(again, {}))) ++times[record.value.value()];
  for (const auto& [value, count] : times) EXPECT_EQ(count, 1) << value;
  EXPECT_EQ(times.size(), with_pass ? 2u : 5u);
}

TEST(Durability, FiveBatchesInFlightAreStoredOnceWheneverTheDaemonIsKilled) {
  for (int answered = 0; answered <= 5; ++answered) resend_after_kill(answered, false);
}

TEST(Durability, FiveBatchesInFlightAreStoredOnceAlsoWhenAPassRemovedThem) {
  for (int answered = 0; answered <= 5; ++answered) resend_after_kill(answered, true);
}

TEST(Durability, AStopAnswersWhatWasRead) {
  ServerFixture server;
  auto writer = server.with_topic();
  auto reader = server.client();
  server.files.hold(CallKind::kSyncData, kLogFile);
  const auto produced = begin_produce(*writer, "v");
  const auto fetched = reader.begin(fetch_request({.max_wait_ms = 20000}), kFetchVersion);
  ASSERT_TRUE(server.files.wait_until_held());
  std::thread stopper([&server] { server.stop(); });
  EXPECT_EQ(only(reader.finish<FetchResponse>(fetched, kFetchVersion)).error_code,
            ErrorCode::kNone);
  EXPECT_TRUE(reader.is_closed());
  server.files.release();
  EXPECT_EQ(finish_produce(*writer, produced).error_code, ErrorCode::kNone);
  EXPECT_TRUE(writer->is_closed());
  stopper.join();
}

TEST(Durability, AStopEndsThoughASyncHangsForAWhile) {
  ServerFixture server([](BrokerOptions& options) { options.limits.shutdown_ms = 100; });
  auto writer = server.with_topic();
  server.files.hold(CallKind::kSyncData, kLogFile);
  begin_produce(*writer, "v");
  ASSERT_TRUE(server.files.wait_until_held());
  std::thread stopper([&server] {
    static_cast<void>(server.broker->stop());
    server.broker.reset();
  });
  EXPECT_FALSE(writer->readable(milliseconds(1500)) && !writer->is_closed());
  server.files.release();
  stopper.join();
  server.memory.crash(1, CrashKind::kProcess);
  server.start();
  auto reader = server.client();
  EXPECT_EQ(list_offset(reader, -1).offset, 1);
}

}  // namespace
}  // namespace lastword::test
