// SPDX-License-Identifier: Apache-2.0
#include "config/settings_page.h"

#include <spdlog/fmt/fmt.h>

#include <string_view>
#include <vector>

#include "config/broker_settings.h"
#include "config/topic_settings.h"

namespace lastword {
namespace {

bool is_number(SettingType type) {
  return type == SettingType::kInt || type == SettingType::kLong || type == SettingType::kDouble;
}

std::string_view type_name(SettingType type) {
  switch (type) {
    case SettingType::kBool:
      return "bool";
    case SettingType::kString:
      return "text";
    case SettingType::kInt:
    case SettingType::kLong:
      return "whole number";
    case SettingType::kDouble:
      return "number";
    case SettingType::kList:
      return "list";
  }
  return "";
}

std::string_view unit_name(SettingUnit unit) {
  switch (unit) {
    case SettingUnit::kNone:
      return "";
    case SettingUnit::kBytes:
      return "bytes";
    case SettingUnit::kMilliseconds:
      return "ms";
  }
  return "";
}

/// The default as one would write it: with a unit where there is one.
template <typename Options>
std::string default_text(const Setting<Options>& setting) {
  const std::string value = setting.get(Options{});
  if (setting.unit == SettingUnit::kNone) return value;
  const auto number = parse_quantity(value, setting.unit);
  return number ? format_quantity(*number, setting.unit) : value;
}

template <typename Options>
std::string table(std::span<const Setting<Options>> settings) {
  std::string text =
      "| Name | Type | Default | Unit | Allowed | Meaning | Kafka's broker name |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const Setting<Options>& setting : settings) {
    const std::string value = default_text(setting);
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", setting.name,
                        type_name(setting.type), value.empty() ? "" : fmt::format("`{}`", value),
                        unit_name(setting.unit), setting.allowed, setting.meaning,
                        setting.kafka_name.empty() ? "" : fmt::format("`{}`", setting.kafka_name));
  }
  return text;
}

constexpr std::string_view kIntroduction = R"(# Settings

This page is made from the tables that the programs themselves use. `lastwordd --print-defaults`
prints the same as a file.

The settings file is JSON; comments (`//` and `/* */`) are allowed. Every name is checked: an
unknown name, a name given twice, a value of the wrong type or out of bounds is an error that says
file, line, setting, and what is allowed, and nothing of the file takes effect. All errors are told
at once. `lastwordd --config FILE --check-config` checks a file without starting anything.

Editors can help with `config/lastword.schema.json`: name it in the file, as in
`"$schema": "lastword.schema.json"` (the broker does not read it), or make one with
`lastwordd --print-schema`.

Sizes and times are whole numbers (bytes, milliseconds), or text with a unit:

