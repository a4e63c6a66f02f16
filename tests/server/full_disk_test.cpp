// SPDX-License-Identifier: Apache-2.0
// A disk without room, and logs that are not open yet: what is refused, and what goes on.
#include <gtest/gtest.h>

#include "protocol/messages/api_versions.h"
#include "protocol/messages/delete_topics.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

constexpr std::int64_t kLatest = -1;
constexpr const char* kOther = "other";

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    client_ = server_.with_topic();
    server_.create(kOther);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(produce(*client_, large(), -1, kOther).error_code, ErrorCode::kNone);
    }
    server_.memory.limit_space(server_.memory.space_used() + 4 * kMebibyte);
    while (last_.error_code == ErrorCode::kNone && stored_ < 1000) {
      last_ = produce(*client_, large());
      if (last_.error_code == ErrorCode::kNone) ++stored_;
    }
    ASSERT_GT(stored_, 3);
  }
  static Bytes large() { return one_record("k", std::string(300'000, 'v')); }
  void expect_all_readable(RawClient& client) {
    EXPECT_EQ(list_offset(client, kLatest).offset, stored_);
    for (Offset offset = 0; offset < stored_; ++offset) {
      const auto records = records_in(fetch(client, {.offset = offset, .max_bytes = 1}));
      ASSERT_EQ(records.size(), 1U);
      EXPECT_EQ(records[0].offset, offset);
    }
  }
  void make_room() {
    const auto answer =
        client_->call<DeleteTopicsResponse>(DeleteTopicsRequest{.topic_names = {kOther}}, 5);
    EXPECT_EQ(answer.responses.at(0).error_code, ErrorCode::kNone);
    server_.broker->store().wait_until_tidy();
    server_.clock.advance(10 * kSecondMs);
    server_.broker->cleaner().run_due();
  }

  ServerFixture server_{
      [](BrokerOptions& options) { options.limits.disk_reserve_bytes = kMebibyte; }};
  std::unique_ptr<RawClient> client_{};
  ProducedPartition last_{};
  Offset stored_ = 0;
};

TEST_F(FullDisk, RefusesAProduceWithAClearErrorAndServesReads) {
  EXPECT_EQ(last_.error_code, ErrorCode::kKafkaStorageError);
  EXPECT_NE(last_.error_message.value_or("").find("full"), std::string::npos);
  EXPECT_EQ(last_.base_offset, -1);
  expect_all_readable(*client_);
}

TEST_F(FullDisk, TakesProducesAgainWithoutARestartWhenATopicIsDeleted) {
  make_room();
  EXPECT_EQ(produce(*client_, large()).base_offset, stored_);
  ++stored_;
  expect_all_readable(*client_);
}

TEST_F(FullDisk, DoesNotStandInTheWayOfAStartAfterAKill) {
  for (int kills = 0; kills < 2; ++kills) {
    server_.kill();
    server_.start();
    client_ = std::make_unique<RawClient>(server_.client());
    expect_all_readable(*client_);
  }
  make_room();
  EXPECT_EQ(produce(*client_, large()).base_offset, stored_);
}

TEST(NotOpenYet, IsARetriableErrorAndHoldsUpNobodyElse) {
  ServerFixture server;
  auto writer = server.with_topic();
  server.create("slow");
  produce(*writer, one_record("k", "v"));
  produce(*writer, one_record("k", "v"), -1, "slow");
  for (int kills = 0; kills < 2; ++kills) {
    server.kill();
    server.files.hold(CallKind::kOpen, "slow-0/");
    server.begin_start();
    auto client = server.client();
    EXPECT_EQ(client.call<ApiVersionsResponse>(ApiVersionsRequest{}, 0).error_code,
              ErrorCode::kNone);
    wait_until_open(client);
    EXPECT_EQ(records_in(fetch(client, {.max_wait_ms = 5000})).size(), 1U);
    ASSERT_TRUE(server.files.wait_until_held());
    EXPECT_EQ(fetch(client, {.topic = "slow"}).error_code, ErrorCode::kNotLeaderOrFollower);
    EXPECT_EQ(produce(client, one_record("k", "v"), -1, "slow").error_code,
              ErrorCode::kNotLeaderOrFollower);
    // The first time it dies before that log is open.
  }
  server.files.release();
  auto client = server.client();
  wait_until_open(client, "slow");
  EXPECT_EQ(records_in(fetch(client, {.topic = "slow"})).size(), 1U);
}

}  // namespace
}  // namespace lastword::test
