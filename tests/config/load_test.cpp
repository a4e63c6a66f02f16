// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/settings_page.h"
#include "config/topic_name.h"
#include "config/topic_settings.h"

namespace lastword {
namespace {

LoadedOptions load(std::string_view text) {
  LoadResult result = parse_options(text, "test.json");
  if (const auto* error = std::get_if<std::string>(&result)) {
    ADD_FAILURE() << *error;
    return {};
  }
  return std::get<LoadedOptions>(std::move(result));
}

std::string error_of(std::string_view text) {
  LoadResult result = parse_options(text, "test.json");
  const auto* error = std::get_if<std::string>(&result);
  return error != nullptr ? *error : "no error";
}

void expect_error(std::string_view text, std::string_view beginning) {
  const std::string error = error_of(text);
  EXPECT_TRUE(error.starts_with(beginning))
      << text << "\nsays:     " << error << "\nexpected: " << beginning;
}

constexpr std::string_view kNamesOfOldFiles = R"({
  "listen": "127.0.0.1:9092",
  "advertise": "127.0.0.1:9092",
  "data_dir": "/var/lib/lastword",
  "durability": "fsync",
  "auto_create_topics": false,
  "cleaner": {"threads": 1, "memory": "128MiB", "interval_ms": 15000},
  "retention_check_interval_ms": 30000,
  "limits": {"request_bytes": "100MiB", "connections": 10000, "connection_idle_ms": "10min"},
  "topic_defaults": {"segment.bytes": "1GiB"},
  "topics": {"customer-addresses": {"partitions": 1, "cleanup.policy": "compact",
                                    "delete.retention.ms": "24h"}}
})";

BrokerOptions expected_of_old_file() {
  BrokerOptions options;
  options.file = "test.json";
  options.advertise = "127.0.0.1:9092";
  options.topic_defaults = {{"segment.bytes", "1073741824"}};
  options.topics["customer-addresses"] = {
      .partitions = 1,
      .settings = {{"cleanup.policy", "compact"}, {"delete.retention.ms", "86400000"}}};
  return options;
}

TEST(Load, FilesWrittenForTheFirstVersionStayValid) {
  const LoadedOptions loaded = load(kNamesOfOldFiles);
  EXPECT_EQ(loaded.options, expected_of_old_file());
  EXPECT_TRUE(loaded.notes.empty());
}

TEST(Load, TheSampleFileLoads) {
  LoadResult result = load_options(LASTWORD_SOURCE_DIR "/config/lastword.json");
  ASSERT_TRUE(std::holds_alternative<LoadedOptions>(result)) << std::get<std::string>(result);
  BrokerOptions options = std::get<LoadedOptions>(result).options;
  options.file = "test.json";
  BrokerOptions expected = expected_of_old_file();
  expected.advertise.clear();
  EXPECT_EQ(options, expected);
}

TEST(Load, TheSettingsOfTheImageNameTheSameTopics) {
  LoadResult result = load_options(LASTWORD_SOURCE_DIR "/docker/lastword.json");
  ASSERT_TRUE(std::holds_alternative<LoadedOptions>(result)) << std::get<std::string>(result);
  EXPECT_EQ(std::get<LoadedOptions>(result).options.topics, expected_of_old_file().topics);
}

TEST(Load, TheNameOfASchemaSaysNothingToTheBroker) {
  BrokerOptions expected;
  expected.file = "test.json";
  EXPECT_EQ(load(R"({"$schema": "lastword.schema.json"})").options, expected);
  expect_error(R"({"$schema": 1})",
               "test.json: line 1: $schema: expected text in quotes, not a number");
  expect_error(R"({"limits": {"$schema": "x"}})",
               "test.json: line 1: limits.$schema: unknown setting");
}

TEST(Load, AllErrorsAreToldAtOnce) {
  EXPECT_EQ(error_of("{\"durabilty\": \"os\",\n\"cleaner\": {\"threads\": 0},\n"
                     "\"topics\": {\"a/b\": {},\n\"t\": {\"partitions\": 0, \"preallocate\": 1}}}"),
            "test.json: line 1: durabilty: unknown setting; did you mean \"durability\"?\n"
            "test.json: line 2: cleaner.threads: 0 is refused: expected 1 to 64, a whole number\n"
            "test.json: line 3: topics: " +
                topic_name_error("a/b").value_or("") +
                "\ntest.json: line 4: topics.t.partitions: expected a whole number, 1 to 1000000\n"
                "test.json: line 4: topics.t.preallocate: expected true or false, not a number; "
                "allowed: false, true");
}

