// SPDX-License-Identifier: Apache-2.0
// What holds for every message in every version, and bytes of some, worked out by hand from Kafka's
// schemas.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "protocol/error_code.h"
#include "protocol/header.h"
#include "tests/support/every_message.h"
#include "tests/support/hex.h"
#include "tests/support/message_filler.h"

namespace lastword {
namespace {

template <class M>
std::string title(std::int16_t version) {
  std::string text(M::api.name);
  text.append(" version ").append(std::to_string(version));
  return text;
}

template <class M>
std::string hex_of(const M& message, std::int16_t version) {
  return to_hex(encode(message, version));
}

TEST(Messages, EveryFieldComesBackInEveryVersion) {
  for_each_message([]<class M>(std::int16_t version) {
    SCOPED_TRACE(title<M>(version));
    const M message = filled<M>();
    const Bytes wire = encode(message, version);
    const Result<M> back = decode<M>(wire, version);
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_TRUE(same(message, *back, {version, M::api.flexible(version)}));
    EXPECT_EQ(to_hex(encode(*back, version)), to_hex(wire));
  });
}

TEST(Messages, NoTruncationIsAccepted) {
  for_each_message([]<class M>(std::int16_t version) {
    SCOPED_TRACE(title<M>(version));
    const Bytes wire = encode(filled<M>(), version);
    for (std::size_t n = 0; n < wire.size(); ++n) {
      const Result<M> cut = decode<M>(ByteView(wire).first(n), version, kRequestRules);
      ASSERT_FALSE(cut) << n << " of " << wire.size() << " bytes";
      EXPECT_EQ(cut.error().kind, ErrorKind::kMalformed);
    }
  });
}

TEST(Messages, SurplusBytesAreIgnoredInRequestsAndRefusedInResponses) {
  for_each_message([]<class M>(std::int16_t version) {
    SCOPED_TRACE(title<M>(version));
    Bytes wire = encode(filled<M>(), version);
    wire.push_back(std::byte{0});
    EXPECT_TRUE(decode<M>(wire, version, kRequestRules));
    EXPECT_FALSE(decode<M>(wire, version, kResponseRules));
  });
}

TEST(Messages, DamagedBytesNeverDoWorseThanFail) {
  const unsigned seed = 20260101;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for_each_message([&]<class M>(std::int16_t version) {
    const Bytes wire = encode(filled<M>(), version);
    for (int i = 0; i < 300; ++i) {
      Bytes damaged = wire;
      for (int j = 0; j < 3 && !wire.empty(); ++j) {
        damaged[random() % damaged.size()] = std::byte(random() % 256);
      }
      const Result<M> back = decode<M>(damaged, version, kRequestRules);
      EXPECT_TRUE(back || !back.error().text.empty());
    }
  });
}

TEST(Messages, TheListOfApisIsSortedAndItsNamesAreKafkas) {
  EXPECT_TRUE(std::ranges::is_sorted(kApis, {}, [](const Api* api) { return api->key; }));
  for (const Api* api : kApis) {
    EXPECT_EQ(api_name(api->key), api->name);
    EXPECT_EQ(find_api(api->key), api);
    EXPECT_LE(api->advertised.first, api->supported.first);
    EXPECT_EQ(api->advertised.last, api->supported.last);
  }
  EXPECT_EQ(find_api(11), nullptr);
  EXPECT_EQ(api_name(11), "JoinGroup");
  EXPECT_EQ(api_name(92), "DeleteShareGroupOffsets");
  EXPECT_EQ(api_name(93), "unknown");
  EXPECT_EQ(api_name(-1), "unknown");
}

TEST(Messages, EachApiOfTheListHasItsMessages) {
  std::set<std::int16_t> keys;
  for_each_api([&]<class Request, class Response>() {
    EXPECT_EQ(&Request::api, &Response::api);
    keys.insert(Request::api.key);
  });
  EXPECT_EQ(keys.size(), kApis.size());
}

Bytes text(std::string_view s) {
  const auto bytes = std::as_bytes(std::span(s));
  return {bytes.begin(), bytes.end()};
}

ProduceRequest produce_request() {
  ProduceRequest request{.transactional_id = "tx", .acks = 1, .timeout_ms = 1500};
  auto& topic = request.topic_data.emplace_back();
  topic.name = "t";
  topic.partition_data.push_back({.index = 7, .records = RecordsField{text("abc")}});
  topic.partition_data.push_back({.index = 8});
  return request;
}

TEST(Messages, ProduceRequestHasKafkasBytes) {
  EXPECT_EQ(hex_of(produce_request(), 3),
            "00 02 74 78 00 01 00 00 05 dc "     // transactional id, acks, timeout
            "00 00 00 01 00 01 74 00 00 00 02 "  // one topic "t" with two partitions
            "00 00 00 07 00 00 00 03 61 62 63 "  // 7: "abc"
            "00 00 00 08 ff ff ff ff");          // 8: null
  EXPECT_EQ(hex_of(produce_request(), 9),
            "03 74 78 00 01 00 00 05 dc 02 02 74 03 "
            "00 00 00 07 04 61 62 63 00 00 00 00 08 00 00 00 00");
}

TEST(Messages, ProducedRecordsAreAViewIntoTheFrame) {
  Bytes frame = encode(produce_request(), 9);
  const auto request = decode<ProduceRequest>(frame, 9);
  ASSERT_TRUE(request);
  const auto& partitions = request->topic_data.at(0).partition_data;
  EXPECT_EQ(partitions.at(0).records->view().data(), frame.data() + 18);
  EXPECT_FALSE(partitions.at(1).records.has_value());
  const std::span<std::byte> inside = mutable_in(frame, partitions.at(0).records->view());
  inside[0] = std::byte{'x'};
  EXPECT_EQ(std::to_integer<char>(frame[18]), 'x');
  EXPECT_TRUE(mutable_in(frame, ByteView{}).empty());
}

TEST(MessagesDeathTest, BytesOutsideTheFrameAreNotHandedOutForChanging) {
  Bytes frame(4);
  const Bytes other(4);
  EXPECT_DEATH(mutable_in(frame, other), "check failed");
  EXPECT_DEATH(mutable_in(std::span(frame).first(2), ByteView(frame)), "check failed");
}

TEST(Messages, FetchedRecordsAreNeverNullAndANullIsReadAsEmpty) {
  FetchResponse response;
  response.responses.emplace_back().partitions.emplace_back();
  const Bytes wire = encode(response, 4);
  const std::string hex = to_hex(wire);
  EXPECT_TRUE(hex.ends_with("ff ff ff ff 00 00 00 00")) << hex;  // no aborted list, empty records
  Bytes null_records = wire;
  std::fill(null_records.end() - 4, null_records.end(), std::byte{0xff});
  const auto back = decode<FetchResponse>(null_records, 4);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->responses.at(0).partitions.at(0).records.size_bytes(), 0u);
}

TEST(Messages, FetchResponseCarriesTheMarkInItsTag) {
  FetchResponse response;
  auto& topic = response.responses.emplace_back();
  topic.topic = "t";
  auto& partition = topic.partitions.emplace_back();
  partition.high_watermark = 900;
  partition.last_stable_offset = 900;
  partition.log_start_offset = 0;
  partition.removed_tombstone_mark = 813;
  EXPECT_EQ(hex_of(response, 12),
            "00 00 00 00 00 00 00 00 00 00 "  // throttle, error, session
            "02 02 74 02 00 00 00 00 00 00 "  // topic, partition 0, no error
            "00 00 00 00 00 00 03 84 00 00 00 00 00 00 03 84 00 00 00 00 00 00 00 00 "
            "00 ff ff ff ff 01 "                    // no aborted list, no replica, empty records
            "01 90 4e 08 00 00 00 00 00 00 03 2d "  // one tag: 10000, 8 bytes, 813
            "00 00");                               // tags of topic and response
  partition.removed_tombstone_mark.reset();
  EXPECT_EQ(hex_of(response, 12).find("90 4e"), std::string::npos);
}

TEST(Messages, MarkIsAskedForInFlexibleVersionsOnly) {
  const FetchRequest fetch{.want_removed_tombstone_mark = true};
  EXPECT_TRUE(hex_of(fetch, 12).ends_with("01 90 4e 01 01"));
  EXPECT_EQ(hex_of(fetch, 11), hex_of(FetchRequest{}, 11));
  const ListOffsetsRequest list{.want_removed_tombstone_mark = true};
  EXPECT_TRUE(hex_of(list, 6).ends_with("01 90 4e 01 01"));
  EXPECT_EQ(hex_of(list, 5), hex_of(ListOffsetsRequest{}, 5));
}

TEST(Messages, ApiVersionsResponseHasKafkasBytes) {
  ApiVersionsResponse response{.api_keys = {{.api_key = 18, .min_version = 0, .max_version = 4}}};
  EXPECT_EQ(hex_of(response, 0), "00 00 00 00 00 01 00 12 00 00 00 04");
  EXPECT_EQ(hex_of(response, 1), "00 00 00 00 00 01 00 12 00 00 00 04 00 00 00 00");
  EXPECT_EQ(hex_of(response, 3), "00 00 02 00 12 00 00 00 04 00 00 00 00 00 00");
  response.finalized_features_epoch = 1;
  EXPECT_EQ(hex_of(response, 3),
            "00 00 02 00 12 00 00 00 04 00 00 00 00 00 01 01 08 00 00 00 00 00 00 00 01");
}

TEST(Messages, MetadataRequestTellsAllFromNone) {
  EXPECT_EQ(hex_of(MetadataRequest{}, 1), "ff ff ff ff");
  EXPECT_EQ(hex_of(MetadataRequest{.topics = {{}}}, 1), "00 00 00 00");
  EXPECT_EQ(hex_of(MetadataRequest{}, 9), "00 01 00 00 00");
  EXPECT_FALSE(decode<MetadataRequest>(from_hex("ff ff ff ff"), 0));
  EXPECT_TRUE(decode<MetadataRequest>(from_hex("ff ff ff ff"), 1));
}

TEST(Messages, NamesMayBeNullOnlyInTheVersionsThatAllowIt) {
  MetadataResponse response;
  response.topics.emplace_back().name = "t";
  for (std::int16_t version = 11; version <= 12; ++version) {
    Bytes wire = encode(response, version);
    const std::string hex = to_hex(wire);
    const std::size_t at = hex.find("02 74") / 3;
    wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    wire[at] = std::byte{0};
    const auto back = decode<MetadataResponse>(wire, version);
    EXPECT_EQ(static_cast<bool>(back), version == 12);
    if (back) continue;
    EXPECT_NE(back.error().text.find("topics.name"), std::string::npos) << back.error().text;
  }
}

TEST(Messages, FindCoordinatorChangesItsShapeInVersion4) {
  FindCoordinatorResponse response{.node_id = 1, .host = "h", .port = 9092};
  response.coordinators.push_back({.key = "g", .node_id = 1, .host = "h", .port = 9092});
  EXPECT_EQ(hex_of(response, 0), "00 00 00 00 00 01 00 01 68 00 00 23 84");
  EXPECT_EQ(hex_of(response, 3), "00 00 00 00 00 00 00 00 00 00 01 02 68 00 00 23 84 00");
  EXPECT_EQ(hex_of(response, 4),
            "00 00 00 00 02 02 67 00 00 00 01 02 68 00 00 23 84 00 00 00 00 00");
}

TEST(Messages, OffsetForLeaderEpochAnswersTheErrorFirst) {
  OffsetForLeaderEpochResponse response;
  auto& topic = response.topics.emplace_back();
  topic.topic = "t";
  topic.partitions.push_back({.error_code = ErrorCode::kFencedLeaderEpoch, .partition = 2});
  EXPECT_EQ(hex_of(response, 2),
            "00 00 00 00 00 00 00 01 00 01 74 00 00 00 01 "
            "00 4a 00 00 00 02 ff ff ff ff ff ff ff ff ff ff ff ff");
}

TEST(Messages, DeleteTopicsNamesOrIds) {
  DeleteTopicsRequest request{.topics = {{.name = "t"}}, .topic_names = {"u"}, .timeout_ms = 5};
  EXPECT_EQ(hex_of(request, 1), "00 00 00 01 00 01 75 00 00 00 05");
  EXPECT_EQ(hex_of(request, 4), "02 02 75 00 00 00 05 00");
  EXPECT_EQ(hex_of(request, 6),
            "02 02 74 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 05 00");
}

TEST(Messages, PartitionStatusGoesOnlyToThoseWhoAsk) {
  EXPECT_TRUE(
      hex_of(MetadataRequest{.want_partition_status = true}, 9).ends_with("01 91 4e 01 01"));
  EXPECT_TRUE(hex_of(MetadataRequest{}, 9).ends_with(" 00"));
  MetadataResponse response;
  auto& partition = response.topics.emplace_back().partitions.emplace_back();
  response.topics[0].name = "t";
  const std::size_t without = encode(response, 9).size();
  partition.partition_status.emplace().skip_reason = "not dirty enough";
  EXPECT_GT(encode(response, 9).size(), without + 100);
  EXPECT_EQ(encode(response, 8).size(), encode(MetadataResponse(response), 8).size());
  const auto back = decode<MetadataResponse>(encode(response, 9), 9);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->topics.at(0).partitions.at(0).partition_status->skip_reason, "not dirty enough");
}

