// SPDX-License-Identifier: Apache-2.0
// Request frames that real clients sent (tests/golden/*.hex): each decodes, and encodes to the same
// bytes again.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "protocol/header.h"
#include "tests/support/every_message.h"
#include "tests/support/hex.h"

namespace lastword {
namespace {

struct GoldenFrame {
  std::string name;
  Bytes bytes;
};

std::vector<GoldenFrame> golden_frames() {
  std::vector<GoldenFrame> frames;
  const std::filesystem::path folder = std::filesystem::path(LASTWORD_SOURCE_DIR) / "tests/golden";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".hex") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    frames.push_back({entry.path().filename().string(), from_hex(text.str())});
  }
  std::ranges::sort(frames, {}, &GoldenFrame::name);
  return frames;
}

// The frame that `Request`'s declaration makes of `in`'s body, or an error text.
template <class Request>
std::string encoded_again(const Reader& in, const RequestHeader& header) {
  const auto request = decode<Request>(in.rest(), header.api_version);
  if (!request) return request.error().text;
  return to_hex(encode_request(*request, header.api_version, header));
}

TEST(Golden, FramesOfRealClientsSurviveDecodingAndEncoding) {
  std::set<std::int16_t> keys;
  for (const GoldenFrame& frame : golden_frames()) {
    SCOPED_TRACE(frame.name);
    ASSERT_GT(frame.bytes.size(), kFrameSizeBytes);
    Reader in(ByteView(frame.bytes).subspan(kFrameSizeBytes));
    const auto header = read_request_header(in);
    ASSERT_TRUE(header) << header.error().text;
    const Api* api = find_api(header->api_key);
    ASSERT_NE(api, nullptr) << api_name(header->api_key);
    EXPECT_TRUE(api->supported.has(header->api_version)) << header->api_version;
    for_each_api([&]<class Request, class Response>() {
      if (Request::api.key != header->api_key) return;
      EXPECT_EQ(encoded_again<Request>(in, *header), to_hex(frame.bytes));
    });
    keys.insert(header->api_key);
  }
  EXPECT_GE(keys.size(), 8u) << "frames of most APIs should be there";
}

}  // namespace
}  // namespace lastword
