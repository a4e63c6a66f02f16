// SPDX-License-Identifier: Apache-2.0
#include "config/setting_value.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace lastword {
namespace {

constexpr auto kNone = SettingUnit::kNone;
constexpr auto kBytes = SettingUnit::kBytes;
constexpr auto kMs = SettingUnit::kMilliseconds;

TEST(ParseQuantity, ReadsPlainNumbers) {
  EXPECT_EQ(parse_quantity("0", kNone), 0);
  EXPECT_EQ(parse_quantity("-1", kBytes), -1);
  EXPECT_EQ(parse_quantity(" 42\t", kMs), 42);
  EXPECT_EQ(parse_quantity("9223372036854775807", kMs), std::numeric_limits<std::int64_t>::max());
}

TEST(ParseQuantity, ReadsSizes) {
  EXPECT_EQ(parse_quantity("5B", kBytes), 5);
  EXPECT_EQ(parse_quantity("128KiB", kBytes), 131072);
  EXPECT_EQ(parse_quantity("64MiB", kBytes), 67108864);
  EXPECT_EQ(parse_quantity("1GiB", kBytes), 1073741824);
  EXPECT_EQ(parse_quantity("2 TiB", kBytes), 2199023255552);
  EXPECT_EQ(parse_quantity("3kB", kBytes), 3000);
  EXPECT_EQ(parse_quantity("3MB", kBytes), 3000000);
  EXPECT_EQ(parse_quantity("3GB", kBytes), 3000000000);
}

TEST(ParseQuantity, ReadsTimes) {
  EXPECT_EQ(parse_quantity("500ms", kMs), 500);
  EXPECT_EQ(parse_quantity("30s", kMs), 30000);
  EXPECT_EQ(parse_quantity("10min", kMs), 600000);
  EXPECT_EQ(parse_quantity("24h", kMs), 86400000);
  EXPECT_EQ(parse_quantity("7d", kMs), 604800000);
}

TEST(ParseQuantity, IsExactNextToTheLimit) {
  EXPECT_EQ(parse_quantity("9007199254740993", kBytes), 9007199254740993);  // 2^53 + 1
  EXPECT_EQ(parse_quantity("8388607TiB", kBytes), 8388607LL << 40);
  EXPECT_EQ(parse_quantity("8388608TiB", kBytes), std::nullopt);
}

TEST(ParseQuantity, RefusesGarbageAndOverflow) {
  for (const std::string_view bad :
       {"", " ", "x", "MiB", "1.5GiB", "1e3", "0x10", "+5", "--5", "5 5", "64mib", "64M", "24h",
        "5MiBs", "9223372036854775808", "-9223372036854775809", "99999999999999999999"}) {
    EXPECT_EQ(parse_quantity(bad, kBytes), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_quantity("1MiB", kMs), std::nullopt);
  EXPECT_EQ(parse_quantity("1s", kNone), std::nullopt);
  EXPECT_EQ(parse_quantity("106751991168d", kMs), std::nullopt);
}

TEST(QuantityRefusal, SaysWhatMayHaveBeenMeant) {
  const auto end_of = [](std::string_view text, SettingUnit unit) {
    const std::string refusal = quantity_refusal(text, "1 to 5", unit);
    const std::size_t hint = refusal.find(';');
    return hint == std::string::npos ? std::string() : refusal.substr(hint);
  };
  EXPECT_EQ(end_of("1.5GiB", kBytes), "; there are no fractions: take a smaller unit");
  EXPECT_EQ(end_of("128M", kBytes), "; did you mean MiB or MB?");
  EXPECT_EQ(end_of("30m", kMs), "; did you mean min or ms?");
  for (const std::string_view other : {"", "x", "7", "64MiB", "5 x", "-", "9999999999999999999"}) {
    EXPECT_EQ(end_of(other, kBytes), "") << other;
  }
  EXPECT_EQ(end_of("1.5", kNone), "");
}

TEST(FormatQuantity, ReadsBackAsTheSame) {
  for (const std::int64_t value :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, std::int64_t{1024},
        std::int64_t{1048588}, std::int64_t{1} << 30, std::int64_t{604800000},
        std::numeric_limits<std::int64_t>::max()}) {
    for (const SettingUnit unit : {kNone, kBytes, kMs}) {
      EXPECT_EQ(parse_quantity(format_quantity(value, unit), unit), value) << value;
    }
  }
  EXPECT_EQ(format_quantity(64 << 20, kBytes), "64MiB");
  EXPECT_EQ(format_quantity(604800000, kMs), "7d");
  EXPECT_EQ(format_quantity(15000, kMs), "15s");
  EXPECT_EQ(format_quantity(1048588, kBytes), "1048588");
}

TEST(NearestName, FindsATypoAndNothingFar) {
  constexpr std::array<std::string_view, 3> kNames{"threads", "memory", "interval_ms"};
  EXPECT_EQ(nearest_name("treads", kNames), "threads");
  EXPECT_EQ(nearest_name("interval", kNames), "");
  EXPECT_EQ(nearest_name("intervall_ms", kNames), "interval_ms");
  EXPECT_EQ(nearest_name("colour", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(InQuotes, KeepsLogLinesShortAndWhole) {
  EXPECT_EQ(in_quotes("a\nb"), "\"a?b\"");
  EXPECT_LT(in_quotes(std::string(10000, 'x')).size(), 100U);
}

}  // namespace
}  // namespace lastword