// The bytes of the n-th block marked "hex" in EXTENSIONS.md, without the size in front.
Bytes documented_frame(int n) {
  std::ifstream file(std::string(LASTWORD_SOURCE_DIR) + "/protocol/EXTENSIONS.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::string opening = "```hex\n";
  std::size_t from = 0;
  for (int i = 0; i <= n; ++i) from = all.find(opening, from) + opening.size();
  Bytes frame = from_hex(std::string_view(all).substr(from, all.find("```", from) - from));
  frame.erase(frame.begin(), frame.begin() + kFrameSizeBytes);
  return frame;
}

TEST(Messages, ExamplesOfOurOwnTagsAreAsDocumented) {
  const Bytes fetch_frame = documented_frame(0);
  Reader in(fetch_frame);
  ASSERT_TRUE(read_request_header(in));
  const auto fetch = decode<FetchRequest>(in.rest(), 12);
  ASSERT_TRUE(fetch) << fetch.error().text;
  EXPECT_TRUE(fetch->want_removed_tombstone_mark);
  EXPECT_EQ(fetch->topics.at(0).partitions.at(0).fetch_offset, 700);

  const Bytes answer_frame = documented_frame(1);
  const auto answer = decode_response<FetchResponse>(answer_frame, 12, 7);
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->responses.at(0).partitions.at(0).removed_tombstone_mark, 813);

  const Bytes metadata_frame = documented_frame(2);
  Reader metadata_in(metadata_frame);
  ASSERT_TRUE(read_request_header(metadata_in));
  const auto metadata = decode<MetadataRequest>(metadata_in.rest(), 9);
  ASSERT_TRUE(metadata) << metadata.error().text;
  EXPECT_TRUE(metadata->want_partition_status);
}

TEST(ErrorCodes, EachHasOneEntryWithKafkasName) {
  EXPECT_EQ(error_name(ErrorCode::kNone), "NONE");
  EXPECT_EQ(error_name(ErrorCode::kUnknownServerError), "UNKNOWN_SERVER_ERROR");
  EXPECT_EQ(error_name(ErrorCode::kInvalidRecord), "INVALID_RECORD");
  EXPECT_EQ(error_name(ErrorCode::kRebootstrapRequired), "REBOOTSTRAP_REQUIRED");
  EXPECT_EQ(error_name(static_cast<ErrorCode>(4)), "UNLISTED");
  EXPECT_TRUE(is_retriable(ErrorCode::kKafkaStorageError));
  EXPECT_FALSE(is_retriable(ErrorCode::kInvalidRecord));
  std::set<std::string_view> names;
  for (int number = -1; number < 200; ++number) {
    const ErrorCodeInfo& info = error_code_info(static_cast<ErrorCode>(number));
    if (info.name == "UNLISTED") continue;
    EXPECT_EQ(static_cast<int>(info.code), number);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.text.empty());
  }
  EXPECT_EQ(names.size(), 86u);
}

}  // namespace
}  // namespace lastword
