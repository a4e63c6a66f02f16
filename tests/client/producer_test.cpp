// SPDX-License-Identifier: Apache-2.0
#include "client/producer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "client/partitioner.h"
#include "tests/client/cutting_proxy.h"
#include "tests/client/reading.h"
#include "tests/support/broker_fixture.h"

namespace lastword::client {
namespace {

class ProducerTest : public testing::Test {
 protected:
  void open(const std::string& topic, Producer::Options options = {}) {
    open(fixture_.connection(), topic, std::move(options));
  }
  void open(const ConnectionSetup& setup, const std::string& topic, Producer::Options options) {
    options.on_delivery = [this](const Delivery& delivery) { deliveries_.push_back(delivery); };
    auto producer = Producer::open(setup, topic, std::move(options));
    ASSERT_TRUE(producer) << producer.error().text;
    producer_ = *std::move(producer);
  }
  void send(const Record& record) {
    const auto sent = producer_->send(record);
    EXPECT_TRUE(sent) << sent.error().text;
  }
  void flush() {
    const auto flushed = producer_->flush();
    EXPECT_TRUE(flushed) << flushed.error().text;
  }
  /// For some seconds at most.
  void poll_until_reported(std::size_t batches) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (deliveries_.size() < batches && std::chrono::steady_clock::now() < end) {
      const auto polled = producer_->poll();
      ASSERT_TRUE(polled) << polled.error().text;
      std::this_thread::yield();
    }
  }
  std::size_t stored() const {
    std::size_t records = 0;
    for (const Delivery& delivery : deliveries_) {
      records += delivery.error ? 0 : delivery.numbers.size();
    }
    return records;
  }
  std::vector<Delivery> refusals() const {
    std::vector<Delivery> refusals;
    for (const Delivery& delivery : deliveries_) {
      if (delivery.error) refusals.push_back(delivery);
    }
    return refusals;
  }
  /// A batch for each record.
  static Producer::Options one_by_one() { return {.batch = {.batch_bytes_max = 1}}; }

  test::BrokerFixture fixture_{};
  std::unique_ptr<Producer> producer_{};
  std::vector<Delivery> deliveries_{};
};

TEST_F(ProducerTest, EveryCodecComesBackAsItWas) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    const std::string topic = "with-" + std::string(codec_name(codec));
    SCOPED_TRACE(topic);
    fixture_.create_topic(topic);
    open(topic, {.batch = {.compression = {codec}}});
    for (int i = 0; i < 500; ++i) {
      send({.key = "key " + std::to_string(i),
            .value = std::string(100, 'v'),
            .headers = {{"number", std::to_string(i)}, {"null", std::nullopt}}});
    }
    flush();
    const auto records = test::read_all(fixture_, topic);
    ASSERT_EQ(records.size(), 500U);
    EXPECT_EQ(records[499].key, "key 499");
    EXPECT_EQ(records[499].value, std::string(100, 'v'));
    EXPECT_EQ(records[499].headers,
              (std::vector<Header>{{"number", "499"}, {"null", std::nullopt}}));
    for (const BatchHeader& batch : test::batches_of(fixture_, topic)) {
      EXPECT_EQ(batch.codec(), codec);
    }
  }
}

TEST_F(ProducerTest, KeepsNullApartFromEmpty) {
  fixture_.create_topic("a");
  open("a");
  send({.key = "k", .value = std::nullopt});
  send({.key = "k", .value = ""});
  send({.key = std::nullopt, .value = "v"});
  send({.key = "", .value = "v"});
  flush();
  const auto records = test::read_all(fixture_, "a");
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].value, std::nullopt);
  EXPECT_EQ(records[1].value, "");
  EXPECT_EQ(records[2].key, std::nullopt);
  EXPECT_EQ(records[3].key, "");
}

TEST_F(ProducerTest, GathersRecordsInBatches) {
  fixture_.create_topic("a");
  open("a");
  for (int i = 0; i < 100; ++i) send({.key = "k", .value = "v"});
  flush();
  EXPECT_LE(test::batches_of(fixture_, "a").size(), 3U);  // linger may end one early
  EXPECT_EQ(stored(), 100U);
}

TEST_F(ProducerTest, PlacesKeysAsTheJavaClientDoes) {
  fixture_.create_topic("a", 5);
  open("a");
  for (int i = 0; i < 50; ++i) send({.key = std::to_string(i), .value = "v"});
  flush();
  for (std::int32_t partition = 0; partition < 5; ++partition) {
    for (const auto& record : test::read_all(fixture_, "a", 0, {}, partition)) {
      EXPECT_EQ(partition_of_key(*record.key, 5), partition);
    }
  }
}

