// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "config/broker_settings.h"
#include "config/json_tree.h"
#include "config/topic_name.h"
#include "config/topic_settings.h"

namespace lastword {
namespace {

constexpr std::size_t kFileBytesMax = 16 * kMebibyte;
constexpr std::string_view kTopicDefaults = "topic_defaults";
constexpr std::string_view kTopics = "topics";
constexpr std::string_view kPartitions = "partitions";
constexpr std::string_view kSchema = "$schema";  // for editors; says nothing to the broker
constexpr std::int64_t kPartitionsMax = 1000000;
constexpr std::size_t kErrorsMax = 20;

using NamedValues = std::map<std::string, std::string>;

std::string joined(std::string_view prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : fmt::format("{}.{}", prefix, name);
}

std::string_view wanted(SettingType type, SettingUnit unit) {
  switch (type) {
    case SettingType::kBool:
      return "true or false";
    case SettingType::kString:
      return "text in quotes";
    case SettingType::kList:
      return "text in quotes or a list of texts";
    case SettingType::kInt:
    case SettingType::kLong:
      return unit == SettingUnit::kNone ? "a whole number" : "a whole number or text with a unit";
    case SettingType::kDouble:
      return "a number";
  }
  return "";
}

/// Text fits everything: what comes from Kafka's tools has all values in quotes.
bool fits(JsonKind kind, SettingType type) {
  if (kind == JsonKind::kString) return true;
  switch (type) {
    case SettingType::kBool:
      return kind == JsonKind::kBool;
    case SettingType::kString:
      return false;
    case SettingType::kList:
      return kind == JsonKind::kList;
    case SettingType::kInt:
    case SettingType::kLong:
    case SettingType::kDouble:
      return kind == JsonKind::kNumber;
  }
  return false;
}

/// The value as text for a row's `set`; empty when the JSON type is not what the setting takes.
template <typename Options>
std::optional<std::string> text_for(const Setting<Options>& setting, const JsonValue& value) {
  if (!fits(value.kind, setting.type)) return std::nullopt;
  if (value.kind != JsonKind::kList) return value.text;
  std::string text;
  for (const JsonValue& item : value.children) {
    if (item.kind != JsonKind::kString) return std::nullopt;
    if (&item != &value.children.front()) text += ',';
    text += item.text;
  }
  return text;
}

/// `text` as the file has it, for messages.
std::string as_written(const JsonValue& value, const std::string& text) {
  constexpr std::size_t kNumberLengthMax = 40;
  const bool plain = value.kind == JsonKind::kNumber || value.kind == JsonKind::kBool;
  return plain && text.size() <= kNumberLengthMax ? text : in_quotes(text);
}

/// All that may stand directly in the object at `prefix` ("" is the whole file).
std::vector<std::string_view> names_in(std::string_view prefix) {
  std::vector<std::string_view> names;
  for (const BrokerSetting& setting : broker_settings()) {
    std::string_view rest = setting.name;
    if (!prefix.empty()) {
      if (!rest.starts_with(prefix) || rest.substr(prefix.size(), 1) != ".") continue;
      rest.remove_prefix(prefix.size() + 1);
    }
    rest = rest.substr(0, rest.find('.'));
    if (names.empty() || names.back() != rest) names.push_back(rest);
  }
  if (prefix.empty()) names.insert(names.end(), {kTopicDefaults, kTopics});
  return names;
}

/// Names of Kafka that are no one setting's `kafka_name`, with what to write here.
std::string_view other_kafka_name(std::string_view name) {
  if (name == "advertised.listeners") return "advertise";
  if (name == "log.dir") return "data_dir";
  if (name == "log.retention.hours" || name == "log.retention.minutes") return "log.retention.ms";
  if (name == "log.roll.hours") return "log.roll.ms";
  if (name == "log.roll.jitter.hours") return "log.roll.jitter.ms";
  return name;
}

/// The path of the setting that has this name in another place or at Kafka; empty when none has.
std::string path_elsewhere(std::string_view name) {
  name = other_kafka_name(name);
  for (const BrokerSetting& setting : broker_settings()) {
    const std::string_view last = setting.name.substr(setting.name.rfind('.') + 1);
    if (name == last || name == setting.name || name == setting.kafka_name) {
      return std::string(setting.name);
    }
  }
  for (const TopicSetting& setting : topic_settings()) {
    if (name == setting.name || name == setting.kafka_name) {
      return joined(kTopicDefaults, setting.name);
    }
  }
  return {};
}

std::string unknown_broker_setting(std::string_view prefix, std::string_view name) {
  for (const FixedBrokerSetting& fixed : fixed_broker_settings()) {
    if (name != fixed.kafka_name) continue;
    return fmt::format("cannot be set; it is {}: {}", fixed.value, fixed.meaning);
  }
  const std::vector<std::string_view> names = names_in(prefix);
  std::string suggestion = path_elsewhere(name);
  if (suggestion.empty()) {
    const std::string_view nearest = nearest_name(name, names);
    if (!nearest.empty()) suggestion = joined(prefix, nearest);
  }
  if (!suggestion.empty()) return fmt::format("unknown setting; did you mean \"{}\"?", suggestion);
  return fmt::format("unknown setting; known here: {}", fmt::join(names, ", "));
}

/// Goes on after an error, so that all of a file's are told at once.
class Loader {
 public:
  explicit Loader(std::string file_name) { loaded_.options.file = std::move(file_name); }

