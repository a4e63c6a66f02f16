// SPDX-License-Identifier: Apache-2.0
#include "client/consumer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <thread>

#include "client/producer.h"
#include "tests/client/damage.h"
#include "tests/client/reading.h"
#include "tests/support/broker_fixture.h"

namespace lastword::client {
namespace {

using std::chrono::milliseconds;

class ConsumerTest : public testing::Test {
 protected:
  void create_compacted() {
    fixture_.create_topic(
        "a", 1,
        {{"cleanup.policy", "compact"}, {"segment.ms", "1000"}, {"delete.retention.ms", "60000"}});
  }
  Consumer consumer(Consumer::Options options = {}) {
    const auto topic = Admin(link_).topic("a");
    if (!topic) throw std::runtime_error(topic.error().text);
    return Consumer(link_, *topic, options);
  }
  PartitionChunk poll_one(Consumer& consumer) {
    auto chunks = consumer.poll();
    if (!chunks) throw std::runtime_error(chunks.error().text);
    return std::move(chunks->at(0));
  }

  test::BrokerFixture fixture_{};
  Link link_{fixture_.connection()};
};

TEST_F(ConsumerTest, ReadsFromAnOffsetInTheMiddleOfABatch) {
  fixture_.create_topic("a");
  fixture_.produce("a", {{.key = "0"}, {.key = "1"}, {.key = "2"}});
  EXPECT_EQ(test::offsets_of(test::read_all(fixture_, "a", 1)), (std::vector<Offset>{1, 2}));
}

TEST_F(ConsumerTest, StepsOverWhatCompactionLeftOut) {
  create_compacted();
  for (int i = 0; i < 10; ++i) fixture_.produce("a", "same", std::to_string(i));
  fixture_.produce("a", "other", "v");
  fixture_.advance(1001);
  fixture_.advance(1001);
  EXPECT_EQ(test::offsets_of(test::read_all(fixture_, "a")), (std::vector<Offset>{9, 10}));
  for (Offset from = 0; from <= 11; ++from) {
    const auto records = test::read_all(fixture_, "a", from);
    EXPECT_EQ(records.size(), from <= 9 ? 2U : from == 10 ? 1U : 0U) << from;
  }
}

TEST_F(ConsumerTest, ReachesTheHighWatermarkOverAnEmptyBatch) {
  create_compacted();
  fixture_.produce("a", "k", "v");
  fixture_.produce("a", "k", std::nullopt);
  fixture_.advance(1001);
  fixture_.advance(60'001);
  fixture_.advance(600'000);
  EXPECT_EQ(fixture_.removed_tombstone_mark("a"), 2);
  auto reading = consumer({.wait_max = milliseconds(0)});
  reading.seek(0, 0);
  const PartitionChunk chunk = poll_one(reading);
  EXPECT_TRUE(chunk.records.empty());
  EXPECT_EQ(chunk.next, 2);
  EXPECT_EQ(chunk.high_watermark, 2);
}

TEST_F(ConsumerTest, TellsTheMarkOnlyWhenAsked) {
  create_compacted();
  auto plain = consumer({.wait_max = milliseconds(0)});
  plain.seek(0, 0);
  EXPECT_EQ(poll_one(plain).removed_tombstone_mark, std::nullopt);
  auto asking = consumer({.wait_max = milliseconds(0), .want_removed_tombstone_mark = true});
  asking.seek(0, 0);
  EXPECT_EQ(poll_one(asking).removed_tombstone_mark, 0);
}

TEST_F(ConsumerTest, AnOffsetOutsideTheLogIsTheCallersBusiness) {
  fixture_.create_topic("a");
  auto reading = consumer({.wait_max = milliseconds(0)});
  reading.seek(0, 5);
  const PartitionChunk chunk = poll_one(reading);
  EXPECT_EQ(chunk.error, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(reading.position(0), 5);
}

TEST_F(ConsumerTest, ALargerBatchThanAskedForStillComesWhole) {
  fixture_.create_topic("a");
  for (int i = 0; i < 3; ++i) fixture_.produce("a", "k", std::string(10'000, 'v'));
  EXPECT_EQ(test::read_all(fixture_, "a", 0, {.partition_bytes_max = 1}).size(), 3U);
}

TEST_F(ConsumerTest, HoldsBackWhatDoesNotFitInMemory) {
  fixture_.create_topic("a");
  for (int i = 0; i < 4; ++i) fixture_.produce("a", "k", std::string(10'000, 'v'));
  auto reading = consumer({.wait_max = milliseconds(0), .memory_bytes_max = 15'000});
  reading.seek(0, 0);
  EXPECT_EQ(poll_one(reading).records.size(), 2U);
  EXPECT_EQ(poll_one(reading).records.size(), 2U);
}

TEST_F(ConsumerTest, EveryPartitionGetsItsTurn) {
  fixture_.create_topic("a", 3);
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    for (int i = 0; i < 5; ++i) {
      fixture_.produce("a", {{.key = "k", .value = std::string(10'000, 'v')}}, partition);
    }
  }
  auto reading = consumer({.wait_max = milliseconds(0), .fetch_bytes_max = 1});
  for (std::int32_t partition = 0; partition < 3; ++partition) reading.seek(partition, 0);
  for (int polls = 0; polls < 6; ++polls) ASSERT_TRUE(reading.poll());
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    EXPECT_EQ(reading.position(partition), 2) << partition;
  }
}

TEST_F(ConsumerTest, ADamagedBatchKeepsNothingElseFromComing) {
  fixture_.create_topic("a", 3);
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    fixture_.produce("a", {{.key = "k", .value = "first"}}, partition);
  }
  fixture_.produce("a", {{.key = "k", .value = "to be damaged"}}, 1);
  test::damage(fixture_, "a-1", "to be damaged");
  auto reading = consumer({.wait_max = milliseconds(0)});
  for (std::int32_t partition = 0; partition < 3; ++partition) reading.seek(partition, 0);
  std::vector<Offset> records(3);
  std::vector<std::string> errors;
  for (int polls = 0; polls < 2; ++polls) {
    const auto chunks = reading.poll();
    ASSERT_TRUE(chunks) << chunks.error().text;
    for (const PartitionChunk& chunk : *chunks) {
      records.at(static_cast<std::size_t>(chunk.partition)) += std::ssize(chunk.records);
      if (chunk.error == ErrorCode::kNone) continue;
      EXPECT_EQ(chunk.error, ErrorCode::kCorruptMessage);
      EXPECT_EQ(chunk.next, chunk.from);
      EXPECT_EQ(chunk.unreadable.value().kind, ErrorKind::kCorruptBatch);
      errors.push_back(chunk.unreadable->text);
    }
    fixture_.produce("a", {{.key = "k", .value = "second"}}, 2);
  }
  EXPECT_EQ(records, (std::vector<Offset>{1, 1, 2}));
  EXPECT_EQ(errors, std::vector<std::string>{
                        "a partition 1, offset 1: the checksum of a batch does not hold"});
  EXPECT_EQ(reading.position(1), 1);
}

TEST_F(ConsumerTest, SaysWhichBatchIsTooLargeToUnpack) {
  fixture_.create_topic("a");
  const auto producer =
      Producer::open(fixture_.connection(), "a", {.batch = {.compression = {Codec::kGzip}}});
  ASSERT_TRUE(producer && (*producer)->send({.value = std::string(10'000, 'v')}));
  ASSERT_TRUE((*producer)->flush());
  auto reading = consumer({.wait_max = milliseconds(0), .batch_bytes_max = 1000});
  reading.seek(0, 0);
  const PartitionChunk chunk = poll_one(reading);
  ASSERT_TRUE(chunk.unreadable);
  EXPECT_NE(chunk.unreadable->text.find("a partition 0, offset 0: "), std::string::npos)
      << chunk.unreadable->text;
}

TEST_F(ConsumerTest, IsWokenByANewRecord) {
  fixture_.create_topic("a");
  auto reading = consumer({.wait_max = milliseconds(20'000)});
  reading.seek(0, 0);
  const auto start = std::chrono::steady_clock::now();
  std::thread writer([this] { fixture_.produce("a", "k", "v"); });
  const PartitionChunk chunk = poll_one(reading);
  writer.join();
  EXPECT_EQ(chunk.records.size(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(10'000));
}

TEST_F(ConsumerTest, GoesOnAfterARestartOfTheBroker) {
  fixture_.create_topic("a");
  fixture_.produce("a", "k", "1");
  auto reading = consumer({.wait_max = milliseconds(0)});
  reading.seek(0, 0);
  EXPECT_EQ(poll_one(reading).records.size(), 1U);
  fixture_.restart();
  fixture_.produce("a", "k", "2");
  const PartitionChunk chunk = poll_one(reading);
  ASSERT_EQ(chunk.records.size(), 1U);
  EXPECT_EQ(chunk.records[0].offset, 1);
}

}  // namespace
}  // namespace lastword::client
