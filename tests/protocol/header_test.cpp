// SPDX-License-Identifier: Apache-2.0
#include "protocol/header.h"

#include <gtest/gtest.h>

#include "protocol/messages/api_versions.h"
#include "protocol/messages/fetch.h"
#include "protocol/messages/find_coordinator.h"
#include "tests/support/hex.h"

namespace lastword {
namespace {

TEST(RequestHeader, IsFollowedByATagSectionInFlexibleVersions) {
  const RequestHeader header{.correlation_id = 7, .client_id = "me"};
  const FindCoordinatorRequest request{.key = "g"};
  EXPECT_EQ(to_hex(encode_request(request, 0, header)),
            "00 00 00 0f 00 0a 00 00 00 00 00 07 00 02 6d 65 00 01 67");
  EXPECT_EQ(to_hex(encode_request(request, 3, header)),
            "00 00 00 11 00 0a 00 03 00 00 00 07 00 02 6d 65 00 02 67 00 00")
      << "the client id keeps its classic form";
}

TEST(RequestHeader, ReadsWhatItWrites) {
  for (std::int16_t version = 2; version <= 3; ++version) {
    const RequestHeader header{.correlation_id = -9, .client_id = "me"};
    const Bytes frame = encode_request(FindCoordinatorRequest{.key = "g"}, version, header);
    Reader in(ByteView(frame).subspan(kFrameSizeBytes));
    const auto back = read_request_header(in);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->api_key, 10);
    EXPECT_EQ(back->api_version, version);
    EXPECT_EQ(back->correlation_id, -9);
    EXPECT_EQ(back->client_id, "me");
    const auto request = decode_request<FindCoordinatorRequest>(in, version);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->key, "g");
  }
}

TEST(RequestHeader, TakesANullClientId) {
  const Bytes frame = from_hex("00 12 00 00 00 00 00 01 ff ff");
  Reader in(frame);
  const auto header = read_request_header(in);
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->client_id.has_value());
  EXPECT_TRUE(in.done());
}

TEST(RequestHeader, NamesTheClientOfAnApiOrVersionThatIsNotServed) {
  for (const char* hex :
       {"00 0b 00 05 00 00 00 01 00 01 63 ff ff", "7f ff 00 05 00 00 00 01 00 01 63",
        "00 12 7f ff 00 00 00 01 00 01 63 00"}) {
    const Bytes frame = from_hex(hex);
    Reader in(frame);
    const auto header = read_request_header(in);
    ASSERT_TRUE(header) << hex;
    EXPECT_EQ(header->client_id, "c");
  }
}

TEST(RequestHeader, RefusesWhatIsTooShort) {
  const Bytes whole = from_hex("00 12 00 03 00 00 00 01 00 01 63 00");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Reader in(ByteView(whole).first(n));
    const auto header = read_request_header(in);
    ASSERT_FALSE(header) << n;
    EXPECT_EQ(header.error().kind, ErrorKind::kMalformed);
  }
}

TEST(ResponseHeader, OfApiVersionsNeverHasATagSection) {
  const ApiVersionsResponse versions{};
  const Parts parts = encode_response(versions, 3, 5);
  EXPECT_EQ(to_hex(std::get<Bytes>(parts.parts.at(0))),
            "00 00 00 0c 00 00 00 05 00 00 01 00 00 00 00 00");
  const Parts coordinator = encode_response(FindCoordinatorResponse{}, 4, 5);
  EXPECT_EQ(to_hex(std::get<Bytes>(coordinator.parts.at(0))),
            "00 00 00 0b 00 00 00 05 00 00 00 00 00 01 00");
  const Parts classic = encode_response(versions, 0, 5);
  EXPECT_EQ(to_hex(std::get<Bytes>(classic.parts.at(0))),
            "00 00 00 0a 00 00 00 05 00 00 00 00 00 00");
}

TEST(ResponseHeader, IsCheckedAgainstTheRequest) {
  const Parts parts = encode_response(FindCoordinatorResponse{.host = "h"}, 3, 5);
  const ByteView frame = ByteView(std::get<Bytes>(parts.parts.at(0))).subspan(kFrameSizeBytes);
  const auto response = decode_response<FindCoordinatorResponse>(frame, 3, 5);
  ASSERT_TRUE(response) << response.error().text;
  EXPECT_EQ(response->host, "h");
  const auto other = decode_response<FindCoordinatorResponse>(frame, 3, 6);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().text, "the answer is to request 5, not to 6");
  EXPECT_FALSE(decode_response<FindCoordinatorResponse>(frame.first(3), 3, 5));
}

TEST(Frame, SizeCountsFilesAsWell) {
  FetchResponse response;
  auto& partition = response.responses.emplace_back().partitions.emplace_back();
  partition.records.value = std::vector<FileRange>{{nullptr, 10, 1000}};
  const Parts parts = encode_response(response, 12, 1);
  Reader in(std::get<Bytes>(parts.parts.at(0)));
  std::int32_t size = 0;
  in.number(size);
  EXPECT_EQ(static_cast<std::size_t>(size) + kFrameSizeBytes, parts.size_bytes);
  EXPECT_GT(size, 1000);
}

}  // namespace
}  // namespace lastword