  LoadResult load(const JsonValue& root) {
    if (root.kind != JsonKind::kObject) {
      return fmt::format("{}: expected an object ({{ … }}) with settings", loaded_.options.file);
    }
    read_object(root, "");
    if (errors_.empty()) {
      if (const auto error = broker_options_error(loaded_.options)) {
        errors_.push_back(fmt::format("{}: {}", loaded_.options.file, *error));
      }
    }
    if (errors_.empty()) return std::move(loaded_);
    if (errors_.size() > kErrorsMax) {
      const std::size_t more = errors_.size() - kErrorsMax;
      errors_.resize(kErrorsMax);
      errors_.push_back(fmt::format("{}: and {} more", loaded_.options.file, more));
    }
    return fmt::format("{}", fmt::join(errors_, "\n"));
  }

 private:
  std::string at(const JsonValue& value, std::string_view path, std::string_view what) const {
    return fmt::format("{}: line {}: {}: {}", loaded_.options.file, value.line, path, what);
  }

  void refuse(const JsonValue& value, std::string_view path, std::string_view what) {
    errors_.push_back(at(value, path, what));
  }

  bool is_object(const JsonValue& value, std::string_view path) {
    if (value.kind == JsonKind::kObject) return true;
    refuse(value, path, fmt::format("expected an object, not {}", kind_name(value.kind)));
    return false;
  }

  void read_object(const JsonValue& object, const std::string& prefix) {
    const JsonValue* topics = nullptr;
    for (const JsonValue& member : object.children) {
      const bool at_top = prefix.empty();
      if (at_top && member.key == kTopics) {
        topics = &member;  // last, as what they may hold depends on the defaults
      } else if (at_top && member.key == kTopicDefaults) {
        read_topic_defaults(member);
      } else if (at_top && member.key == kSchema) {
        read_schema(member);
      } else {
        read_setting(member, prefix);
      }
    }
    if (topics != nullptr) read_topics(*topics);
  }

  void read_schema(const JsonValue& member) {
    if (member.kind == JsonKind::kString) return;
    refuse(member, kSchema, fmt::format("expected text in quotes, not {}", kind_name(member.kind)));
  }

  void read_setting(const JsonValue& member, const std::string& prefix) {
    const std::string path = joined(prefix, member.key);
    const std::size_t dot = member.key.find('.');
    const BrokerSetting* const setting = find_broker_setting(path);
    if (setting != nullptr && dot == std::string::npos) {
      set(*setting, member, path, loaded_.options);
    } else if (setting != nullptr) {
      refuse(member, path,
             fmt::format("unknown setting; write it as an object: \"{}\": {{\"{}\": …}}",
                         member.key.substr(0, dot), member.key.substr(dot + 1)));
    } else if (dot == std::string::npos && !names_in(path).empty()) {
      if (is_object(member, path)) read_object(member, path);
    } else {
      refuse(member, path, unknown_broker_setting(prefix, member.key));
    }
  }

  template <typename Options>
  bool set(const Setting<Options>& setting, const JsonValue& value, std::string_view path,
           Options& options) {
    const std::optional<std::string> text = text_for(setting, value);
    if (!text) {
      refuse(value, path,
             fmt::format("expected {}, not {}; allowed: {}", wanted(setting.type, setting.unit),
                         kind_name(value.kind), setting.allowed));
      return false;
    }
    if (const auto refusal = setting.set(options, *text)) {
      refuse(value, path, fmt::format("{} is refused: {}", as_written(value, *text), *refusal));
      return false;
    }
    return true;
  }