TEST(Load, OfVeryManyErrorsTheFirstAreTold) {
  std::string text = "{\"limits\": {";
  for (int i = 0; i < 1000; ++i) text += "\"n" + std::to_string(i) + "\": 1,";
  text.back() = '}';
  const std::string error = error_of(text + "}");
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 20);
  EXPECT_TRUE(error.ends_with("\ntest.json: and 980 more")) << error;
}

TEST(Load, AnEmptyObjectGivesTheDefaults) {
  BrokerOptions expected;
  expected.file = "test.json";
  EXPECT_EQ(load("{}").options, expected);
}

TEST(Load, PrintedDefaultsLoadAsTheDefaults) {
  LoadedOptions loaded = load(print_defaults());
  EXPECT_TRUE(loaded.notes.empty());
  const auto topic = make_topic_options(TopicOptions{}, loaded.options.topic_defaults);
  EXPECT_EQ(topic.options, TopicOptions{});
  EXPECT_EQ(loaded.options.topic_defaults.size(), topic_settings().size());
  loaded.options.topic_defaults.clear();
  BrokerOptions expected;
  expected.file = "test.json";
  EXPECT_EQ(loaded.options, expected);
}

TEST(Load, CommentsAreSkipped) {
  const LoadedOptions loaded =
      load("// first\n{ // here\n\"durability\": \"os\" // there\n}\n// end");
  EXPECT_EQ(loaded.options.durability, Durability::kOs);
}

TEST(Load, ValuesAreTakenAsJsonHasThem) {
  const LoadedOptions loaded = load(R"({"topic_defaults": {
    "cleanup.policy": ["delete", "compact"], "preallocate": true, "segment.bytes": 2048,
    "min.cleanable.dirty.ratio": 0.25, "retention.ms": -1, "max.compaction.lag.ms": "36h",
    "flush.messages": 9223372036854775807, "compression.type": "zstd"}})");
  const std::map<std::string, std::string> expected{{"cleanup.policy", "compact,delete"},
                                                    {"preallocate", "true"},
                                                    {"segment.bytes", "2048"},
                                                    {"min.cleanable.dirty.ratio", "0.25"},
                                                    {"retention.ms", "-1"},
                                                    {"max.compaction.lag.ms", "129600000"},
                                                    {"flush.messages", "9223372036854775807"},
                                                    {"compression.type", "zstd"}};
  EXPECT_EQ(loaded.options.topic_defaults, expected);
}

TEST(Load, ATopicsOwnSettingGoesBeforeTheDefaultsWhereverTheyStand) {
  const LoadedOptions loaded = load(R"({"topics": {"t": {"segment.ms": 5}},
               "topic_defaults": {"segment.ms": 7, "retention.ms": 8}})");
  const auto defaults = make_topic_options(TopicOptions{}, loaded.options.topic_defaults);
  const auto topic = make_topic_options(defaults.options, loaded.options.topics.at("t").settings);
  EXPECT_EQ(topic.options.segment_ms, 5);
  EXPECT_EQ(topic.options.retention_ms, 8);
  EXPECT_EQ(topic.options.segment_bytes, kGibibyte);
  EXPECT_EQ(loaded.options.topics.at("t").partitions, 1);
}

TEST(Load, ATopicIsCheckedOnTopOfTheDefaultsOfTheFile) {
  expect_error(R"({"topics": {"t": {"min.compaction.lag.ms": 11}},
                   "topic_defaults": {"max.compaction.lag.ms": 10}})",
               "test.json: line 1: topics.t: min.compaction.lag.ms (11) is above");
}

TEST(Load, IgnoredSettingsAreNotedAndNotKept) {
  const LoadedOptions loaded = load("{\"topics\": {\"t\": {\n\"remote.storage.enable\": true}}}");
  ASSERT_EQ(loaded.notes.size(), 1U);
  EXPECT_EQ(loaded.notes[0],
            "test.json: line 2: topics.t.remote.storage.enable: accepted and ignored: it means "
            "nothing on a single node");
  EXPECT_TRUE(loaded.options.topics.at("t").settings.empty());
}

