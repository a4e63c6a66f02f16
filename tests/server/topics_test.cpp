// SPDX-License-Identifier: Apache-2.0
// Metadata, CreateTopics, DeleteTopics.
#include <gtest/gtest.h>

#include <algorithm>

#include "protocol/messages/create_topics.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/metadata.h"
#include "server/handlers/lookup.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

using NewTopic = CreateTopicsRequest::Topic;
using MadeTopic = CreateTopicsResponse::Topic;
using server::uuid_of;

MetadataRequest ask_for(std::vector<std::string> names) {
  MetadataRequest request;
  auto& topics = request.topics.emplace();
  for (std::string& name : names) topics.push_back({.name = std::move(name)});
  return request;
}

MetadataResponse::Topic described(RawClient& client, const std::string& name) {
  return client.call<MetadataResponse>(ask_for({name}), 12).topics.at(0);
}

MadeTopic create(RawClient& client, NewTopic topic, std::int16_t version = 7,
                 bool validate_only = false) {
  CreateTopicsRequest request{.validate_only = validate_only};
  request.topics.push_back(std::move(topic));
  return client.call<CreateTopicsResponse>(request, version).topics.at(0);
}

NewTopic plain(const std::string& name) {
  return {.name = name, .num_partitions = 1, .replication_factor = 1};
}

TEST(Metadata, TakesAnEmptyListForAllInVersionZeroAndForNoneLater) {
  ServerFixture server;
  server.create("a");
  server.create("b");
  auto client = server.client();
  EXPECT_EQ(client.call<MetadataResponse>(ask_for({}), 0).topics.size(), 2u);
  EXPECT_EQ(client.call<MetadataResponse>(ask_for({}), 1).topics.size(), 0u);
  EXPECT_EQ(client.call<MetadataResponse>(MetadataRequest{}, 1).topics.size(), 2u);
}

TEST(Metadata, NamesThisBrokerItsAddressAndAClusterIdThatStays) {
  ServerFixture server;
  const auto before = server.client().call<MetadataResponse>(MetadataRequest{}, 12);
  ASSERT_EQ(before.brokers.size(), 1u);
  EXPECT_EQ(before.brokers[0].node_id, 1);
  EXPECT_EQ(before.brokers[0].host, "127.0.0.1");
  EXPECT_EQ(before.brokers[0].port, server.broker->port());
  EXPECT_EQ(before.controller_id, 1);
  EXPECT_EQ(before.cluster_id.value().size(), 22u);
  server.restart();
  const auto after = server.client().call<MetadataResponse>(MetadataRequest{}, 12);
  EXPECT_EQ(after.cluster_id, before.cluster_id);
}

TEST(Metadata, KeepsTopicIdsAndFindsTopicsByThem) {
  ServerFixture server;
  server.create("kept", {}, 3);
  const auto before = [&] {
    auto client = server.client();
    return described(client, "kept");
  }();
  EXPECT_FALSE(before.topic_id.is_zero());
  EXPECT_EQ(before.partitions.size(), 3u);
  server.restart();
  auto client = server.client();
  EXPECT_EQ(described(client, "kept").topic_id, before.topic_id);

  MetadataRequest by_id;
  by_id.topics.emplace().push_back({.topic_id = before.topic_id});
  EXPECT_EQ(client.call<MetadataResponse>(by_id, 12).topics.at(0).name, "kept");
  by_id.topics->at(0).topic_id.bytes[3] ^= std::byte{1};
  const auto unknown = client.call<MetadataResponse>(by_id, 12).topics.at(0);
  EXPECT_EQ(unknown.error_code, ErrorCode::kUnknownTopicId);
  EXPECT_FALSE(unknown.name.has_value());
}

