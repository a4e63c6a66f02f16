// SPDX-License-Identifier: Apache-2.0
// The walk itself, on messages made for the purpose.
#include "protocol/fields.h"

#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "tests/support/hex.h"

namespace lastword {

constexpr Api kTestApi{99, "Test", {0, 9}, {0, 9}, 5};

struct Point {
  std::int8_t x = 1;
  std::int8_t y = 0;

  static void fields(auto& walk) {
    walk("x", &Point::x);
    walk("y", &Point::y, since(7));
  }
};

struct TestMessage {
  std::int8_t always = 0;
  std::int8_t old = 0;
  std::int8_t middle = 0;
  std::optional<std::string> name{};
  std::optional<Point> cursor{};
  std::vector<Point> points{};
  bool flag = false;
  std::optional<std::string> text{};
  std::vector<std::int8_t> numbers{};
  std::optional<Point> place{};
  std::optional<std::int64_t> mark{};

  static constexpr const Api& api = kTestApi;
  static void fields(auto& walk) {
    walk("always", &TestMessage::always);
    walk("old", &TestMessage::old, until(1));
    walk("middle", &TestMessage::middle, between(2, 3));
    walk("name", &TestMessage::name, nullable_since(4));
    walk("cursor", &TestMessage::cursor, since(6));
    walk("points", &TestMessage::points);
    walk("flag", &TestMessage::flag, tag(0));
    walk("text", &TestMessage::text, tag(1));
    walk("numbers", &TestMessage::numbers, tag(2));
    walk("place", &TestMessage::place, since(6), tag(3));
    walk("mark", &TestMessage::mark, tag(10000));
  }
};

struct RecordsMessage {
  RecordsField records{};
  std::int8_t after = 0;

  static constexpr const Api& api = kTestApi;
  static void fields(auto& walk) {
    walk("records", &RecordsMessage::records);
    walk("after", &RecordsMessage::after);
  }
};

struct TagsOutOfOrder {
  std::int8_t first = 0;
  std::int8_t second = 0;

