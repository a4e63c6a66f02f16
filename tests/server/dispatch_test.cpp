// SPDX-License-Identifier: Apache-2.0
// Frames in, answers out: layouts, order, and what is not offered.
#include <gtest/gtest.h>

#include "protocol/messages/api_versions.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/delete_topics.h"
#include "protocol/messages/describe_configs.h"
#include "protocol/messages/find_coordinator.h"
#include "protocol/messages/init_producer_id.h"
#include "protocol/messages/metadata.h"
#include "protocol/messages/offset_for_leader_epoch.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

using Ids = std::vector<std::int32_t>;

// A header by hand, with an empty tag section, which only flexible versions have.
Bytes bare_request(std::int16_t key, std::int16_t version, ByteView body = {}) {
  Writer out;
  out.number(std::int32_t{0});
  out.number(key);
  out.number(version);
  out.number(std::int32_t{77});
  out.blob(std::string_view("probe"), false);
  out.number(std::uint8_t{0});
  out.bytes(body);
  out.patch_front(static_cast<std::int32_t>(out.size_bytes() - kFrameSizeBytes));
  return out.take();
}

// Asks in every version that is served, and reads the answers afterwards.
template <Message Response, Message Request>
void expect_every_version(RawClient& client, const std::function<Request(std::int16_t)>& request) {
  const Api& api = Request::api;
  Ids ids;
  for (std::int16_t v = api.supported.first; v <= api.supported.last; ++v) {
    ids.push_back(client.begin(request(v), v));
  }
  for (std::int16_t v = api.supported.first; v <= api.supported.last; ++v) {
    SCOPED_TRACE(std::string(api.name) + " version " + std::to_string(v));
    const auto id = ids[static_cast<std::size_t>(v - api.supported.first)];
    EXPECT_NO_THROW(client.finish<Response>(id, v));
  }
}

TEST(Dispatch, AnswersEveryApiInEveryVersionInItsLayout) {
  ServerFixture server;
  auto client = server.with_topic();
  expect_every_version<ApiVersionsResponse, ApiVersionsRequest>(*client, [](std::int16_t) {
    return ApiVersionsRequest{.client_software_name = "raw", .client_software_version = "1.0"};
  });
  expect_every_version<MetadataResponse, MetadataRequest>(*client, [](std::int16_t v) {
    MetadataRequest request;
    if (v == 0) request.topics.emplace();
    return request;
  });
  expect_every_version<ProduceResponse, ProduceRequest>(
      *client, [](std::int16_t) { return produce_request(one_record("k", "v")); });
  expect_every_version<FetchResponse, FetchRequest>(*client,
                                                    [](std::int16_t) { return fetch_request({}); });
  expect_every_version<ListOffsetsResponse, ListOffsetsRequest>(
      *client, [](std::int16_t) { return list_request(-1); });
  expect_every_version<FindCoordinatorResponse, FindCoordinatorRequest>(*client, [](std::int16_t) {
    return FindCoordinatorRequest{.key = "group", .coordinator_keys = {"group"}};
  });
  expect_every_version<CreateTopicsResponse, CreateTopicsRequest>(*client, [](std::int16_t v) {
    CreateTopicsRequest request;
    request.topics.push_back(
        {.name = "made-by-" + std::to_string(v), .num_partitions = 1, .replication_factor = 1});
    return request;
  });
  expect_every_version<DeleteTopicsResponse, DeleteTopicsRequest>(
      *client, [](std::int16_t) { return DeleteTopicsRequest{.topic_names = {"made-by-2"}}; });
  expect_every_version<InitProducerIdResponse, InitProducerIdRequest>(
      *client, [](std::int16_t) { return InitProducerIdRequest{}; });
  expect_every_version<OffsetForLeaderEpochResponse, OffsetForLeaderEpochRequest>(
      *client, [](std::int16_t) {
        OffsetForLeaderEpochRequest request;
        request.topics.push_back({.topic = ServerFixture::kTopic, .partitions = {{}}});
        return request;
      });
  expect_every_version<DescribeConfigsResponse, DescribeConfigsRequest>(*client, [](std::int16_t) {
    DescribeConfigsRequest request;
    request.resources.push_back({.resource_type = 2, .resource_name = ServerFixture::kTopic});
    return request;
  });
}

TEST(Dispatch, AnswersAHundredPipelinedRequestsInTheirOrder) {
  ServerFixture server([](BrokerOptions& options) { options.limits.requests_in_flight = 8; });
  auto client = server.with_topic();
  constexpr int kRounds = 25;
  struct Asked {
    std::int32_t produce, fetch, list, metadata;
  };
  std::vector<Asked> asked;
  for (int i = 0; i < kRounds; ++i) {
    asked.push_back(
        {client->begin(produce_request(one_record("k", std::to_string(i))), kProduceVersion),
         client->begin(fetch_request({}), kFetchVersion),
         client->begin(list_request(-1), kListOffsetsVersion),
         client->begin(MetadataRequest{}, 12)});
  }
  for (int i = 0; i < kRounds; ++i) {
    const auto& ids = asked[static_cast<std::size_t>(i)];
    EXPECT_EQ(only(client->finish<ProduceResponse>(ids.produce, kProduceVersion)).base_offset, i);
    client->finish<FetchResponse>(ids.fetch, kFetchVersion);
    // "Latest" waits for what was written before it.
    const auto listed = client->finish<ListOffsetsResponse>(ids.list, kListOffsetsVersion);
    EXPECT_EQ(listed.topics.at(0).partitions.at(0).offset, i + 1);
    client->finish<MetadataResponse>(ids.metadata, 12);
  }
}

