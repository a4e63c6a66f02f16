// SPDX-License-Identifier: Apache-2.0
#include "config/schema.h"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "config/broker_settings.h"
#include "config/topic_settings.h"

namespace lastword {
namespace {

using Json = nlohmann::ordered_json;

Json or_text(const Json& schema, const std::string& pattern) {
  return {{"anyOf", {schema, {{"type", "string"}, {"pattern", pattern}}}}};
}

Json number_schema(const std::optional<SettingRange>& range) {
  Json schema{{"type", "integer"}};
  if (range) {
    schema["minimum"] = range->low;
    if (range->high != kUnlimited) schema["maximum"] = range->high;
  }
  return schema;
}

Json value_schema(SettingType type, SettingUnit unit, const std::optional<SettingRange>& range,
                  std::span<const std::string_view> choices) {
  switch (type) {
    case SettingType::kBool:
      return {{"enum", {true, false, "true", "false"}}};
    case SettingType::kInt:
    case SettingType::kLong: {
      Json number = number_schema(range);
      if (unit == SettingUnit::kNone) return or_text(number, "^-?[0-9]+$");
      const std::string pattern =
          fmt::format("^[ \\t]*-?[0-9]+[ \\t]*({})?[ \\t]*$", unit_names(unit, "|"));
      return or_text(number, pattern);
    }
    case SettingType::kDouble:
      return or_text({{"type", "number"}}, "^[0-9.eE+-]+$");
    case SettingType::kList: {
      const std::string pattern = fmt::format("^ *({0}) *(, *({0}) *)*$", fmt::join(choices, "|"));
      const Json item{{"enum", choices}};
      return {{"anyOf",
               {{{"type", "string"}, {"pattern", pattern}},
                {{"type", "array"}, {"items", item}, {"minItems", 1}}}}};
    }
    case SettingType::kString:
      break;
  }
  if (choices.empty()) return {{"type", "string"}};
  return {{"enum", choices}};
}

Json default_value(SettingType type, const std::string& value) {
  switch (type) {
    case SettingType::kBool:
    case SettingType::kInt:
    case SettingType::kLong:
    case SettingType::kDouble:
      return Json::parse(value);
    case SettingType::kString:
    case SettingType::kList:
      break;
  }
  return value;
}

template <typename Options>
Json setting_schema(const Setting<Options>& setting) {
  Json schema = value_schema(setting.type, setting.unit, setting.range, setting.choices);
  schema["description"] = fmt::format("{} Allowed: {}.", setting.meaning, setting.allowed);
  schema["default"] = default_value(setting.type, setting.get(Options{}));
  return schema;
}

Json object_schema(Json properties, std::string_view description) {
  return {{"type", "object"},
          {"description", description},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

/// "remote.*" → "^remote\\..+$"
Json ignored_patterns() {
  Json patterns = Json::object();
  for (const std::string_view name : ignored_topic_settings()) {
    std::string pattern = "^";
    for (const char character : name) {
      if (character == '.')
        pattern += "\\.";
      else if (character == '*')
        pattern += ".+";
      else
        pattern += character;
    }
    patterns[pattern + "$"] = {{"description", "Accepted and ignored on a single node."}};
  }
  return patterns;
}

Json topic_schema(Json properties, std::string_view description) {
  for (const TopicSetting& setting : topic_settings()) {
    properties[std::string(setting.name)] = {
        {"$ref", fmt::format("#/definitions/{}", setting.name)}};
  }
  Json schema = object_schema(std::move(properties), description);
  schema["patternProperties"] = ignored_patterns();
  return schema;
}

}  // namespace

std::string settings_schema() {
  Json properties = Json::object();
  properties["$schema"] = {{"type", "string"},
                           {"description", "For editors: where this schema is."}};
  for (const BrokerSetting& setting : broker_settings()) {
    const std::size_t dot = setting.name.find('.');
    if (dot == std::string_view::npos) {
      properties[std::string(setting.name)] = setting_schema(setting);
      continue;
    }
    const std::string group(setting.name.substr(0, dot));
    if (!properties.contains(group)) {
      properties[group] = object_schema(
          Json::object(), group == "limits" ? "Ceilings of all that could grow." : "Compaction.");
    }
    properties[group]["properties"][std::string(setting.name.substr(dot + 1))] =
        setting_schema(setting);
  }
  properties["topic_defaults"] =
      topic_schema(Json::object(), "Settings of topics that do not set them themselves.");
  const Json partitions{{"partitions",
                         {{"type", "integer"},
                          {"minimum", 1},
                          {"default", 1},
                          {"description", "Number of partitions."}}}};
  properties["topics"] = {{"type", "object"},
                          {"description", "Topics that exist after start or reload, by name."},
                          {"propertyNames", {{"pattern", "^[a-zA-Z0-9._-]{1,249}$"}}},
                          {"additionalProperties", topic_schema(partitions, "One topic.")}};

  Json schema = object_schema(std::move(properties), "The settings file of lastwordd.");
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = "Lastword";
  for (const TopicSetting& setting : topic_settings()) {
    schema["definitions"][std::string(setting.name)] = setting_schema(setting);
  }
  return schema.dump(2) + "\n";
}

}  // namespace lastword