  static constexpr const Api& api = kTestApi;
  static void fields(auto& walk) {
    walk("first", &TagsOutOfOrder::first, tag(2));
    walk("second", &TagsOutOfOrder::second, tag(1));
  }
};

template struct MessageCodec<TestMessage>;
template struct MessageCodec<RecordsMessage>;
template struct MessageCodec<TagsOutOfOrder>;

namespace {

std::string error_of(const char* hex, std::int16_t version) {
  const auto result = decode<TestMessage>(from_hex(hex), version);
  return result ? "" : result.error().text;
}

TEST(Fields, AreOnTheWireInTheirVersions) {
  const TestMessage message{.always = 1, .old = 2, .middle = 3, .name = "n"};
  EXPECT_EQ(to_hex(encode(message, 1)), "01 02 00 01 6e 00 00 00 00");
  EXPECT_EQ(to_hex(encode(message, 2)), "01 03 00 01 6e 00 00 00 00");
  EXPECT_EQ(to_hex(encode(message, 4)), "01 00 01 6e 00 00 00 00");
  EXPECT_EQ(to_hex(encode(message, 5)), "01 02 6e 01 00");
  EXPECT_EQ(to_hex(encode(message, 6)), "01 02 6e ff 01 00");
}

TEST(Fields, StructsInListsHaveVersionsAndTagSections) {
  const TestMessage message{.name = "n", .points = {{1, 2}, {3, 4}}};
  EXPECT_EQ(to_hex(encode(message, 4)), "00 00 01 6e 00 00 00 02 01 03");
  EXPECT_EQ(to_hex(encode(message, 5)), "00 02 6e 03 01 00 03 00 00");
  EXPECT_EQ(to_hex(encode(message, 7)), "00 02 6e ff 03 01 02 00 03 04 00 00");
}

TEST(Fields, ANullableStructHasAByteInFront) {
  const TestMessage message{.name = "n", .cursor = Point{.x = 9}};
  const Bytes wire = encode(message, 6);
  EXPECT_EQ(to_hex(wire), "00 02 6e 01 09 00 01 00");
  const auto back = decode<TestMessage>(wire, 6);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cursor->x, 9);
  EXPECT_FALSE(decode<TestMessage>(from_hex("00 02 6e ff 01 00"), 6)->cursor.has_value());
}

TEST(Fields, ANullIsRefusedInAVersionThatDoesNotAllowIt) {
  EXPECT_EQ(error_of("00 ff ff 00 00 00 00", 4), "");
  EXPECT_EQ(error_of("00 00 ff ff 00 00 00 00", 3),
            "Test version 3: name (at byte 4 of the body) is null");
}

TEST(FieldsDeathTest, ANullIsNeverSentWhereItIsNotAllowed) {
  EXPECT_DEATH(static_cast<void>(encode(TestMessage{}, 3)), "check failed");
}

TEST(Fields, TagsAtTheirDefaultsAreNotWritten) {
  EXPECT_EQ(to_hex(encode(TestMessage{}, 5)), "00 00 01 00");
}

TEST(Fields, TagsCarryEveryKindOfValue) {
  const TestMessage message{
      .flag = true, .text = "t", .numbers = {5, 6}, .place = Point{.x = 7, .y = 8}, .mark = 813};
  const Bytes wire = encode(message, 7);
  EXPECT_EQ(to_hex(wire),
            "00 00 ff 01 05 "
            "00 01 01 "                           // flag
            "01 02 02 74 "                        // text
            "02 03 03 05 06 "                     // numbers
            "03 03 07 08 00 "                     // place, with a tag section of its own
            "90 4e 08 00 00 00 00 00 00 03 2d");  // mark
  const auto back = decode<TestMessage>(wire, 7);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_TRUE(back->flag);
  EXPECT_EQ(back->text, "t");
  EXPECT_EQ(back->numbers, (std::vector<std::int8_t>{5, 6}));
  EXPECT_EQ(back->place->y, 8);
  EXPECT_EQ(back->mark, 813);
  EXPECT_EQ(to_hex(encode(*back, 7)), to_hex(wire));
}

TEST(Fields, TagsDoNotExistInClassicVersions) {
  EXPECT_EQ(encode(TestMessage{.name = "n", .flag = true}, 4), encode(TestMessage{.name = "n"}, 4));
}

TEST(Fields, ATagOutsideItsVersionsIsUnknown) {
  const auto back = decode<TestMessage>(from_hex("00 00 01 01 03 02 07 00"), 5);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_FALSE(back->place.has_value());
}

TEST(Fields, UnknownTagsAreSkippedBetweenKnownOnes) {
  const auto back = decode<TestMessage>(from_hex("00 00 01 03 00 01 01 07 02 aa bb 90 4e 08 "
                                                 "00 00 00 00 00 00 00 05"),
                                        5);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_TRUE(back->flag);
  EXPECT_EQ(back->mark, 5);
}

TEST(Fields, TagsOutOfOrderOrTwiceAreRefused) {
  EXPECT_EQ(error_of("00 00 01 02 01 02 02 74 00 01 01", 5),
            "Test version 5: (tags) (at byte 9 of the body) has tags out of order");
  EXPECT_NE(error_of("00 00 01 02 00 01 01 00 01 01", 5), "");
}

TEST(Fields, ATagMustFillItsSize) {
  EXPECT_NE(error_of("00 00 01 01 00 02 01 00", 5), "") << "a bool in two bytes";
  EXPECT_NE(error_of("00 00 01 01 90 4e 07 00 00 00 00 00 00 00", 5), "") << "7 bytes of int64";
  EXPECT_NE(error_of("00 00 01 01 00 7f 01", 5), "") << "a size beyond the end";
}

TEST(FieldsDeathTest, AListThatNamesTagsOutOfOrderIsFoundByItsFirstUse) {
  EXPECT_DEATH(static_cast<void>(encode(TagsOutOfOrder{1, 1}, 5)), "check failed");
}

TEST(Fields, ErrorsNameTheFieldByItsPath) {
  EXPECT_EQ(error_of("00 02 6e 03 01 00 03", 5),
            "Test version 5: points.(tags) (at byte 7 of the body) goes beyond the end");
  EXPECT_EQ(
      error_of("00 02 6e ff 03 01", 7),
      "Test version 7: points (at byte 5 of the body) claims more items than there are bytes");
}

TEST(Fields, RecordsInFilesAreCarriedByReference) {
  RecordsMessage message{.after = 5};
  message.records.value = std::vector<FileRange>{{nullptr, 0, 70}, {nullptr, 500, 30}};
  const Parts parts = encode_parts(message, 4);
  EXPECT_EQ(parts.size_bytes, 105u);
  ASSERT_EQ(parts.parts.size(), 4u);
  EXPECT_EQ(to_hex(std::get<Bytes>(parts.parts[0])), "00 00 00 64");
  EXPECT_EQ(std::get<FileRange>(parts.parts[2]).position, 500u);
  EXPECT_EQ(to_hex(std::get<Bytes>(parts.parts[3])), "05");
  const Parts compact = encode_parts(message, 5);
  EXPECT_EQ(to_hex(std::get<Bytes>(compact.parts[0])), "65");
}

TEST(DecodeRules, BoundMemoryByTheBytesThatCame) {
  EXPECT_EQ(kRequestRules.limits(0).memory_bytes_max, kMemoryFloor);
  EXPECT_EQ(kRequestRules.limits(1000).memory_bytes_max, 16'000 + kMemoryFloor);
  EXPECT_EQ(kRequestRules.limits(100u << 20).memory_bytes_max, 32u << 20);
  EXPECT_EQ(kRequestRules.limits(std::numeric_limits<std::size_t>::max()).memory_bytes_max,
            32u << 20);
}

TEST(DecodeRules, AMillionEmptyItemsAreRefused) {
  Writer out;
  out.number(std::int8_t{0});
  out.blob(std::string("n"), false);
  out.number(std::int32_t{1'000'001});
  Bytes wire = out.take();
  wire.resize(wire.size() + 1'000'001);
  const auto result = decode<TestMessage>(wire, 4, kRequestRules);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text.find("has too many items"), std::string::npos)
      << result.error().text;
}

}  // namespace
}  // namespace lastword