TEST(Metadata, ErrsForTopicsThatAreNotThereOrCannotBe) {
  ServerFixture server;
  auto client = server.client();
  EXPECT_EQ(described(client, "nothing").error_code, ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(described(client, "a/b").error_code, ErrorCode::kInvalidTopicException);
  EXPECT_FALSE(server.broker->store().find("nothing"));
}

TEST(Metadata, MakesTopicsOnlyIfBrokerAndClientWantIt) {
  ServerFixture server([](BrokerOptions& options) { options.auto_create_topics = true; });
  auto client = server.client();
  auto request = ask_for({"wanted"});
  request.allow_auto_topic_creation = false;
  EXPECT_EQ(client.call<MetadataResponse>(request, 12).topics.at(0).error_code,
            ErrorCode::kUnknownTopicOrPartition);
  const auto made = described(client, "wanted");
  EXPECT_EQ(made.error_code, ErrorCode::kNone);
  EXPECT_EQ(made.partitions.size(), 1u);
  EXPECT_EQ(described(client, "a/b").error_code, ErrorCode::kInvalidTopicException);
}

TEST(Metadata, DescribesATopicOnceHoweverOftenItIsNamed) {
  ServerFixture server;
  server.create("often", {}, 10);
  auto client = server.client();
  const auto answer =
      client.call<MetadataResponse>(ask_for(std::vector<std::string>(1000, "often")), 12);
  EXPECT_EQ(answer.topics.size(), 1u);
}

TEST(Metadata, DescribesATopicOnceThoughItsIdComesWithManyNames) {
  ServerFixture server;
  auto client = server.with_topic();
  const auto id = server.topic_id();
  MetadataRequest request;
  auto& topics = request.topics.emplace();
  for (const char* name : {"a", "b", "c"}) {
    topics.push_back({.topic_id = server::uuid_of(id), .name = name});
  }
  EXPECT_EQ(client->call<MetadataResponse>(request, 12).topics.size(), 1u);
}

TEST(Metadata, TellsThePartitionStatusOnlyToThoseWhoAsk) {
  ServerFixture server;
  auto client = server.with_topic({{"cleanup.policy", "compact"}});
  produce(*client, one_record("k", "v"));
  auto request = ask_for({ServerFixture::kTopic});
  const auto plain_answer = client->call<MetadataResponse>(request, 12).topics.at(0);
  EXPECT_FALSE(plain_answer.partitions.at(0).partition_status.has_value());
  request.want_partition_status = true;
  const auto answer = client->call<MetadataResponse>(request, 12).topics.at(0);
  const auto status = answer.partitions.at(0).partition_status.value();
  EXPECT_EQ(status.high_watermark, 1);
  EXPECT_EQ(status.records, 1);
  EXPECT_EQ(status.clock_ms, ManualClock::kStartMs);
}

TEST(CreateTopics, TellsTheEffectiveSettings) {
  ServerFixture server;
  auto client = server.client();
  NewTopic topic = plain("made");
  topic.num_partitions = 4;
  topic.configs = {{.name = "cleanup.policy", .value = "compact"}};
  const auto made = create(client, topic);
  EXPECT_EQ(made.error_code, ErrorCode::kNone) << made.error_message.value_or("");
  EXPECT_EQ(made.num_partitions, 4);
  EXPECT_EQ(made.replication_factor, 1);
  EXPECT_EQ(made.topic_id, uuid_of(server.topic_id("made")));
  const auto& configs = made.configs.value();
  const auto policy = std::ranges::find(configs, "cleanup.policy", &MadeTopic::Config::name);
  ASSERT_NE(policy, configs.end());
  EXPECT_EQ(policy->value, "compact");
  EXPECT_EQ(policy->config_source, 1);
  EXPECT_EQ(create(client, plain("made")).error_code, ErrorCode::kTopicAlreadyExists);
}

TEST(CreateTopics, TakesMinusOneForTheDefaultsSinceVersionFour) {
  ServerFixture server;
  auto client = server.client();
  EXPECT_EQ(create(client, {.name = "default"}, 4).error_code, ErrorCode::kNone);
  EXPECT_EQ(server.broker->store().find("default")->partitions.size(), 1u);
  EXPECT_EQ(create(client, {.name = "older"}, 3).error_code, ErrorCode::kInvalidPartitions);
}

TEST(CreateTopics, RefusesWhatThisBrokerCannotDo) {
  ServerFixture server;
  auto client = server.client();
  NewTopic copies = plain("copies");
  copies.replication_factor = 3;
  const auto refused = create(client, copies);
  EXPECT_EQ(refused.error_code, ErrorCode::kInvalidReplicationFactor);
  EXPECT_NE(refused.error_message.value().find("1"), std::string::npos);
  NewTopic none = plain("none");
  none.num_partitions = 0;
  EXPECT_EQ(create(client, none).error_code, ErrorCode::kInvalidPartitions);
  NewTopic many = plain("many");
  many.num_partitions = 1'000'000;
  EXPECT_EQ(create(client, many).error_code, ErrorCode::kPolicyViolation);
  for (const char* name : {"", ".", "..", "a/b", "sp ace"}) {
    EXPECT_EQ(create(client, plain(name)).error_code, ErrorCode::kInvalidTopicException) << name;
  }
  EXPECT_EQ(create(client, plain(std::string(250, 'x'))).error_code,
            ErrorCode::kInvalidTopicException);
  EXPECT_TRUE(server.broker->store().topics()->by_name.empty());
}

TEST(CreateTopics, NamesTheNearestSettingForOneThatIsUnknown) {
  ServerFixture server;
  auto client = server.client();
  NewTopic topic = plain("typo");
  topic.configs = {{.name = "clean.policy", .value = "compact"}};
  const auto refused = create(client, topic);
  EXPECT_EQ(refused.error_code, ErrorCode::kInvalidConfig);
  EXPECT_NE(refused.error_message.value().find("cleanup.policy"), std::string::npos);
  topic.configs = {{.name = "cleanup.policy", .value = "shred"}};
  EXPECT_EQ(create(client, topic).error_code, ErrorCode::kInvalidConfig);
  topic.configs = {{.name = "cleanup.policy"}};
  EXPECT_EQ(create(client, topic).error_code, ErrorCode::kInvalidConfig);
}

TEST(CreateTopics, RefusesATopicThatIsNamedTwiceAndMakesTheOthers) {
  ServerFixture server;
  auto client = server.client();
  CreateTopicsRequest request;
  request.topics = {plain("twice"), plain("once"), plain("twice")};
  const auto answer = client.call<CreateTopicsResponse>(request, 7);
  EXPECT_EQ(answer.topics.at(0).error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(answer.topics.at(1).error_code, ErrorCode::kNone);
  EXPECT_EQ(answer.topics.at(2).error_code, ErrorCode::kInvalidRequest);
  EXPECT_FALSE(server.broker->store().find("twice"));
}

TEST(CreateTopics, OnlyChecksWhenAskedTo) {
  ServerFixture server;
  auto client = server.client();
  const auto checked = create(client, plain("only-checked"), 7, true);
  EXPECT_EQ(checked.error_code, ErrorCode::kNone);
  EXPECT_TRUE(checked.topic_id.is_zero());
  EXPECT_FALSE(checked.configs->empty());
  EXPECT_FALSE(server.broker->store().find("only-checked"));
}

TEST(CreateTopics, TakesAssignmentsToThisBrokerOnly) {
  ServerFixture server;
  auto client = server.client();
  NewTopic topic{.name = "assigned"};
  topic.assignments = {{.partition_index = 1, .broker_ids = {1}},
                       {.partition_index = 0, .broker_ids = {1}}};
  EXPECT_EQ(create(client, topic).error_code, ErrorCode::kNone);
  EXPECT_EQ(server.broker->store().find("assigned")->partitions.size(), 2u);
  topic.name = "elsewhere";
  topic.assignments[0].broker_ids = {2};
  EXPECT_EQ(create(client, topic).error_code, ErrorCode::kInvalidReplicaAssignment);
  topic.assignments[0] = {.partition_index = 0, .broker_ids = {1}};
  EXPECT_EQ(create(client, topic).error_code, ErrorCode::kInvalidReplicaAssignment);
}

TEST(DeleteTopics, DeletesByNameAndById) {
  ServerFixture server;
  server.create("by-name");
  server.create("by-id");
  auto client = server.client();
  const auto by_name = client.call<DeleteTopicsResponse>(
      DeleteTopicsRequest{.topic_names = {"by-name", "nothing"}}, 5);
  EXPECT_EQ(by_name.responses.at(0).error_code, ErrorCode::kNone);
  EXPECT_EQ(by_name.responses.at(1).error_code, ErrorCode::kUnknownTopicOrPartition);
  DeleteTopicsRequest request;
  request.topics = {{.topic_id = uuid_of(server.topic_id("by-id"))},
                    {.name = "nothing"},
                    {.name = "both", .topic_id = uuid_of(server.topic_id("by-id"))},
                    {}};
  request.topics.push_back({.topic_id = request.topics[0].topic_id});
  request.topics.back().topic_id.bytes[0] ^= std::byte{1};
  const auto by_id = client.call<DeleteTopicsResponse>(request, 6);
  EXPECT_EQ(by_id.responses.at(0).error_code, ErrorCode::kNone);
  EXPECT_EQ(by_id.responses.at(0).name, "by-id");
  EXPECT_EQ(by_id.responses.at(1).error_code, ErrorCode::kUnknownTopicOrPartition);
  EXPECT_EQ(by_id.responses.at(2).error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(by_id.responses.at(3).error_code, ErrorCode::kInvalidRequest);
  EXPECT_EQ(by_id.responses.at(4).error_code, ErrorCode::kUnknownTopicId);
  EXPECT_TRUE(server.broker->store().topics()->by_name.empty());
  server.restart();
  EXPECT_TRUE(server.broker->store().topics()->by_name.empty());
}

TEST(DeleteTopics, LeavesTopicsOfTheSettingsFileAlone) {
  ServerFixture server(
      [](BrokerOptions& options) { options.topics["in-file"] = {.partitions = 2}; });
  auto client = server.client();
  const auto answer =
      client.call<DeleteTopicsResponse>(DeleteTopicsRequest{.topic_names = {"in-file"}}, 5);
  EXPECT_EQ(answer.responses.at(0).error_code, ErrorCode::kPolicyViolation);
  EXPECT_EQ(server.broker->store().find("in-file")->partitions.size(), 2u);
}

}  // namespace
}  // namespace lastword::test