TEST(Load, AnUnknownNameGetsTheNearestValidOne) {
  expect_error("{\n\"durabilty\": \"os\"}",
               "test.json: line 2: durabilty: unknown setting; did you mean \"durability\"?");
  expect_error("{\"cleaner\": {\n\n\"treads\": 1}}",
               "test.json: line 3: cleaner.treads: unknown setting; did you mean "
               "\"cleaner.threads\"?");
  expect_error(R"({"topics": {"t": {"partition": 1, "segment.byte": 1}}})",
               "test.json: line 1: topics.t.partition: unknown topic setting \"partition\"; did "
               "you mean \"partitions\"?");
  expect_error(R"({"topic_defaults": {"segment_bytes": 4096}})",
               "test.json: line 1: topic_defaults.segment_bytes: unknown topic setting "
               "\"segment_bytes\"; did you mean \"segment.bytes\"?");
}

TEST(Load, ANameInTheWrongPlaceGetsTheRightOne) {
  expect_error(R"({"open_files": 100})",
               "test.json: line 1: open_files: unknown setting; did you mean "
               "\"limits.open_files\"?");
  expect_error(R"({"segment.bytes": 4096})",
               "test.json: line 1: segment.bytes: unknown setting; did you mean "
               "\"topic_defaults.segment.bytes\"?");
  expect_error(R"({"log.cleaner.threads": 2})",
               "test.json: line 1: log.cleaner.threads: unknown setting; did you mean "
               "\"cleaner.threads\"?");
  expect_error(R"({"log.retention.ms": 1})",
               "test.json: line 1: log.retention.ms: unknown setting; did you mean "
               "\"topic_defaults.retention.ms\"?");
  expect_error(R"({"log.retention.hours": 1})",
               "test.json: line 1: log.retention.hours: unknown setting; did you mean "
               "\"topic_defaults.retention.ms\"?");
  expect_error(R"({"num.partitions": 3})",
               "test.json: line 1: num.partitions: cannot be set; it is 1: Partitions of a topic");
  expect_error(R"({"cleaner": {"colour": 1}})",
               "test.json: line 1: cleaner.colour: unknown setting; known here: threads, memory, "
               "interval_ms, io_bytes_per_second");
}

TEST(Load, ADottedPathIsNotAKey) {
  expect_error(R"({"cleaner.threads": 2})",
               "test.json: line 1: cleaner.threads: unknown setting; write it as an object: "
               "\"cleaner\": {\"threads\": …}");
}

TEST(Load, AWrongTypeSaysWhatIsWanted) {
  expect_error(R"({"data_dir": 5})",
               "test.json: line 1: data_dir: expected text in quotes, not a number");
  expect_error(R"({"auto_create_topics": 1})",
               "test.json: line 1: auto_create_topics: expected true or false, not a number");
  expect_error(R"({"limits": {"open_files": true}})",
               "test.json: line 1: limits.open_files: expected a whole number, not true or false");
  expect_error(R"({"limits": 5})", "test.json: line 1: limits: expected an object, not a number");
  expect_error(R"({"limits": {"request_bytes": null}})",
               "test.json: line 1: limits.request_bytes: expected a whole number or text with a "
               "unit, not null");
  expect_error(R"({"topics": ["t"]})", "test.json: line 1: topics: expected an object, not a list");
  expect_error(R"({"topics": {"t": "x"}})",
               "test.json: line 1: topics.t: expected an object, not text in quotes");
  expect_error(R"({"topic_defaults": {"cleanup.policy": [1]}})",
               "test.json: line 1: topic_defaults.cleanup.policy: expected text in quotes or a "
               "list of texts, not a list");
  expect_error("[]", "test.json: expected an object");
}

TEST(Load, NumbersAndTruthMayStandInQuotesAsAtKafka) {
  const BrokerOptions loaded =
      load(R"({"auto_create_topics": "true", "limits": {"connections": "5"},
      "topics": {"t": {"min.cleanable.dirty.ratio": "0.1", "preallocate": "true"}}})")
          .options;
  EXPECT_TRUE(loaded.auto_create_topics);
  EXPECT_EQ(loaded.limits.connections, 5);
  EXPECT_EQ(loaded.topics.at("t").settings.at("min.cleanable.dirty.ratio"), "0.1");
}

