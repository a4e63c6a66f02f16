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

TEST(Text, RoundsUpWhatIsStillToCome) {
  constexpr std::int64_t kWeek = 7 * 86'400'000;
  EXPECT_EQ(duration_left_text(kWeek), "7 d");
  EXPECT_EQ(duration_left_text(kWeek - 1), "7 d");
  EXPECT_EQ(duration_left_text(kWeek - 3'600'001), "6 d 23 h");
  EXPECT_EQ(duration_left_text(59'999), "1 min");
  EXPECT_EQ(duration_left_text(900), "900 ms");
  EXPECT_EQ(duration_left_text(0), "0 s");
}

TEST(Text, TellsSettingsInUnitsThatPeopleRead) {
  EXPECT_EQ(setting_text("delete.retention.ms", "86400000"), "1d (86400000)");
  EXPECT_EQ(setting_text("delete.retention.ms", "86400001"), "86400001");
  EXPECT_EQ(setting_text("segment.bytes", "1073741824"), "1GiB (1073741824)");
  EXPECT_EQ(setting_text("max.compaction.lag.ms", "9223372036854775807"), "no limit");
  EXPECT_EQ(setting_text("retention.bytes", "-1"), "no limit (-1)");
  EXPECT_EQ(setting_text("min.compaction.lag.ms", "0"), "0");
  EXPECT_EQ(setting_text("cleanup.policy", "compact"), "compact");
  EXPECT_EQ(setting_text("of.another.broker", "86400000"), "86400000");
}

std::string line_of(const PartitionStatus& status, const std::string& name,
                    const std::string& policy = "compact") {
  for (const auto& [found, text] : status_lines(status, policy)) {
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

TEST(StatusText, TellsWhatIsNotCleaned) {
  PartitionStatus status{.dirty_bytes = 298};
  EXPECT_EQ(line_of(status, "not cleaned"),
            "298 B, from offset 0 on; none of it may be cleaned now");
  status.cleanable_bytes = 100;
  status.dirty_ratio_ppm = 333'333;
  status.clean_end = 12;
  EXPECT_EQ(line_of(status, "not cleaned"),
            "298 B, from offset 12 on; 100 B of it may be cleaned now (dirty ratio 0.33)");
  status.dirty_bytes = 0;
  EXPECT_EQ(line_of(status, "not cleaned"), "nothing; all below offset 12 is clean");
}

TEST(StatusText, WithoutCompactThereIsNoTalkOfPasses) {
  PartitionStatus status{.dirty_bytes = 298, .tombstones_waiting = 1};
  status.skip_reason = "cleanup.policy does not contain compact";
  for (const auto& [name, text] : status_lines(status, "delete")) {
    EXPECT_EQ((name + text).find("pass"), std::string::npos) << name << ": " << text;
    EXPECT_NE(name, "not cleaned");
  }
  EXPECT_EQ(line_of(status, "tombstones", "delete"),
            "1; they stay as other records do: cleanup.policy is delete");
  status.tombstones_waiting = 0;
  EXPECT_EQ(line_of(status, "tombstones", "delete"), "");
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
