// SPDX-License-Identifier: Apache-2.0
#include "client/json_lines.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace lastword::client {
namespace {

void expect_round_trip(const ConsumedRecord& record) {
  const std::string line = to_json(record);
  SCOPED_TRACE(line);
  const auto read = record_of_json(line);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->key, record.key);
  EXPECT_EQ(read->value, record.value);
  EXPECT_EQ(read->headers, record.headers);
  EXPECT_EQ(read->timestamp, record.timestamp);
  EXPECT_EQ(read->partition, record.partition);
}

std::string error_of(std::string_view line) {
  const auto read = record_of_json(line);
  return read ? "" : read.error().text;
}

TEST(JsonLines, WriteNullApartFromEmpty) {
  EXPECT_EQ(to_json({.offset = 1, .timestamp = 2, .key = "k"}),
            R"({"partition":0,"offset":1,"timestamp":2,"key":"k","value":null})");
  EXPECT_EQ(to_json({.offset = 1, .timestamp = 2, .value = ""}),
            R"({"partition":0,"offset":1,"timestamp":2,"key":null,"value":""})");
}

TEST(JsonLines, AreReadAsTheyWereWritten) {
  expect_round_trip({.partition = 3, .timestamp = 5, .key = "c-7", .value = "Oslo"});
  expect_round_trip({.key = "c-7"});
  expect_round_trip({.value = ""});
  expect_round_trip({.key = "\"\\\n\t\x01", .value = "Troms\xc3\xb8"});
  expect_round_trip({.key = "k", .value = "v", .headers = {{"a", "1"}, {"b", std::nullopt}}});
  expect_round_trip({.key = "k", .value = "v", .headers = {{"a", "1"}, {"a", "2"}}});
  expect_round_trip({.key = "k", .value = "v", .headers = {{"a", "\xff"}}});
}

TEST(JsonLines, CarryEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (std::size_t length = 0; length < 5; ++length) {
    expect_round_trip({.key = bytes.substr(0x80, length), .value = bytes});
  }
  for (const char* not_utf8 : {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                               "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82", "\xff"}) {
    expect_round_trip({.key = "k", .value = not_utf8});
  }
}

TEST(JsonLines, TakeNumbersUpToTheEndsOfTheirRange) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  expect_round_trip({.partition = 2147483647, .timestamp = kMax, .value = "v"});
  expect_round_trip({.timestamp = -1, .value = "v"});
  expect_round_trip({.timestamp = std::numeric_limits<std::int64_t>::min(), .value = "v"});
}

TEST(JsonLines, RefuseNumbersOutsideTheirRange) {
  const auto error = [](const std::string& name, const std::string& number) {
    return error_of("{\"value\":\"v\",\"" + name + "\":" + number + "}");
  };
  const std::string kPartitions = ", which is not from 0 to 2147483647";
  for (const char* number : {"-1", "2147483648", "4294967297", "9223372036854775808"}) {
    EXPECT_EQ(error("partition", number), "\"partition\" is " + (number + kPartitions));
  }
  const std::string kTimes = ", which is not from -9223372036854775808 to 9223372036854775807";
  for (const char* number : {"9223372036854775808", "18446744073709551615", "1e+30", "-1e+19"}) {
    EXPECT_EQ(error("timestamp", number), "\"timestamp\" is " + (number + kTimes));
  }
  EXPECT_EQ(error("partition", "1.5"), "\"partition\" is not a whole number");
  EXPECT_EQ(error("partition", "null"), "\"partition\" is not a whole number");
}

TEST(JsonLines, NameWhatIsWrong) {
  EXPECT_EQ(error_of("{"),
            "not JSON at column 2: unexpected end of input; expected string literal");
  EXPECT_EQ(error_of(R"({"key":"b" "value":"x"})"),
            "not JSON at column 18: unexpected string literal; expected '}'");
  EXPECT_EQ(error_of("{\"key\":\"\xff\"}"),
            "not JSON at column 9: invalid string: ill-formed UTF-8 byte");
  EXPECT_EQ(error_of("[1]"), "not a JSON object");
  EXPECT_EQ(error_of(R"({"key":"k"})"),
            "no \"value\" in it; a tombstone is written \"value\": null");
  EXPECT_EQ(error_of(R"({"kye":"k","value":"v"})"), "unknown name \"kye\"");
  EXPECT_EQ(error_of(R"({"vlaue":"v"})"), "unknown name \"vlaue\"");
  EXPECT_EQ(error_of(R"({"values":"v"})"), "unknown name \"values\"; did you mean \"value\"?");
  EXPECT_EQ(error_of(R"({"key":1,"value":"v"})"), "\"key\" is neither text nor null");
  EXPECT_EQ(error_of(R"({"value_base64":"a"})"), "\"value_base64\" is not base64 text");
  EXPECT_EQ(error_of(R"({"value":"v","value_base64":"YQ=="})"),
            "both \"value\" and \"value_base64\" are there");
  EXPECT_EQ(error_of(R"({"value":"v","timestamp":"now"})"), "\"timestamp\" is not a whole number");
  EXPECT_EQ(error_of(R"({"value":"v","headers":7})"),
            "\"headers\" is neither an object nor a list");
}

}  // namespace
}  // namespace lastword::client
