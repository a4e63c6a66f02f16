// SPDX-License-Identifier: Apache-2.0
#include "config/broker_settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "config/topic_settings.h"

namespace lastword {
namespace {

std::string refusal_of(std::string_view name, std::string_view text) {
  BrokerOptions options;
  return find_broker_setting(name)->set(options, text).value_or("");
}

TEST(BrokerSettings, EveryRowTakesBackWhatItGives) {
  for (const BrokerSetting& setting : broker_settings()) {
    SCOPED_TRACE(setting.name);
    BrokerOptions options;
    ASSERT_FALSE(setting.set(options, setting.get(BrokerOptions{})));
    EXPECT_EQ(options, BrokerOptions{});
  }
}

TEST(BrokerSettings, EveryRowMovesAMemberOfItsOwn) {
  BrokerOptions options;
  for (const BrokerSetting& setting : broker_settings()) {
    SCOPED_TRACE(setting.name);
    const BrokerOptions before = options;
    std::string value = setting.type == SettingType::kBool ? "true" : "host:1";
    if (setting.range) value = std::to_string(setting.range->low);
    if (setting.name == "durability") value = "os";
    if (setting.name == "cleaner.threads") value = "2";
    ASSERT_FALSE(setting.set(options, value));
    EXPECT_EQ(setting.get(options), value);
    EXPECT_NE(options, before);
    for (const BrokerSetting& other : broker_settings()) {
      if (&other != &setting) {
        EXPECT_EQ(other.get(options), other.get(before)) << other.name;
      }
    }
  }
}

TEST(BrokerSettings, BoundsHoldToTheLastUnit) {
  for (const BrokerSetting& setting : broker_settings()) {
    if (!setting.range) continue;
    SCOPED_TRACE(setting.name);
    BrokerOptions options;
    EXPECT_FALSE(setting.set(options, std::to_string(setting.range->low)));
    EXPECT_FALSE(setting.set(options, std::to_string(setting.range->high)));
    const BrokerOptions before = options;
    EXPECT_TRUE(setting.set(options, std::to_string(setting.range->low - 1)));
    if (setting.range->high != kUnlimited) {
      EXPECT_TRUE(setting.set(options, std::to_string(setting.range->high + 1)));
    }
    EXPECT_TRUE(setting.set(options, "garbage"));
    EXPECT_EQ(options, before);
  }
}

TEST(BrokerSettings, NoNameStandsTwice) {
  std::set<std::string_view> names;
  std::set<std::string_view> kafka_names;
  for (const BrokerSetting& setting : broker_settings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    if (setting.kafka_name.empty()) continue;
    EXPECT_TRUE(kafka_names.insert(setting.kafka_name).second) << setting.kafka_name;
  }
  for (const TopicSetting& setting : topic_settings()) {
    EXPECT_TRUE(kafka_names.insert(setting.kafka_name).second) << setting.kafka_name;
  }
  for (const FixedBrokerSetting& setting : fixed_broker_settings()) {
    EXPECT_TRUE(kafka_names.insert(setting.kafka_name).second) << setting.kafka_name;
  }
}

TEST(BrokerSettings, ListenTakesHostAndPort) {
  for (const std::string_view good :
       {"127.0.0.1:9092", "[::]:9092", "0.0.0.0:0", "localhost:65535", "[fe80::1%eth0]:1"}) {
    EXPECT_EQ(refusal_of("listen", good), "") << good;
  }
  for (const std::string_view bad : {"", "9092", ":9092", "localhost", "localhost:", "localhost:x",
                                     "localhost:65536", "localhost:-1", "::1:9092", "[]:9092",
                                     "[a]:9092", "a b:1", "host:1 ", "PLAINTEXT://host:1"}) {
    EXPECT_NE(refusal_of("listen", bad), "") << bad;
  }
}

TEST(BrokerSettings, AdvertiseIsAnAddressThatClientsCanReach) {
  EXPECT_EQ(refusal_of("advertise", ""), "");
  EXPECT_EQ(refusal_of("advertise", "broker.example.org:9092"), "");
  EXPECT_NE(refusal_of("advertise", "0.0.0.0:9092").find("wildcard"), std::string::npos);
  EXPECT_NE(refusal_of("advertise", "[::]:9092").find("wildcard"), std::string::npos);
  EXPECT_NE(refusal_of("advertise", "localhost:0"), "");
  EXPECT_NE(refusal_of("advertise", "localhost"), "");
}

TEST(BrokerSettings, AShortLookIntervalWorks) {
  EXPECT_EQ(refusal_of("cleaner.interval_ms", "100"), "");
}

TEST(BrokerSettings, ALimitInsideAnotherMustFit) {
  EXPECT_FALSE(broker_options_error(BrokerOptions{}));

  BrokerOptions requests;
  requests.limits.request_memory_bytes = requests.limits.request_bytes - 1;
  EXPECT_TRUE(broker_options_error(requests)->starts_with("limits.request_memory_bytes ("));

  BrokerOptions cleaner;
  cleaner.cleaner.threads = 3;
  cleaner.cleaner.memory_bytes = 3 * kMebibyte - 1;
  EXPECT_TRUE(broker_options_error(cleaner)->starts_with("cleaner.memory ("));

  BrokerOptions topics;
  topics.limits.partitions = 2;
  topics.topics["a"].partitions = 2;
  EXPECT_FALSE(broker_options_error(topics));
  topics.topics["b"].partitions = 1;
  EXPECT_TRUE(broker_options_error(topics)->starts_with("topics names 3 partitions"));
}

}  // namespace
}  // namespace lastword
