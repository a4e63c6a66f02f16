// SPDX-License-Identifier: Apache-2.0
#include "server/handlers/topic_configs.h"

namespace lastword::server {

namespace {

void add_synonym(ConfigEntry& entry, std::string_view name, std::string value,
                 ConfigSource source) {
  entry.synonyms.push_back({.name = std::string(name),
                            .value = std::move(value),
                            .source = static_cast<std::int8_t>(source)});
}

template <class Row>
ConfigEntry entry_of(const Row& row, std::string_view name, std::string value,
                     const ConfigDetail& detail) {
  ConfigEntry entry;
  entry.name = name;
  entry.value = std::move(value);
  entry.config_type = static_cast<std::int8_t>(row.type);
  if (detail.documentation) entry.documentation = std::string(row.meaning);
  return entry;
}

}  // namespace

std::vector<ConfigEntry> topic_configs(const TopicConfigs& topic, const ConfigDetail& detail) {
  std::vector<ConfigEntry> entries;
  const TopicOptions built_in;
  const TopicOptions broker_wide = make_topic_options(built_in, topic.defaults).options;
  for (const TopicSetting& row : topic_settings()) {
    const std::string name(row.name);
    auto entry = entry_of(row, name, row.get(topic.options), detail);
    const bool own = topic.overrides.contains(name);
    const bool from_file = topic.defaults.contains(name);
    const auto source = own         ? ConfigSource::kTopic
                        : from_file ? ConfigSource::kStaticBroker
                                    : ConfigSource::kDefault;
    entry.config_source = static_cast<std::int8_t>(source);
    entry.read_only = own && topic.in_file;
    if (detail.synonyms) {
      const std::string_view broker_name = row.kafka_name.empty() ? row.name : row.kafka_name;
      if (own) add_synonym(entry, name, *entry.value, ConfigSource::kTopic);
      if (from_file) {
        add_synonym(entry, broker_name, row.get(broker_wide), ConfigSource::kStaticBroker);
      }
      add_synonym(entry, broker_name, row.get(built_in), ConfigSource::kDefault);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<ConfigEntry> broker_configs(const BrokerOptions& options, const ConfigDetail& detail) {
  std::vector<ConfigEntry> entries;
  const BrokerOptions built_in;
  for (const BrokerSetting& row : broker_settings()) {
    const std::string_view name = row.kafka_name.empty() ? row.name : row.kafka_name;
    const std::string usual = row.get(built_in);
    auto entry = entry_of(row, name, row.get(options), detail);
    const bool changed = *entry.value != usual;
    entry.read_only = true;
    entry.config_source =
        static_cast<std::int8_t>(changed ? ConfigSource::kStaticBroker : ConfigSource::kDefault);
    if (detail.synonyms) {
      if (changed) add_synonym(entry, name, *entry.value, ConfigSource::kStaticBroker);
      add_synonym(entry, name, usual, ConfigSource::kDefault);
    }
    entries.push_back(std::move(entry));
  }
  for (const FixedBrokerSetting& row : fixed_broker_settings()) {
    ConfigEntry entry = entry_of(row, row.kafka_name, std::string(row.value), detail);
    entry.read_only = true;
    entry.config_source = static_cast<std::int8_t>(ConfigSource::kDefault);
    if (detail.synonyms) {
      add_synonym(entry, row.kafka_name, std::string(row.value), ConfigSource::kDefault);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace lastword::server