TEST(ApiVersions, ListsEveryApiOnceAndProduceFromZero) {
  ServerFixture server;
  auto client = server.client();
  const auto answer = client.call<ApiVersionsResponse>(
      ApiVersionsRequest{.client_software_name = "raw", .client_software_version = "1.0"}, 4);
  EXPECT_EQ(answer.error_code, ErrorCode::kNone);
  ASSERT_EQ(answer.api_keys.size(), kApis.size());
  EXPECT_EQ(answer.api_keys[0].api_key, 0);
  EXPECT_EQ(answer.api_keys[0].min_version, 0);
  EXPECT_EQ(answer.api_keys[0].max_version, 12);
}

TEST(ApiVersions, AnswersAVersionThatItDoesNotKnowInVersionZero) {
  ServerFixture server;
  auto client = server.client();
  client.send(bare_request(18, 99));
  const auto frame = client.frame();
  ASSERT_TRUE(frame);
  const auto answer = decode_response<ApiVersionsResponse>(*frame, 0, 77);
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->error_code, ErrorCode::kUnsupportedVersion);
  ASSERT_EQ(answer->api_keys.size(), 1u);
  EXPECT_EQ(answer->api_keys[0].api_key, 18);
  EXPECT_EQ(answer->api_keys[0].max_version, 4);
  // The client asks again, in a version that is known.
  EXPECT_EQ(client.call<ApiVersionsResponse>(ApiVersionsRequest{}, 0).error_code, ErrorCode::kNone);
}

TEST(ApiVersions, RefusesABadNameOfClientSoftware) {
  ServerFixture server;
  auto client = server.client();
  for (const char* name : {"", "-raw", "raw client", "raw\n"}) {
    const auto answer = client.call<ApiVersionsResponse>(
        ApiVersionsRequest{.client_software_name = name, .client_software_version = "1"}, 3);
    EXPECT_EQ(answer.error_code, ErrorCode::kInvalidRequest) << name;
  }
}

TEST(Dispatch, ClosesOnAnApiThatIsNotThereAndNamesItInTheLog) {
  ServerFixture server;
  auto client = server.client();
  client.send(bare_request(11, 5));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(server.reported({"client probe", "JoinGroup", "key 11", "version 5"}));
  auto other = server.client();
  other.send(bare_request(999, 1));
  EXPECT_TRUE(other.is_closed());
  EXPECT_TRUE(server.reported({"client probe", "key 999", "version 1"}));
}

TEST(Dispatch, ClosesOnAVersionThatIsNotOfferedAndNamesItInTheLog) {
  ServerFixture server;
  auto old = server.client();
  old.send(bare_request(0, 2));
  EXPECT_TRUE(old.is_closed());
  EXPECT_TRUE(server.reported({"client probe", "Produce", "version 2", "3 to 12"}));
  auto young = server.client();
  young.send(bare_request(3, 99));
  EXPECT_TRUE(young.is_closed());
  EXPECT_TRUE(server.reported({"client probe", "Metadata", "version 99", "0 to 12"}));
}

TEST(Dispatch, ClosesOnABodyThatCannotBeRead) {
  ServerFixture server;
  auto client = server.client();
  client.send(bare_request(2, 1, to_bytes("\x7f\x7f\x7f")));
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(server.reported({"client probe", "cannot be read", "ListOffsets"}));
}

TEST(Dispatch, AnswersAClientWithoutAName) {
  ServerFixture server;
  auto client = server.client();
  const auto id = client.begin(ApiVersionsRequest{}, 2, std::nullopt);
  EXPECT_EQ(client.finish<ApiVersionsResponse>(id, 2).error_code, ErrorCode::kNone);
}

TEST(Dispatch, KeepsControlCharactersAndLongNamesOfClientsOutOfTheLog) {
  ServerFixture server;
  auto client = server.client();
  client.begin(ApiVersionsRequest{}, 2, "evil\nline\x1b[2J" + std::string(5000, 'x'));
  client.frame();
  client.send(bare_request(0, 2));
  ASSERT_TRUE(client.is_closed());
  auto named = server.client();
  Writer out;
  out.number(std::int32_t{0});
  out.number(std::int16_t{999});
  out.number(std::int16_t{0});
  out.number(std::int32_t{1});
  out.blob("evil\nline\x1b[2J" + std::string(5000, 'x'), false);
  out.patch_front(static_cast<std::int32_t>(out.size_bytes() - kFrameSizeBytes));
  named.send(out.take());
  ASSERT_TRUE(named.is_closed());
  ASSERT_TRUE(server.reported({"evil", "key 999"}));
  for (const std::string& line : server.lines()) {
    EXPECT_LT(line.size(), 1000u);
    EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace lastword::test
