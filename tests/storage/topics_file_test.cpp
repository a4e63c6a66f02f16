// SPDX-License-Identifier: Apache-2.0
#include "storage/topics_file.h"

#include <gtest/gtest.h>

#include "storage/identity.h"
#include "storage/topic_plan.h"
#include "tests/support/memory_file_system.h"

namespace lastword::storage {
namespace {

TopicsFile example() {
  TopicsFile file;
  file.topics["addresses"] = {.id = random_id(),
                              .partitions = 3,
                              .in_file = true,
                              .overrides = {{"cleanup.policy", "compact"}, {"segment.ms", "1"}}};
  file.topics["plain"] = {.id = random_id()};
  file.removed.push_back({.name = "gone", .id = random_id(), .partitions = 2});
  return file;
}

TEST(TopicsFile, IsReadBackAsItWasWritten) {
  const TopicsFile file = example();
  EXPECT_EQ(*decode_topics(encode(file)), file);
  EXPECT_EQ(*decode_topics(encode(TopicsFile{})), TopicsFile{});
}

TEST(TopicsFile, EveryFlippedByteAndEveryCutIsSeen) {
  const Bytes whole = encode(example());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= std::byte{0x10};
    EXPECT_EQ(decode_topics(flipped).error().kind, ErrorKind::kDamaged) << "byte " << i;
    EXPECT_EQ(decode_topics(ByteView(whole).first(i)).error().kind, ErrorKind::kDamaged) << i;
  }
}

TEST(TopicsFile, ImpossibleListsAreDamage) {
  TopicsFile file = example();
  file.topics["plain"].id = file.topics["addresses"].id;
  EXPECT_FALSE(decode_topics(encode(file)));
  file.topics["plain"].id = {};
  EXPECT_FALSE(decode_topics(encode(file)));
  file = example();
  file.topics["plain"].partitions = 0;
  EXPECT_FALSE(decode_topics(encode(file)));
}

TEST(TopicsFile, ANewDirectoryHasNoTopics) {
  test::MemoryFileSystem files;
  EXPECT_EQ(load_topics(files, "/").error().kind, ErrorKind::kNotFound);
  const TopicsFile file = example();
  ASSERT_TRUE(save_topics(files, "/", file));
  files.crash(1, test::CrashKind::kPower, {.unsynced = test::Unsynced::kDropped});
  EXPECT_EQ(*load_topics(files, "/"), file);
}

class Plan : public testing::Test {
 protected:
  Error refused(const TopicsFile& present) {
    auto adapted = adapt_to_file(present, options_);
    EXPECT_FALSE(adapted);
    return adapted ? Error{} : adapted.take_error();
  }
  BrokerOptions options_;
};

TEST_F(Plan, MakesTheTopicsOfTheFile) {
  options_.topics["a"] = {.partitions = 2, .settings = {{"cleanup.policy", "compact"}}};
  const auto adapted = adapt_to_file({}, options_);
  ASSERT_TRUE(adapted) << adapted.error().text;
  const StoredTopic& topic = adapted->topics.at("a");
  EXPECT_EQ(topic.partitions, 2);
  EXPECT_TRUE(topic.in_file);
  EXPECT_EQ(topic.overrides, options_.topics["a"].settings);
  EXPECT_NE(topic.id, TopicId{});
}

TEST_F(Plan, TheFilesSettingsReplaceThoseOfTheTopic) {
  TopicsFile present = example();
  const TopicId id = present.topics["addresses"].id;
  options_.topics["addresses"] = {.partitions = 5, .settings = {{"retention.ms", "1000"}}};
  const auto adapted = adapt_to_file(present, options_);
  ASSERT_TRUE(adapted) << adapted.error().text;
  const StoredTopic& topic = adapted->topics.at("addresses");
  EXPECT_EQ(topic.id, id);
  EXPECT_EQ(topic.partitions, 5);
  EXPECT_EQ(topic.overrides, (std::map<std::string, std::string>{{"retention.ms", "1000"}}));
}

TEST_F(Plan, ATopicThatLeavesTheFileKeepsItsSettingsAsItsOwn) {
  const TopicsFile present = example();
  const auto adapted = adapt_to_file(present, options_);
  ASSERT_TRUE(adapted);
  const StoredTopic& topic = adapted->topics.at("addresses");
  EXPECT_FALSE(topic.in_file);
  EXPECT_EQ(topic.overrides, present.topics.at("addresses").overrides);
}

TEST_F(Plan, TakingPartitionsAwayIsRefusedWithBothCounts) {
  options_.topics["addresses"] = {.partitions = 2};
  const Error error = refused(example());
  EXPECT_EQ(error.kind, ErrorKind::kInvalidPartitions);
  EXPECT_NE(error.text.find("addresses"), std::string::npos);
  EXPECT_NE(error.text.find("has 3 partitions"), std::string::npos);
  EXPECT_NE(error.text.find("says 2"), std::string::npos);
}

TEST_F(Plan, BadSettingsAreRefusedWithTheTopicsName) {
  options_.topics["a"] = {.settings = {{"segment.bytes", "many"}}};
  const Error error = refused({});
  EXPECT_EQ(error.kind, ErrorKind::kInvalidConfig);
  EXPECT_NE(error.text.find("topic a"), std::string::npos);
  EXPECT_NE(error.text.find("segment.bytes"), std::string::npos);
}

TEST_F(Plan, NewDefaultsMustFitTheSettingsOfEveryTopic) {
  TopicsFile present = example();
  present.topics["plain"].overrides = {{"max.compaction.lag.ms", "1000"}};
  options_.topic_defaults = {{"min.compaction.lag.ms", "2000"}};
  EXPECT_EQ(refused(present).kind, ErrorKind::kInvalidConfig);
}

TEST_F(Plan, NamesThatDifferOnlyInDotAndUnderscoreCollide) {
  options_.topics["a.b"] = {};
  options_.topics["a_b"] = {};
  EXPECT_EQ(refused({}).kind, ErrorKind::kInvalidTopicName);
}

TEST_F(Plan, TheLimitOfPartitionsHoldsForNewOnesOnly) {
  options_.limits.partitions = 4;
  EXPECT_TRUE(adapt_to_file(example(), options_)) << "there are four";
  options_.topics["addresses"] = {.partitions = 4};
  EXPECT_EQ(refused(example()).kind, ErrorKind::kPolicyViolation);
  options_.limits.partitions = 2;
  options_.topics.clear();
  EXPECT_TRUE(adapt_to_file(example(), options_)) << "a lowered limit takes nothing away";
}

TEST_F(Plan, ValuesAreStoredAsKafkaWritesThem) {
  const std::map<std::string, std::string> given = {
      {"segment.bytes", "64MiB"},
      {"retention.ms", "24h"},
      {"follower.replication.throttled.replicas", ""}};
  const auto options = topic_options("a", {}, given);
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(canonical_overrides(*options, given),
            (std::map<std::string, std::string>{{"retention.ms", "86400000"},
                                                {"segment.bytes", "67108864"}}));
}

}  // namespace
}  // namespace lastword::storage