  void read_topic_defaults(const JsonValue& value) {
    if (!is_object(value, kTopicDefaults)) return;
    NamedValues& defaults = loaded_.options.topic_defaults;
    for (const JsonValue& member : value.children) {
      read_topic_setting(member, kTopicDefaults, defaults);
    }
    const TopicOptionsOrError made = make_topic_options(TopicOptions{}, defaults);
    if (made.error) return refuse(value, kTopicDefaults, *made.error);
    topic_defaults_ = made.options;
  }

  void read_topic_setting(const JsonValue& member, std::string_view prefix, NamedValues& values) {
    const std::string path = joined(prefix, member.key);
    const TopicSetting* const setting = find_topic_setting(member.key);
    if (setting == nullptr && is_ignored_topic_setting(member.key)) {
      loaded_.notes.push_back(
          at(member, path, "accepted and ignored: it means nothing on a single node"));
      return;
    }
    if (setting == nullptr) {
      // The only name of the file here that is not Kafka's.
      const std::string_view partitions = prefix == kTopicDefaults ? "" : kPartitions;
      return refuse(member, path, unknown_topic_setting(member.key, partitions));
    }
    TopicOptions scratch;
    if (set(*setting, member, path, scratch)) values[member.key] = setting->get(scratch);
  }

  void read_topics(const JsonValue& value) {
    if (!is_object(value, kTopics)) return;
    std::map<std::string, std::string> name_by_folded;
    for (const JsonValue& member : value.children) {
      const std::string path = joined(kTopics, member.key);
      if (const auto error = topic_name_error(member.key)) {
        refuse(member, kTopics, *error);
        continue;
      }
      const auto [other, is_fresh] =
          name_by_folded.try_emplace(folded_topic_name(member.key), member.key);
      if (!is_fresh) {
        refuse(member, path,
               fmt::format("collides with topic \"{}\": '.' and '_' count as the same",
                           other->second));
      }
      read_topic(member, path);
    }
  }

  void read_topic(const JsonValue& value, const std::string& path) {
    if (!is_object(value, path)) return;
    const std::size_t errors_before = errors_.size();
    TopicInFile topic;
    for (const JsonValue& member : value.children) {
      if (member.key == kPartitions) {
        read_partitions(member, joined(path, kPartitions), topic.partitions);
      } else {
        read_topic_setting(member, path, topic.settings);
      }
    }
    if (errors_.size() == errors_before) {
      const auto error = make_topic_options(topic_defaults_, topic.settings).error;
      if (error) refuse(value, path, *error);
    }
    loaded_.options.topics[value.key] = std::move(topic);
  }

  void read_partitions(const JsonValue& value, std::string_view path, int& partitions) {
    if (value.kind != JsonKind::kNumber) {
      return refuse(value, path,
                    fmt::format("expected a whole number, 1 to {}, not {}", kPartitionsMax,
                                kind_name(value.kind)));
    }
    const auto count = parse_quantity(value.text, SettingUnit::kNone);
    if (!count || *count < 1 || *count > kPartitionsMax) {
      return refuse(value, path, fmt::format("expected a whole number, 1 to {}", kPartitionsMax));
    }
    partitions = static_cast<int>(*count);
  }

  LoadedOptions loaded_{};
  TopicOptions topic_defaults_{};
  std::vector<std::string> errors_{};
};

}  // namespace

LoadResult parse_options(std::string_view text, const std::string& file_name) {
  auto tree = parse_json(text);
  if (const auto* error = std::get_if<std::string>(&tree)) {
    return fmt::format("{}: {}", file_name, *error);
  }
  return Loader(file_name).load(std::get<JsonValue>(tree));
}

LoadResult load_options(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fmt::format("{}: is a folder; expected a file with settings", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fmt::format("{}: cannot be opened: {}", path, std::strerror(errno));
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return fmt::format("{}: cannot be read: {}", path, std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return fmt::format("{}: is larger than {}", path,
                       format_quantity(kFileBytesMax, SettingUnit::kBytes));
  }
  return parse_options(text, path);
}

}  // namespace lastword
