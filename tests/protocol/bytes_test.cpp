// SPDX-License-Identifier: Apache-2.0
#include "protocol/bytes.h"

#include <gtest/gtest.h>

#include "protocol/uuid.h"
#include "tests/support/hex.h"

namespace lastword {
namespace {

TEST(Writer, WritesNumbersBigEndian) {
  Writer out;
  out.number(std::int8_t{-2});
  out.number(std::int16_t{0x0102});
  out.number(std::int32_t{-1});
  out.number(std::int64_t{0x0102030405060708});
  out.number(true);
  EXPECT_EQ(to_hex(out.take()), "fe 01 02 ff ff ff ff 01 02 03 04 05 06 07 08 01");
}

TEST(Writer, WritesVarintsLowBitsFirst) {
  Writer out;
  for (std::uint32_t value : {0u, 127u, 128u, 10000u, 0xffffffffu}) out.varint(value);
  EXPECT_EQ(to_hex(out.take()), "00 7f 80 01 90 4e ff ff ff ff 0f");
}

TEST(Writer, CutsAStringThatIsTooLongBeforeABrokenCharacter) {
  Writer out;
  std::string text(kStringBytesMax - 1, 'a');
  text.append("\xc3\xa9");
  out.blob(text, false);
  const Bytes wire = out.take();
  EXPECT_EQ(wire.size(), 2 + kStringBytesMax - 1);
  EXPECT_EQ(std::to_integer<char>(wire.back()), 'a');
  out.blob(std::string(kStringBytesMax + 5, 'a'), true);
  EXPECT_EQ(out.size_bytes(), 3 + kStringBytesMax);
}

TEST(Writer, YieldsPartsWithFileRangesByReference) {
  Writer out;
  out.number(std::int32_t{0});
  out.file({.source = nullptr, .position = 7, .length_bytes = 100});
  out.file({.source = nullptr, .position = 0, .length_bytes = 0});
  out.file({.source = nullptr, .position = 300, .length_bytes = 20});
  out.number(std::int8_t{1});
  EXPECT_EQ(out.size_bytes(), 125u);
  out.patch_front(121);
  const Parts parts = out.take_parts();
  EXPECT_EQ(parts.size_bytes, 125u);
  ASSERT_EQ(parts.parts.size(), 4u);
  EXPECT_EQ(to_hex(std::get<Bytes>(parts.parts[0])), "00 00 00 79");
  EXPECT_EQ(std::get<FileRange>(parts.parts[1]).position, 7u);
  EXPECT_EQ(std::get<FileRange>(parts.parts[2]).length_bytes, 20u);
  EXPECT_EQ(to_hex(std::get<Bytes>(parts.parts[3])), "01");
}

TEST(Reader, ReadsWhatTheWriterWrites) {
  const Bytes wire = from_hex("fe 01 02 ff ff ff ff 02 90 4e");
  Reader in(wire);
  std::int8_t small = 0;
  std::int16_t medium = 0;
  std::int32_t large = 0;
  bool flag = false;
  in.number(small);
  in.number(medium);
  in.number(large);
  in.number(flag);
  EXPECT_EQ(small, -2);
  EXPECT_EQ(medium, 0x0102);
  EXPECT_EQ(large, -1);
  EXPECT_TRUE(flag) << "any byte but zero is true";
  EXPECT_EQ(in.position(), 8u);
  EXPECT_EQ(in.varint(), 10000u);
  EXPECT_TRUE(in.done());
}

TEST(Reader, FailsForGoodAtTheFirstShortRead) {
  const Bytes wire = from_hex("01 02 03");
  Reader in(wire);
  std::int32_t number = 5;
  in.number(number);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(number, 0);
  std::int8_t next = 5;
  in.number(next);
  EXPECT_EQ(next, 0) << "nothing is read after a failure";
  EXPECT_EQ(in.reason(), "goes beyond the end");
  EXPECT_FALSE(in.done());
}

TEST(Reader, RefusesVarintsThatDoNotEndOrDoNotFit) {
  for (const char* hex : {"ff ff ff ff ff", "80 80 80 80 80 01", "ff ff ff ff 10", "80"}) {
    const Bytes wire = from_hex(hex);
    Reader in(wire);
    in.varint();
    EXPECT_TRUE(in.failed()) << hex;
  }
  const Bytes largest = from_hex("ff ff ff ff 0f");
  Reader in(largest);
  EXPECT_EQ(in.varint(), 0xffffffffu);
  EXPECT_TRUE(in.done());
}

TEST(Reader, RefusesLengthsThatCannotBe) {
  const auto string_fails = [](const char* hex, bool compact) {
    const Bytes wire = from_hex(hex);
    Reader in(wire);
    std::optional<std::string> value;
    in.blob(value, compact);
    return in.failed();
  };
  EXPECT_FALSE(string_fails("ff ff", false)) << "null";
  EXPECT_TRUE(string_fails("ff fe", false)) << "-2";
  EXPECT_TRUE(string_fails("00 05 61", false)) << "more than there is";
  EXPECT_FALSE(string_fails("00", true)) << "null";
  EXPECT_TRUE(string_fails("ff ff ff ff 0f 61", true));
  Bytes long_string = from_hex("81 80 02");
  long_string.resize(long_string.size() + 32768, std::byte{'a'});
  Reader in(long_string);
  std::string value;
  in.blob(value, true);
  EXPECT_EQ(in.reason(), "is a string of more than 32767 bytes");
}

TEST(Reader, RefusesANullWhereAValueIsNeeded) {
  const Bytes wire = from_hex("ff ff ff ff");
  Reader in(wire);
  std::vector<std::int32_t> items{1, 2};
  in.list(items, false, [&](std::int32_t& item) { in.number(item); });
  EXPECT_EQ(in.reason(), "is null");
  EXPECT_TRUE(items.empty());
}

TEST(Reader, RefusesACountBeyondTheBytes) {
  const Bytes wire = from_hex("7f ff ff ff 01 02");
  Reader in(wire);
  std::vector<std::int8_t> items;
  in.list(items, false, [&](std::int8_t& item) { in.number(item); });
  EXPECT_EQ(in.reason(), "claims more items than there are bytes");
  EXPECT_TRUE(items.empty());
}

TEST(Reader, KeepsToItsLimits) {
  const Bytes wire = from_hex("00 00 00 04 01 02 03 04");
  const auto read = [&](const DecodeLimits& limits) {
    Reader in(wire, limits);
    std::vector<std::int8_t> items;
    in.list(items, false, [&](std::int8_t& item) { in.number(item); });
    return std::string(in.reason());
  };
  EXPECT_EQ(read({.elements_max = 4, .memory_bytes_max = 4}), "");
  EXPECT_EQ(read({.elements_max = 3, .memory_bytes_max = 4}), "has too many items");
  EXPECT_EQ(read({.elements_max = 4, .memory_bytes_max = 3}), "would take too much memory");
}

TEST(Reader, CountsStringsAgainstItsMemory) {
  const Bytes wire = from_hex("00 03 61 62 63");
  Reader in(wire, {.memory_bytes_max = 2});
  std::string value;
  in.blob(value, false);
  EXPECT_TRUE(in.failed());
  EXPECT_TRUE(value.empty());
}

TEST(Reader, ViewsPointIntoTheInput) {
  const Bytes wire = from_hex("03 61 62");
  Reader in(wire);
  ByteView view;
  in.blob(view, true);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(view.data(), wire.data() + 1);
  EXPECT_EQ(view.size(), 2u);
}

TEST(Reader, SkipsTagsThatNobodyKnows) {
  const Bytes wire = from_hex("02 05 02 aa bb 90 4e 00 7f");
  Reader in(wire);
  in.tags();
  EXPECT_EQ(to_hex(in.rest()), "7f");
}

TEST(Reader, RefusesTagsThatDoNotAscend) {
  for (const char* hex : {"02 05 00 05 00", "02 05 00 04 00"}) {
    const Bytes wire = from_hex(hex);
    Reader in(wire);
    in.tags();
    EXPECT_EQ(in.reason(), "has tags out of order") << hex;
  }
}

TEST(Reader, GivesAKnownTagItsOwnBytesOnly) {
  const Bytes wire = from_hex("01 05 02 aa bb 7f");
  const auto read = [&](auto known) {
    Reader in(wire);
    in.tags([&](std::uint32_t) { return known(in); });
    return std::string(in.reason());
  };
  EXPECT_EQ(read([](Reader& in) { return in.bytes(2).size() == 2; }), "");
  EXPECT_EQ(read([](Reader& in) { return in.bytes(1).size() == 1; }), "has the wrong size");
  EXPECT_EQ(read([](Reader& in) { return in.bytes(3).empty(); }), "goes beyond the end");
}

TEST(Uuid, IsWrittenAsKafkaWritesIt) {
  Uuid id;
  EXPECT_TRUE(id.is_zero());
  EXPECT_EQ(to_string(id), "AAAAAAAAAAAAAAAAAAAAAA");
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = std::byte(0xf0 + i);
  // base64.urlsafe_b64encode(bytes(range(0xf0, 0x100)))
  EXPECT_EQ(to_string(id), "8PHy8_T19vf4-fr7_P3-_w");
  EXPECT_EQ(parse_uuid("8PHy8_T19vf4-fr7_P3-_w"), id);
  EXPECT_LT(Uuid{}, id);
}

TEST(Uuid, RefusesTextThatIsNotOne) {
  for (const char* text : {"", "AAAA", "8PHy8/T19vf4-fr7_P3-_w", "8PHy8_T19vf4-fr7_P3-_x",
                           "8PHy8_T19vf4-fr7_P3-_w="}) {
    EXPECT_FALSE(parse_uuid(text)) << text;
  }
}

}  // namespace
}  // namespace lastword
