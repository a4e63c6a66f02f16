// SPDX-License-Identifier: Apache-2.0
#include "config/topic_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace lastword {
namespace {

/// Sets one setting on top of the defaults and returns how it is then written.
std::string set_and_get(std::string_view name, std::string_view text) {
  const TopicSetting* const setting = find_topic_setting(name);
  if (setting == nullptr) return "no such setting";
  TopicOptions options;
  if (const auto refusal = setting->set(options, text)) return "refused: " + *refusal;
  return setting->get(options);
}

std::string error_of(const std::map<std::string, std::string>& overrides) {
  return make_topic_options(TopicOptions{}, overrides).error.value_or("");
}

/// A value other than the default for each row.
const std::map<std::string_view, std::string> kOtherValues{
    {"cleanup.policy", "compact,delete"},
    {"compression.gzip.level", "9"},
    {"compression.lz4.level", "17"},
    {"compression.type", "zstd"},
    {"compression.zstd.level", "-131072"},
    {"delete.retention.ms", "0"},
    {"file.delete.delay.ms", "60000"},
    {"flush.messages", "1"},
    {"flush.ms", "0"},
    {"index.interval.bytes", "0"},
    {"max.compaction.lag.ms", "1"},
    {"max.message.bytes", "2147483647"},
    {"message.timestamp.after.max.ms", "9223372036854775807"},
    {"message.timestamp.before.max.ms", "0"},
    {"message.timestamp.type", "LogAppendTime"},
    {"min.cleanable.dirty.ratio", "0.01"},
    {"min.compaction.lag.ms", "61200000"},
    {"min.insync.replicas", "1"},
    {"preallocate", "true"},
    {"retention.bytes", "1"},
    {"retention.ms", "-1"},
    {"segment.bytes", "1024"},
    {"segment.index.bytes", "12"},
    {"segment.jitter.ms", "5"},
    {"segment.ms", "1"},
};

TEST(TopicSettings, EveryRowTakesBackWhatItGives) {
  for (const TopicSetting& setting : topic_settings()) {
    SCOPED_TRACE(setting.name);
    const std::string standard = setting.get(TopicOptions{});
    EXPECT_EQ(set_and_get(setting.name, standard), standard);
    TopicOptions same;
    ASSERT_FALSE(setting.set(same, standard));
    EXPECT_EQ(same, TopicOptions{});
    ASSERT_TRUE(kOtherValues.contains(setting.name));
    EXPECT_EQ(set_and_get(setting.name, kOtherValues.at(setting.name)),
              kOtherValues.at(setting.name));
  }
}

TEST(TopicSettings, EveryRowMovesAMemberOfItsOwn) {
  std::map<std::string, std::string> overrides;
  for (const auto& [name, value] : kOtherValues) overrides[std::string(name)] = value;
  overrides["min.compaction.lag.ms"] = "1";
  const auto made = make_topic_options(TopicOptions{}, overrides);
  ASSERT_FALSE(made.error) << *made.error;
  for (const auto& [name, value] : overrides) {
    EXPECT_EQ(find_topic_setting(name)->get(made.options), value) << name;
  }
}

TEST(TopicSettings, ARefusedValueChangesNothing) {
  for (const TopicSetting& setting : topic_settings()) {
    for (const std::string_view bad :
         {"", " ", "x", "-3000000", "1.5e", "0x10", "nan", "1 2", ","}) {
      SCOPED_TRACE(std::string(setting.name) + " = " + std::string(bad));
      TopicOptions options;
      const auto refusal = setting.set(options, bad);
      ASSERT_TRUE(refusal);
      EXPECT_TRUE(refusal->find("expected ") != std::string::npos) << *refusal;
      EXPECT_EQ(options, TopicOptions{});
    }
  }
}

TEST(TopicSettings, BoundsHoldToTheLastUnit) {
  for (const TopicSetting& setting : topic_settings()) {
    if (!setting.range) continue;
    SCOPED_TRACE(setting.name);
    TopicOptions options;
    EXPECT_FALSE(setting.set(options, std::to_string(setting.range->low)));
    EXPECT_FALSE(setting.set(options, std::to_string(setting.range->high)));
    EXPECT_TRUE(setting.set(options, std::to_string(setting.range->low - 1)));
    if (setting.range->high != kUnlimited) {
      EXPECT_TRUE(setting.set(options, std::to_string(setting.range->high + 1)));
    }
    const std::string_view lowest = setting.allowed.substr(0, setting.allowed.find(' '));
    EXPECT_EQ(parse_quantity(lowest, setting.unit), setting.range->low);
  }
}

TEST(TopicSettings, NumbersTakeUnits) {
  EXPECT_EQ(set_and_get("segment.bytes", "64MiB"), "67108864");
  EXPECT_EQ(set_and_get("delete.retention.ms", "24h"), "86400000");
  EXPECT_EQ(set_and_get("retention.ms", "-1"), "-1");
  EXPECT_EQ(set_and_get("retention.ms", " 7d "), "604800000");
  EXPECT_EQ(set_and_get("max.compaction.lag.ms", "9223372036854775807"), "9223372036854775807");
  EXPECT_TRUE(set_and_get("segment.bytes", "24h").starts_with("refused: "));
  EXPECT_TRUE(set_and_get("segment.bytes", "4GiB").starts_with("refused: "));
}

TEST(TopicSettings, PolicyIsAListInAnyOrder) {
  EXPECT_EQ(set_and_get("cleanup.policy", "delete,compact"), "compact,delete");
  EXPECT_EQ(set_and_get("cleanup.policy", "compact, delete"), "compact,delete");
  EXPECT_EQ(set_and_get("cleanup.policy", " compact , compact "), "compact");
  EXPECT_TRUE(set_and_get("cleanup.policy", "compact,").starts_with("refused: "));
  EXPECT_TRUE(set_and_get("cleanup.policy", "Compact").starts_with("refused: "));
}

TEST(TopicSettings, DirtyRatioLiesBetweenZeroAndOne) {
  EXPECT_EQ(set_and_get("min.cleanable.dirty.ratio", "0"), "0");
  EXPECT_EQ(set_and_get("min.cleanable.dirty.ratio", "1.0"), "1");
  EXPECT_EQ(set_and_get("min.cleanable.dirty.ratio", "-0.0"), "0");
  for (const std::string_view bad : {"-0.01", "1.0001", "inf", "nan", "0.5x", "1e400"}) {
    EXPECT_TRUE(set_and_get("min.cleanable.dirty.ratio", bad).starts_with("refused: ")) << bad;
  }
}

TEST(TopicSettings, GzipHasNoLevelZero) {
  EXPECT_EQ(set_and_get("compression.gzip.level", "-1"), "-1");
  EXPECT_TRUE(set_and_get("compression.gzip.level", "0").starts_with("refused: "));
  EXPECT_TRUE(set_and_get("compression.gzip.level", "10").starts_with("refused: "));
}

TEST(TopicSettings, OverridesLeaveTheOtherDefaults) {
  TopicOptions defaults;
  defaults.segment_ms = 5;
  defaults.retention_ms = 6;
  const auto made = make_topic_options(defaults, {{"retention.ms", "7"}});
  ASSERT_FALSE(made.error);
  EXPECT_EQ(made.options.segment_ms, 5);
  EXPECT_EQ(made.options.retention_ms, 7);
}

TEST(TopicSettings, ErrorNamesSettingValueAndWhatIsAllowed) {
  EXPECT_EQ(error_of({{"segment.ms", "0"}}),
            "segment.ms: \"0\" is refused: expected 1 or more, milliseconds as a whole number or "
            "text with a unit (ms, s, min, h, d)");
  EXPECT_EQ(error_of({{"segment.ms", "9223372036854775808"}}).substr(0, 56),
            "segment.ms: \"9223372036854775808\" is refused: too large:");
}

TEST(TopicSettings, AnUnknownNameGetsTheNearestValidOne) {
  EXPECT_EQ(error_of({{"retention.mss", "1"}}),
            "unknown topic setting \"retention.mss\"; did you mean \"retention.ms\"?");
  EXPECT_EQ(error_of({{"delete_retention_ms", "1"}}),
            "unknown topic setting \"delete_retention_ms\"; did you mean \"delete.retention.ms\"?");
  EXPECT_EQ(error_of({{"colour", "red"}}), "unknown topic setting \"colour\"");
}

TEST(TopicSettings, AHugeUnknownNameMakesAShortError) {
  EXPECT_LT(error_of({{std::string(1'000'000, 'a'), "1"}}).size(), 200U);
}

TEST(TopicSettings, MinLagAboveMaxLagIsRefusedWhereverTheyComeFrom) {
  TopicOptions defaults;
  defaults.max_compaction_lag_ms = 10;
  const auto made = make_topic_options(defaults, {{"min.compaction.lag.ms", "11"}});
  ASSERT_TRUE(made.error);
  EXPECT_TRUE(made.error->starts_with("min.compaction.lag.ms (11) is above"));
  EXPECT_FALSE(make_topic_options(defaults, {{"min.compaction.lag.ms", "10"}}).error);
}

TEST(TopicSettings, MoreThanOneReplicaIsRefusedWithTheRemedy) {
  EXPECT_NE(error_of({{"min.insync.replicas", "2"}}).find("leave it out or set it to 1"),
            std::string::npos);
}

TEST(TopicSettings, ReplicationAndRemoteSettingsAreIgnored) {
  for (const std::string_view name :
       {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas",
        "unclean.leader.election.enable", "remote.storage.enable", "local.retention.ms",
        "message.format.version", "message.downconversion.enable"}) {
    EXPECT_TRUE(is_ignored_topic_setting(name)) << name;
    EXPECT_EQ(error_of({{std::string(name), "whatever"}}), "") << name;
  }
  EXPECT_FALSE(is_ignored_topic_setting("remote."));
  EXPECT_FALSE(is_ignored_topic_setting("remotely"));
  EXPECT_FALSE(is_ignored_topic_setting("retention.ms"));
}

TEST(TopicSettings, DefaultsAreKafkas) {
  EXPECT_EQ(find_topic_setting("cleanup.policy")->get({}), "delete");
  EXPECT_EQ(find_topic_setting("retention.ms")->get({}), "604800000");
  EXPECT_EQ(find_topic_setting("segment.bytes")->get({}), "1073741824");
  EXPECT_EQ(find_topic_setting("max.message.bytes")->get({}), "1048588");
  EXPECT_EQ(find_topic_setting("min.cleanable.dirty.ratio")->get({}), "0.5");
  EXPECT_EQ(find_topic_setting("segment.bytes")->type, SettingType::kInt);
  EXPECT_EQ(find_topic_setting("retention.bytes")->type, SettingType::kLong);
}

}  // namespace
}  // namespace lastword
