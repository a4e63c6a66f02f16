// SPDX-License-Identifier: Apache-2.0
// The checked-in page and schema are what the tables make. After a change of a table, run this
// program with LASTWORD_WRITE_GENERATED=1 and commit what it writes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "config/broker_settings.h"
#include "config/schema.h"
#include "config/settings_page.h"
#include "config/topic_settings.h"

namespace lastword {
namespace {

void expect_checked_in(const std::string& name, const std::string& made) {
  const std::string path = std::string(LASTWORD_SOURCE_DIR) + "/" + name;
  if (std::getenv("LASTWORD_WRITE_GENERATED") != nullptr) {
    std::ofstream(path, std::ios::binary) << made;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(found == made) << name
                             << " is out of date; run LASTWORD_WRITE_GENERATED=1 config_test "
                             << "--gtest_filter='GeneratedFiles.*'";
}

TEST(GeneratedFiles, ThePageIsWhatTheTablesMake) {
  expect_checked_in("docs/settings.md", settings_page());
}

TEST(GeneratedFiles, TheSchemaIsWhatTheTablesMake) {
  expect_checked_in("config/lastword.schema.json", settings_schema());
}

TEST(GeneratedFiles, TheSchemaKnowsEveryKeyOfTheTables) {
  const nlohmann::json schema = nlohmann::json::parse(settings_schema());
  const auto& properties = schema.at("properties");
  for (const BrokerSetting& setting : broker_settings()) {
    const std::string name(setting.name);
    const std::size_t dot = name.find('.');
    const auto& holder =
        dot == std::string::npos ? properties : properties.at(name.substr(0, dot)).at("properties");
    EXPECT_TRUE(holder.contains(name.substr(dot + 1))) << name;
  }
  const auto& topic = properties.at("topics").at("additionalProperties").at("properties");
  EXPECT_TRUE(topic.contains("partitions"));
  for (const TopicSetting& setting : topic_settings()) {
    const std::string name(setting.name);
    EXPECT_TRUE(schema.at("definitions").contains(name)) << name;
    EXPECT_TRUE(topic.contains(name)) << name;
    EXPECT_TRUE(properties.at("topic_defaults").at("properties").contains(name)) << name;
  }
}

TEST(GeneratedFiles, ThePageNamesEverySetting) {
  const std::string page = settings_page();
  for (const BrokerSetting& setting : broker_settings()) {
    EXPECT_NE(page.find("| `" + std::string(setting.name) + "` |"), std::string::npos);
  }
  for (const TopicSetting& setting : topic_settings()) {
    EXPECT_NE(page.find("| `" + std::string(setting.name) + "` |"), std::string::npos);
  }
  for (const std::string_view name : ignored_topic_settings()) {
    EXPECT_NE(page.find("- `" + std::string(name) + "`"), std::string::npos);
  }
}

}  // namespace
}  // namespace lastword
