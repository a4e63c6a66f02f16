// SPDX-License-Identifier: Apache-2.0
// DescribeConfigs, InitProducerId, FindCoordinator.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "protocol/messages/describe_configs.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/init_producer_id.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

using Described = DescribeConfigsResponse::Result;
using Config = Described::Config;

constexpr std::int8_t kTopicResource = 2;
constexpr std::int8_t kBrokerResource = 4;
constexpr std::int8_t kFromTopic = 1;
constexpr std::int8_t kFromFile = 4;
constexpr std::int8_t kFromDefault = 5;

Described describe(RawClient& client, std::int8_t type, const std::string& name,
                   std::vector<std::string> keys = {}, bool detail = true) {
  DescribeConfigsRequest request{.include_synonyms = detail, .include_documentation = detail};
  request.resources.push_back(
      {.resource_type = type, .resource_name = name, .configuration_keys = std::move(keys)});
  return client.call<DescribeConfigsResponse>(request, 4).results.at(0);
}

Config config(const Described& described, const std::string& name) {
  const auto found = std::ranges::find(described.configs, name, &Config::name);
  if (found == described.configs.end()) throw std::runtime_error("no setting " + name);
  return *found;
}

TEST(DescribeConfigs, TellsWhereAValueComesFrom) {
  ServerFixture server([](BrokerOptions& options) {
    options.topic_defaults["segment.bytes"] = "1048576";
    options.topics["in-file"] = {.settings = {{"cleanup.policy", "compact"}}};
  });
  auto client = server.with_topic({{"retention.ms", "5000"}});
  const auto topic = describe(*client, kTopicResource, ServerFixture::kTopic);
  EXPECT_EQ(topic.error_code, ErrorCode::kNone);
  const auto own = config(topic, "retention.ms");
  EXPECT_EQ(own.value, "5000");
  EXPECT_EQ(own.config_source, kFromTopic);
  EXPECT_FALSE(own.read_only);
  ASSERT_EQ(own.synonyms.size(), 2u);
  EXPECT_EQ(own.synonyms[0].name, "retention.ms");
  EXPECT_EQ(own.synonyms[0].source, kFromTopic);
  EXPECT_EQ(own.synonyms[1].name, "log.retention.ms");
  EXPECT_EQ(own.synonyms[1].source, kFromDefault);
  EXPECT_FALSE(own.documentation.value_or("").empty());
  const auto from_file = config(topic, "segment.bytes");
  EXPECT_EQ(from_file.value, "1048576");
  EXPECT_EQ(from_file.config_source, kFromFile);
  EXPECT_EQ(config(topic, "cleanup.policy").config_source, kFromDefault);
  EXPECT_TRUE(config(describe(*client, kTopicResource, "in-file"), "cleanup.policy").read_only);
}

TEST(DescribeConfigs, TellsOnlyWhatIsAskedFor) {
  ServerFixture server;
  auto client = server.with_topic();
  const auto one = describe(*client, kTopicResource, ServerFixture::kTopic, {"segment.ms"}, false);
  ASSERT_EQ(one.configs.size(), 1u);
  EXPECT_TRUE(one.configs[0].synonyms.empty());
  EXPECT_FALSE(one.configs[0].documentation.has_value());
}

TEST(DescribeConfigs, DescribesThisBrokerAndNoOther) {
  ServerFixture server;
  auto client = server.client();
  EXPECT_FALSE(describe(client, kBrokerResource, "1").configs.empty());
  EXPECT_EQ(describe(client, kBrokerResource, "2").error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(describe(client, 7, "1").error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(describe(client, kTopicResource, "nothing").error_code,
            ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(describe(client, kTopicResource, "a/b").error_code, ErrorCode::kInvalidTopicException);
}

TEST(DescribeConfigs, DescribesAResourceOnceHoweverOftenItIsNamed) {
  ServerFixture server;
  auto client = server.with_topic();
  DescribeConfigsRequest request{.include_synonyms = true};
  for (int i = 0; i < 1000; ++i) {
    request.resources.push_back(
        {.resource_type = kTopicResource, .resource_name = ServerFixture::kTopic});
  }
  EXPECT_EQ(client->call<DescribeConfigsResponse>(request, 4).results.size(), 1u);
}

TEST(InitProducerId, NeverGivesAnIdTwice) {
  ServerFixture server;
  std::set<std::int64_t> ids;
  for (int start = 0; start < 3; ++start) {
    auto client = server.client();
    for (int i = 0; i < 50; ++i) {
      const auto answer = client.call<InitProducerIdResponse>(InitProducerIdRequest{}, 4);
      EXPECT_EQ(answer.error_code, ErrorCode::kNone);
      EXPECT_GE(answer.producer_id, 0);
      EXPECT_EQ(answer.producer_epoch, 0);
      EXPECT_TRUE(ids.insert(answer.producer_id).second);
    }
    client.close();
    if (start == 0) server.restart();
    if (start == 1) {
      server.kill();
      server.start();
    }
  }
}

TEST(InitProducerId, RefusesTransactions) {
  ServerFixture server;
  auto client = server.client();
  const auto answer =
      client.call<InitProducerIdResponse>(InitProducerIdRequest{.transactional_id = "tx"}, 4);
  EXPECT_EQ(answer.error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(answer.producer_id, -1);
  EXPECT_TRUE(server.reported({"client raw", "transactional"}));
}

TEST(FindCoordinator, IsThisNodeForGroupsAndNobodyForTransactions) {
  ServerFixture server;
  auto client = server.client();
  for (std::int16_t version = 0; version <= 3; ++version) {
    const auto answer =
        client.call<FindCoordinatorResponse>(FindCoordinatorRequest{.key = "group"}, version);
    EXPECT_EQ(answer.error_code, ErrorCode::kNone);
    EXPECT_EQ(answer.node_id, 1);
    EXPECT_EQ(answer.port, server.broker->port());
  }
  const auto many = client.call<FindCoordinatorResponse>(
      FindCoordinatorRequest{.coordinator_keys = {"one", "two"}}, 6);
  ASSERT_EQ(many.coordinators.size(), 2u);
  EXPECT_EQ(many.coordinators[1].key, "two");
  EXPECT_EQ(many.coordinators[1].host, "127.0.0.1");
  const auto none =
      client.call<FindCoordinatorResponse>(FindCoordinatorRequest{.key = "tx", .key_type = 1}, 2);
  EXPECT_EQ(none.error_code, ErrorCode::kInvalidRequest);
  EXPECT_NE(none.error_message.value().find("transactions"), std::string::npos);
}

}  // namespace
}  // namespace lastword::test