TEST_F(ProducerTest, SpreadsRecordsWithoutKeysBatchByBatch) {
  fixture_.create_topic("a", 3);
  open("a", one_by_one());
  for (int i = 0; i < 9; ++i) send({.value = "v"});
  flush();
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    EXPECT_GE(test::read_all(fixture_, "a", 0, {}, partition).size(), 1U) << partition;
  }
}

TEST_F(ProducerTest, NamesEachRecordToBlame) {
  fixture_.create_topic("a", 1, {{"cleanup.policy", "compact"}});
  open("a");
  send({.key = "k", .value = "v"});
  send({.value = "no key"});
  send({.key = "k", .value = "v"});
  send({.value = "no key"});
  flush();
  ASSERT_EQ(refusals().size(), 1U);
  const Delivery refusal = refusals().front();
  EXPECT_EQ(refusal.error->kind, ErrorKind::kInvalidRecord);
  EXPECT_EQ(refusal.numbers.size(), 4U);
  ASSERT_EQ(refusal.refused.size(), 2U);
  EXPECT_EQ(refusal.refused[0].number, 1U);
  EXPECT_EQ(refusal.refused[1].number, 3U);
  EXPECT_NE(refusal.refused[0].text.find("key"), std::string::npos);
}

TEST_F(ProducerTest, ARefusedBatchDoesNotHoldUpThoseBehindIt) {
  fixture_.create_topic("a", 1, {{"cleanup.policy", "compact"}});
  open("a", one_by_one());
  for (int i = 0; i < 20; ++i) {
    send({.key = i == 2 || i == 9 ? Field() : Field("key " + std::to_string(i)), .value = "v"});
  }
  flush();
  EXPECT_EQ(refusals().size(), 2U);
  EXPECT_EQ(stored(), 18U);
  const auto records = test::read_all(fixture_, "a");
  ASSERT_EQ(records.size(), 18U);
  EXPECT_EQ(records[2].key, "key 3");
  EXPECT_EQ(records[17].key, "key 19");
}

// Before its first success the broker does not know the producer, and takes any number from it.
TEST_F(ProducerTest, ARefusedFirstBatchDoesNotHoldUpThoseBehindIt) {
  fixture_.create_topic("a", 2, {{"cleanup.policy", "compact"}});
  open("a", one_by_one());
  for (int i = 0; i < 20; ++i) {
    send({.key = i < 4 ? Field() : Field("key " + std::to_string(i)),
          .value = "v",
          .partition = i % 2});
  }
  flush();
  EXPECT_EQ(refusals().size(), 4U);
  EXPECT_EQ(stored(), 16U);
  for (std::int32_t partition = 0; partition < 2; ++partition) {
    const auto records = test::read_all(fixture_, "a", 0, {}, partition);
    ASSERT_EQ(records.size(), 8U);
    EXPECT_EQ(records[0].key, "key " + std::to_string(4 + partition));
    EXPECT_EQ(records[7].key, "key " + std::to_string(18 + partition));
  }
}

