// SPDX-License-Identifier: Apache-2.0
#include "client/admin.h"

#include <gtest/gtest.h>

#include "tests/support/broker_fixture.h"

namespace lastword::client {
namespace {

class AdminTest : public testing::Test {
 protected:
  test::BrokerFixture fixture_{};
  Link link_{fixture_.connection()};
  Admin admin_{link_};
};

TEST_F(AdminTest, CreatesListsAndDeletesTopics) {
  const auto created = admin_.create_topic({.name = "b", .partitions = 3});
  ASSERT_TRUE(created) << created.error().text;
  EXPECT_EQ(created->partitions.size(), 3U);
  EXPECT_FALSE(created->id.is_zero());
  ASSERT_TRUE(admin_.create_topic({.name = "a"}));

  const auto topics = admin_.list_topics();
  ASSERT_TRUE(topics) << topics.error().text;
  ASSERT_EQ(topics->size(), 2U);
  EXPECT_EQ(topics->at(0).name, "a");
  EXPECT_EQ(topics->at(1).name, "b");

  ASSERT_TRUE(admin_.delete_topic("b"));
  const auto gone = admin_.topic("b");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kUnknownTopic);
  EXPECT_EQ(gone.error().text,
            "there is no topic b; create it: lastword topics create b --config "
            "cleanup.policy=compact (keeps the latest value of each key), or without --config (the "
            "broker's defaults)");
}

TEST_F(AdminTest, ARefusalNamesTopicAndReason) {
  ASSERT_TRUE(admin_.create_topic({.name = "a"}));
  const auto twice = admin_.create_topic({.name = "a"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::kTopicExists);

  const auto bad = admin_.create_topic({.name = "b", .configs = {{"delete.retention.mss", "24"}}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::kInvalidConfig);
  EXPECT_NE(bad.error().text.find("delete.retention.ms"), std::string::npos) << bad.error().text;

  EXPECT_FALSE(admin_.delete_topic("nope"));
}

TEST_F(AdminTest, TellsSettingsAndWhereTheyComeFrom) {
  ASSERT_TRUE(admin_.create_topic({.name = "a", .configs = {{"cleanup.policy", "compact"}}}));
  const auto settings = admin_.topic_settings("a");
  ASSERT_TRUE(settings) << settings.error().text;
  const auto find = [&](const std::string& name) {
    for (const TopicSetting& setting : *settings) {
      if (setting.name == name) return setting;
    }
    return TopicSetting{};
  };
  EXPECT_EQ(find("cleanup.policy").value, "compact");
  EXPECT_EQ(find("cleanup.policy").source, "topic");
  EXPECT_EQ(find("delete.retention.ms").value, "86400000");
  EXPECT_EQ(find("delete.retention.ms").source, "default");
}

TEST_F(AdminTest, TellsThePartitionsStatusOnlyWhenAsked) {
  fixture_.create_topic("a");
  fixture_.produce("a", "k", "v");
  const auto plain = admin_.topic("a");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->partitions.at(0).status.has_value());
  const auto whole = admin_.topic("a", true);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(whole->partitions.at(0).status.has_value());
  EXPECT_EQ(whole->partitions.at(0).status->high_watermark, 1);
  EXPECT_EQ(whole->partitions.at(0).status->clock_ms, fixture_.clock.now_ms());
}

TEST_F(AdminTest, FindsOffsetsByEndAndByTime) {
  fixture_.create_topic("a");
  for (const std::int64_t time : {1000, 2000, 3000}) {
    fixture_.produce("a", {{.key = "k", .value = "v", .timestamp = time}});
  }
  const std::vector<std::int32_t> partitions{0};
  const auto offset = [&](TimestampMs timestamp) {
    const auto answers = admin_.offsets("a", partitions, {.timestamp = timestamp});
    return answers ? answers->at(0).offset : -2;
  };
  EXPECT_EQ(offset(kEarliest), 0);
  EXPECT_EQ(offset(kLatest), 3);
  EXPECT_EQ(offset(2000), 1);
  EXPECT_EQ(offset(2001), 2);
  EXPECT_EQ(offset(3001), -1);
  const auto marked = admin_.offsets("a", partitions,
                                     {.timestamp = kEarliest, .want_removed_tombstone_mark = true});
  ASSERT_TRUE(marked);
  EXPECT_EQ(marked->at(0).removed_tombstone_mark, 0);
}

TEST_F(AdminTest, TellsWhereALeaderEpochEnds) {
  fixture_.create_topic("a");
  fixture_.produce("a", "k", "v");
  const auto known = admin_.end_of_epoch("a", 0, 0);
  ASSERT_TRUE(known) << known.error().text;
  EXPECT_EQ(known->epoch, 0);
  EXPECT_EQ(known->end_offset, 1);
  const auto unknown = admin_.end_of_epoch("a", 0, 9);
  ASSERT_TRUE(unknown) << unknown.error().text;
  EXPECT_EQ(unknown->end_offset, -1);
}

TEST_F(AdminTest, GoesOnAfterARestartOfTheBroker) {
  fixture_.create_topic("a");
  ASSERT_TRUE(admin_.topic("a"));
  fixture_.restart();
  const auto topic = admin_.topic("a");
  EXPECT_TRUE(topic) << topic.error().text;
}

TEST_F(AdminTest, APatientLinkOutlastsARestartOfTheBroker) {
  fixture_.create_topic("a");
  ASSERT_TRUE(admin_.topic("a"));
  int tries = 0;
  link_.outlast_restarts([&](const Error& error, int attempt) {
    EXPECT_EQ(error.kind, ErrorKind::kClosed);
    EXPECT_EQ(attempt, ++tries);
    if (tries == 2) fixture_.start();
    return true;
  });
  fixture_.stop();
  const auto topic = admin_.topic("a");
  EXPECT_TRUE(topic) << topic.error().text;
  EXPECT_EQ(tries, 2);

  fixture_.stop();
  link_.outlast_restarts([](const Error&, int) { return false; });
  EXPECT_FALSE(admin_.topic("a"));
  fixture_.start();
}

TEST_F(AdminTest, APatientLinkDoesNotWaitForABrokerThatWasNeverThere) {
  fixture_.stop();
  link_.outlast_restarts([](const Error&, int) { return true; });
  EXPECT_FALSE(admin_.topic("a"));
  fixture_.start();
}

}  // namespace
}  // namespace lastword::client
