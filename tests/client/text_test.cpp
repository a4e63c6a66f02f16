// SPDX-License-Identifier: Apache-2.0
#include "client/text.h"

#include <gtest/gtest.h>

#include "client/status_text.h"

namespace lastword::client {
namespace {

TEST(Text, ShowsNullApartFromEmptyAndFromTheirWords) {
  EXPECT_EQ(visible(std::nullopt), "(null)");
  EXPECT_EQ(visible(""), "(empty)");
  EXPECT_EQ(visible("(null)"), "\\(null)");
  EXPECT_EQ(visible("(empty)"), "\\(empty)");
  EXPECT_EQ(visible("(nullable)"), "(nullable)");
}

TEST(Text, KeepsAFieldOnOneLine) {
  EXPECT_EQ(visible("a\tb\nc\rd\\e\x01"), "a\\tb\\nc\\rd\\\\e\\x01");
  EXPECT_EQ(visible("Troms\xc3\xb8"), "Troms\xc3\xb8");
}

TEST(Text, UnescapesSeparators) {
  EXPECT_EQ(unescaped("\\t"), "\t");
  EXPECT_EQ(unescaped("a\\x3Ab\\\\"), "a:b\\");
  EXPECT_EQ(unescaped("\\q"), std::nullopt);
  EXPECT_EQ(unescaped("\\x3"), std::nullopt);
  EXPECT_EQ(unescaped("end\\"), std::nullopt);
}

TEST(Text, TellsTimes) {
  EXPECT_EQ(time_text(1'767'607'200'000), "2026-01-05T10:00:00.000Z");
  EXPECT_EQ(time_text(1), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(time_text(-1), "-");
}

TEST(Text, TellsDurationsInTheTwoUnitsThatMatter) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(-5), "0 s");
  EXPECT_EQ(duration_text(900), "900 ms");
  EXPECT_EQ(duration_text(45'999), "45 s");
  EXPECT_EQ(duration_text(3 * 3'600'000 + 12 * 60'000 + 5000), "3 h 12 min");
  EXPECT_EQ(duration_text(2 * 86'400'000), "2 d");
}

TEST(Text, TellsSizesAndCounts) {
  EXPECT_EQ(size_text(812), "812 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(std::int64_t{3} << 40), "3.0 TiB");
  EXPECT_EQ(count_text(1, "record"), "1 record");
  EXPECT_EQ(count_text(2, "record"), "2 records");
}

TEST(Text, AlignsColumnsByCharacters) {
  EXPECT_EQ(table_text({{"A", "B"}, {"Troms\xc3\xb8", "x"}}), "A       B\nTroms\xc3\xb8  x\n");
}

std::string line_of(const PartitionStatus& status, const std::string& name) {
  for (const auto& [found, text] : status_lines(status)) {
    if (found == name) return text;
  }
  return {};
}

TEST(StatusText, TellsMomentsByTheBrokersClock) {
  PartitionStatus status{.tombstones_waiting = 1,
                         .next_horizon_ms = 1000 + 11'520'000,
                         .next_due_ms = 1000 + 60'000,
                         .next_due_what = "compact"};
  status.clock_ms = 1000;
  EXPECT_EQ(line_of(status, "tombstones"),
            "1 waiting; the next one goes in 3 h 12 min (1970-01-01T03:12:01.000Z)");
  EXPECT_EQ(line_of(status, "next due"), "compact in 1 min (1970-01-01T00:01:01.000Z)");
  EXPECT_EQ(line_of(status, "last pass"), "none yet");
  EXPECT_EQ(line_of(status, "in quarantine"), "");
}

TEST(StatusText, TellsTroubleOnlyWhenThereIsSome) {
  PartitionStatus status;
  status.quarantine_reason = "a batch is damaged";
  status.quarantine_retry_ms = 60'000;
  status.fenced = true;
  status.damaged.push_back({10, 19, "00000000000000000010.log", 0, 612});
  EXPECT_EQ(line_of(status, "in quarantine"),
            "a batch is damaged; tried again in 1 min (1970-01-01T00:01:00.000Z)");
  EXPECT_NE(line_of(status, "fenced"), "");
  EXPECT_EQ(line_of(status, "damaged"),
            "offsets 10 to 19: 612 B at position 0 of 00000000000000000010.log");
}

}  // namespace
}  // namespace lastword::client