TEST(Load, ABadValueIsNamed) {
  expect_error(R"({"cleaner": {"memory": "1.5GiB"}})",
               "test.json: line 1: cleaner.memory: \"1.5GiB\" is refused: expected 1MiB to 1TiB");
  expect_error(R"({"cleaner": {"threads": 0}})",
               "test.json: line 1: cleaner.threads: 0 is refused: expected 1 to 64");
  expect_error(R"({"cleaner": {"threads": 1.0}})",
               "test.json: line 1: cleaner.threads: 1.0 is refused");
  expect_error(R"({"limits": {"open_files": 99999999999999999999}})",
               "test.json: line 1: limits.open_files: 99999999999999999999 is refused: too "
               "large: expected 16 to");
  expect_error(
      R"({"topic_defaults": {"cleanup.policy": []}})",
      "test.json: line 1: topic_defaults.cleanup.policy: \"\" is refused: expected delete");
  expect_error(R"({"durability": "sync"})",
               "test.json: line 1: durability: \"sync\" is refused: expected one of fsync, os");
  expect_error(R"({"advertise": "0.0.0.0:9092"})",
               "test.json: line 1: advertise: \"0.0.0.0:9092\" is refused: clients cannot");
}

TEST(Load, PartitionsAreAtLeastOne) {
  for (const std::string_view bad : {"0", "-1", "1.5", "\"2\"", "true", "1000001"}) {
    expect_error("{\"topics\": {\"t\": {\"partitions\": " + std::string(bad) + "}}}",
                 "test.json: line 1: topics.t.partitions: expected a whole number, 1 to");
  }
  EXPECT_TRUE(
      error_of(R"({"topics": {"t": {"partitions": "2"}}})").ends_with("not text in quotes"));
}

TEST(Load, TopicNamesFollowTheRuleOfCreateTopics) {
  expect_error(R"({"topics": {"": {}}})", "test.json: line 1: topics: the topic name is empty");
  expect_error(R"({"topics": {"a/b": {}}})",
               "test.json: line 1: topics: the topic name \"a/b\" contains a character");
  expect_error("{\"topics\": {\"a.b\": {},\n\"a_b\": {}}}",
               "test.json: line 2: topics.a_b: collides with topic \"a.b\"");
}

TEST(Load, AKeyGivenTwiceIsAnError) {
  expect_error("{\"cleaner\": {\"threads\": 1,\n \"memory\": \"1GiB\",\n \"threads\": 2}}",
               "test.json: line 3: the key \"threads\" is given twice, first in line 1");
  expect_error(R"({"topics": {"t": {}, "t": {}}})",
               "test.json: line 1: the key \"t\" is given twice");
}

TEST(Load, ASyntaxErrorSaysWhere) {
  expect_error("{\n\"listen\": \"a:1\",\n}", "test.json: line 3, column 1: syntax error");
  expect_error("", "test.json: line 1, column 1: syntax error");
  expect_error("{} x", "test.json: line 1, column 4: syntax error");
  expect_error("{\"limits\": {\"open_files\": 1e999}}", "test.json: line 1");
  expect_error("{\"listen\": \"\xff\"}", "test.json: line 1, column");
}

TEST(Load, DeepNestingIsRefused) {
  const std::string deep(100000, '[');
  expect_error("{\"listen\": " + deep, "test.json: line 1: more than 8 levels");
}

TEST(Load, SettingsAreCheckedAgainstEachOther) {
  expect_error(
      R"({"limits": {"request_memory_bytes": "1MiB"}})",
      "test.json: limits.request_memory_bytes (1MiB) is below 8/7 of limits.request_bytes");
}

TEST(Load, AFileThatIsNotThereIsNamed) {
  LoadResult missing = load_options("/nonexistent/lastword.json");
  ASSERT_TRUE(std::holds_alternative<std::string>(missing));
  EXPECT_EQ(std::get<std::string>(missing),
            "/nonexistent/lastword.json: cannot be opened: No such file or directory");
  LoadResult folder = load_options("/");
  ASSERT_TRUE(std::holds_alternative<std::string>(folder));
  EXPECT_EQ(std::get<std::string>(folder), "/: is a folder; expected a file with settings");
}

TEST(Load, EveryTruncationOfAFileIsAnError) {
  for (std::size_t size = 0; size < kNamesOfOldFiles.size(); ++size) {
    EXPECT_NE(error_of(kNamesOfOldFiles.substr(0, size)), "no error") << size;
  }
}

}  // namespace
}  // namespace lastword