- sizes: `B`, `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024), `kB`, `MB`, `GB`, `TB` (powers of 1000),
  as in `"64MiB"`
- times: `ms`, `s`, `min`, `h`, `d`, as in `"24h"`

There are no fractions: write `"1536KiB"`, not `"1.5MiB"`. 9223372036854775807 means "no limit".
Numbers, `true` and `false` need no quotes, and may have them.

What holds for a topic is the first of these that is given: its own setting, `topic_defaults`, the
default below.

## Broker

A dot stands for an object in the file: `limits.open_files` is `{"limits": {"open_files": 512}}`.

)";

constexpr std::string_view kBetweenSettings = R"(
Between settings: `limits.request_memory_bytes` is at least 8/7 of `limits.request_bytes`;
`cleaner.memory` is at least 1 MiB for each of `cleaner.threads`; the partitions of all `topics`
together are at most `limits.partitions`.

On the command line, `--data-dir`, `--listen` and `--advertise` go before the file, at a reload too.
With `--listen` and without `--advertise`, `advertise` of the file does not count.

## Topics named in the file

`topics` is an object with one member for each topic, `topic_defaults` holds settings for all that
do not set them themselves:

```json
{
  "topic_defaults": {"segment.bytes": "64MiB"},
  "topics": {"customer-addresses": {"partitions": 1, "cleanup.policy": "compact"}}
}
```

A topic that is named there exists after start or reload. `partitions` is 1 where it is not given.
Names have 1 to 249 of the characters `a`–`z`, `A`–`Z`, `0`–`9`, `.`, `_` and `-`; two names that
differ only in `.` and `_` collide. Clients cannot delete a topic that the file names.

## What a reload does

On SIGHUP the broker reads the file again. Either all of it takes effect or, if anything in it is
wrong, nothing does, and the log says what is wrong. A start does the same for topics; one that
finds something wrong ends.

- **Settings of the broker** take effect at once, but for these, which need a restart: `listen`,
  `data_dir`, `durability`, `producer_id_expiration_ms`, `limits.request_memory_bytes`,
  `limits.open_files`, `limits.disk_reserve_bytes`, `limits.loop_threads`, `limits.disk_threads`,
  `limits.producer_ids` and `limits.producer_ids_total`.
- **`topic_defaults`** hold at once for all topics that do not set them themselves, those that
  clients made too.
- **A topic that is new in the file** is made. If there is one of that name already, made by a
  client perhaps, it gets the settings of the file and no others: what the file leaves out goes
  back to `topic_defaults` or the default. This is the way to change the settings of any topic.
- **More `partitions`** than the topic has are added. Keys are then spread anew by most clients, so
  that a key may go on in another partition than the one that holds its older values. Fewer are
  refused, and the whole file with them: name at least as many as the topic has.
- **A topic that is no longer in the file** stays, with its records, and with the settings that it
  had. From then on clients may delete it: `lastword topics delete NAME`.

## Topic settings

The names are Kafka's. They are the same in the file, in CreateTopics and in DescribeConfigs.

)";

constexpr std::string_view kIgnoredIntroduction = R"(
`cleanup.policy` is also taken as a list: `["compact", "delete"]`. `min.compaction.lag.ms` is at
most `max.compaction.lag.ms`.

How long a deleted key stays in a compacted topic: until its segment is closed (`segment.bytes`,
`segment.ms`, or `max.compaction.lag.ms`, whichever comes first), until a pass has cleaned it, then
`delete.retention.ms`, and up to five minutes more (a tenth of `delete.retention.ms` if that is
less). In a quiet topic with the defaults that is about eight days: seven for the segment, one for
the tombstone. For less, lower `segment.ms` or `max.compaction.lag.ms`; for a topic with much
traffic set `max.compaction.lag.ms`, which holds whatever the dirty ratio.

## Accepted and ignored

These settings of Kafka mean nothing on a single node without remote storage. They are accepted,
with a line in the log that says so, and not kept:

)";

constexpr std::string_view kFixedIntroduction = R"(
## Fixed

Clients that ask for these settings of the broker are told a value; there is nothing to set:

| Kafka's broker name | Value | Meaning |
|---|---|---|
)";

std::string json_text(std::string_view value) {
  std::string text = "\"";
  for (const char character : value) {
    if (character == '"' || character == '\\') text += '\\';
    text += character;
  }
  return text + '"';
}

template <typename Options>
std::string default_lines(const Setting<Options>& setting, std::string_view name,
                          std::string_view indent) {
  const std::string value = default_text(setting);
  const bool plain = setting.type == SettingType::kBool ||
                     (is_number(setting.type) && value == setting.get(Options{}));
  return fmt::format("{0}// {1} Allowed: {2}.\n{0}\"{3}\": {4}", indent, setting.meaning,
                     setting.allowed, name, plain ? value : json_text(value));
}

std::string_view group_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

std::string object_text(std::string_view name, const std::vector<std::string>& members) {
  return fmt::format("  \"{}\": {{\n{}\n  }}", name, fmt::join(members, ",\n"));
}

}  // namespace

std::string settings_page() {
  std::string page(kIntroduction);
  page += table(broker_settings());
  page += kBetweenSettings;
  page += table(topic_settings());
  page += kIgnoredIntroduction;
  for (const std::string_view name : ignored_topic_settings())
    page += fmt::format("- `{}`\n", name);
  page += kFixedIntroduction;
  for (const FixedBrokerSetting& fixed : fixed_broker_settings()) {
    page += fmt::format("| `{}` | `{}` | {} |\n", fixed.kafka_name, fixed.value, fixed.meaning);
  }
  return page;
}

std::string print_defaults() {
  std::vector<std::string> members;
  const auto settings = broker_settings();
  for (auto row = settings.begin(); row != settings.end();) {
    const std::string_view group = group_of(row->name);
    if (group.empty()) {
      members.push_back(default_lines(*row, row->name, "  "));
      ++row;
      continue;
    }
    std::vector<std::string> inner;
    for (; row != settings.end() && group_of(row->name) == group; ++row) {
      inner.push_back(default_lines(*row, row->name.substr(group.size() + 1), "    "));
    }
    members.push_back(object_text(group, inner));
  }
  std::vector<std::string> topic_lines;
  for (const TopicSetting& setting : topic_settings()) {
    topic_lines.push_back(default_lines(setting, setting.name, "    "));
  }
  members.push_back(object_text("topic_defaults", topic_lines));
  members.emplace_back("  \"topics\": {}");
  return fmt::format("{{\n{}\n}}\n", fmt::join(members, ",\n"));
}

}  // namespace lastword