TEST_F(ProducerTest, SendsInPartsAFirstBatchThatIsTooLarge) {
  fixture_.create_topic("a", 1, {{"max.message.bytes", "20000"}});
  open("a", {.batch = {.batch_bytes_max = 30'000, .linger = std::chrono::seconds(10)}});
  constexpr int kSmall = 100;  // 25 kB together
  constexpr int kLarge = 5;    // no two fit in a batch
  for (int i = 0; i < kSmall + kLarge; ++i) {
    send({.key = std::to_string(i), .value = std::string(i < kSmall ? 250 : 16'000, 'v')});
  }
  flush();
  EXPECT_TRUE(refusals().empty());
  const auto records = test::read_all(fixture_, "a");
  ASSERT_EQ(records.size(), static_cast<std::size_t>(kSmall + kLarge));
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].key, std::to_string(i));
}

TEST_F(ProducerTest, SendsInPartsWhatIsTooLargeTogether) {
  fixture_.create_topic("a", 1, {{"max.message.bytes", "2000"}});
  open("a", {.batch = {.batch_bytes_max = 30'000}});
  for (int i = 0; i < 500; ++i) {
    send({.key = std::to_string(i),
          .value = std::string(i == 250 ? 3000 : 100, 'v'),
          .headers = {{"number", std::to_string(i)}}});
  }
  flush();
  ASSERT_EQ(refusals().size(), 1U);
  EXPECT_EQ(refusals().front().numbers, std::vector<std::uint64_t>{250});
  EXPECT_EQ(refusals().front().error->kind, ErrorKind::kBatchTooLarge);
  const auto records = test::read_all(fixture_, "a");
  ASSERT_EQ(records.size(), 499U);
  for (std::size_t i = 0; i < 499; ++i) {
    EXPECT_EQ(records[i].key, std::to_string(i < 250 ? i : i + 1));
    EXPECT_EQ(records[i].headers.at(0).value, records[i].key);
  }
}

TEST_F(ProducerTest, StoresEachRecordOnceWhenTheConnectionIsCut) {
  constexpr int kAnswersOfBegin = 3;  // versions, topic, producer id
  constexpr int kRecords = 12;
  for (int answered = 0; answered <= 6; ++answered) {
    const std::string topic = "cut-after-" + std::to_string(answered);
    SCOPED_TRACE(topic);
    fixture_.create_topic(topic);
    deliveries_.clear();
    const test::CuttingProxy proxy(fixture_.connection().broker, kAnswersOfBegin + answered);
    open({.broker = proxy.address()}, topic, one_by_one());
    for (int i = 0; i < kRecords; ++i) send({.key = std::to_string(i), .value = "v"});
    flush();
    producer_.reset();
    EXPECT_EQ(proxy.connections(), 2);
    EXPECT_EQ(stored(), static_cast<std::size_t>(kRecords));
    const auto records = test::read_all(fixture_, topic);
    ASSERT_EQ(records.size(), static_cast<std::size_t>(kRecords));
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_EQ(records[static_cast<std::size_t>(i)].key, std::to_string(i));
    }
  }
}

TEST_F(ProducerTest, PollReportsWhatWasAnswered) {
  fixture_.create_topic("a", 1, {{"cleanup.policy", "compact"}});
  open("a", {.batch = {.linger = std::chrono::milliseconds(0)}});
  send({.key = "k", .value = "v"});
  poll_until_reported(1);
  ASSERT_EQ(stored(), 1U);
  EXPECT_EQ(deliveries_.front().base_offset, 0);
  send({.value = "no key"});
  poll_until_reported(2);
  EXPECT_EQ(refusals().size(), 1U);
}

TEST_F(ProducerTest, GoesOnAfterARestartOfTheBroker) {
  fixture_.create_topic("a");
  open("a", one_by_one());
  for (int i = 0; i < 5; ++i) send({.key = "k", .value = "v"});
  flush();
  fixture_.restart();
  for (int i = 0; i < 5; ++i) send({.key = "k", .value = "v"});
  flush();
  EXPECT_EQ(test::read_all(fixture_, "a").size(), 10U);
}

TEST_F(ProducerTest, GivesUpWhenTheDeliveryTimeIsOver) {
  fixture_.create_topic("a");
  auto options = one_by_one();
  options.delivery_timeout = std::chrono::milliseconds(1);
  open("a", options);
  send({.key = "k", .value = "v"});
  fixture_.stop();
  EXPECT_FALSE(producer_->flush());
  EXPECT_EQ(stored() + refusals().size(), 1U);
  EXPECT_FALSE(producer_->send({.key = "k", .value = "v"}));
  fixture_.start();
}

TEST_F(ProducerTest, WithLessAcksItIsNotIdempotent) {
  for (const Acks acks : {Acks::kNone, Acks::kLeader}) {
    const std::string topic = "acks-" + std::to_string(static_cast<int>(acks));
    fixture_.create_topic(topic);
    open(topic, {.acks = acks});
    EXPECT_EQ(producer_->producer_id(), kNoProducerId);
    send({.key = "k", .value = "v"});
    flush();
    deliveries_.clear();
  }
  Link link(fixture_.connection());
  const std::vector<std::int32_t> partitions{0};
  EXPECT_TRUE(Admin(link).offsets("acks-1", partitions, {}));  // returns once it is on disk
  EXPECT_EQ(test::read_all(fixture_, "acks-1").size(), 1U);
}

TEST_F(ProducerTest, KnowsItsPartitions) {
  fixture_.create_topic("a", 2);
  open("a");
  const auto sent = producer_->send({.value = "v", .partition = 2});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().text, "topic a has partitions 0 to 1, not 2");
}

}  // namespace
}  // namespace lastword::client
