// SPDX-License-Identifier: Apache-2.0
// `lastword topics`: list, create, delete, describe; as a word or as an option (--describe NAME).
#include <algorithm>
#include <array>
#include <cstdio>

#include "client/admin.h"
#include "client/commands/command.h"
#include "client/commands/usage.h"
#include "client/status_text.h"
#include "client/text.h"

namespace lastword::client {

namespace {

struct TopicsOptions {
  std::string name{};
  std::int32_t partitions = -1;
  std::vector<std::string> configs{};
  bool all = false;
};
using Action = int (*)(Link&, const TopicsOptions&);

int list(Link& link, const TopicsOptions&) {
  const auto topics = Admin(link).list_topics();
  if (!topics) return fail(topics.error());
  std::vector<std::vector<std::string>> rows{{"NAME", "PARTITIONS", "ID"}};
  for (const TopicInfo& topic : *topics) {
    rows.push_back({topic.name, std::to_string(topic.partitions.size()),
                    topic.id.is_zero() ? "-" : to_string(topic.id)});
  }
  print(table_text(rows));
  return finish_output();
}

int create(Link& link, const TopicsOptions& options) {
  TopicToCreate wanted{.name = options.name, .partitions = options.partitions};
  for (const std::string& config : options.configs) {
    const std::size_t equals = config.find('=');
    wanted.configs.emplace_back(config.substr(0, equals), config.substr(equals + 1));
  }
  const auto topic = Admin(link).create_topic(wanted);
  if (!topic) return fail(topic.error());
  print("created " + topic->name + " with " +
        count_text(static_cast<std::int64_t>(topic->partitions.size()), "partition") + "\n");
  return finish_output();
}

int remove(Link& link, const TopicsOptions& options) {
  const auto deleted = Admin(link).delete_topic(options.name);
  if (!deleted) return fail(deleted.error());
  print("deleted " + options.name + "\n");
  return finish_output();
}

void print_partition(const PartitionInfo& partition, const std::string& policy) {
  print("\npartition " + std::to_string(partition.index));
  if (!partition.status) {
    return print("\n  leader epoch " + std::to_string(partition.leader_epoch) +
                 "; this broker tells no more\n");
  }
  if (is_empty(*partition.status)) return print(": empty\n");
  print("\n");
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, text] : status_lines(*partition.status, policy)) {
    rows.push_back({"  " + name, text});
  }
  print(table_text(rows));
}

// What was changed first; the rest only with --all.
void print_settings(std::vector<TopicSetting> settings, bool all) {
  std::ranges::stable_partition(settings, [](const auto& setting) { return !setting.is_default; });
  std::vector<std::vector<std::string>> rows{{"SETTING", "VALUE", "FROM"}};
  std::int64_t left_out = 0;
  for (const TopicSetting& setting : settings) {
    if (setting.is_default && !all) {
      ++left_out;
      continue;
    }
    rows.push_back({setting.name,
                    setting.value ? setting_text(setting.name, *setting.value) : std::string("-"),
                    setting.source});
  }
  print("\n");
  if (rows.size() > 1) print(table_text(rows));
  if (left_out == 0) return;
  print(rows.size() > 1 ? count_text(left_out, "more setting") : "all settings");
  print(std::string(left_out == 1 ? " is at its default" : " are at their defaults") +
        "; --all shows them\n");
}

int describe(Link& link, const TopicsOptions& options) {
  Admin admin(link);
  const auto topic = admin.topic(options.name, true);
  if (!topic) {
    return topic.error().kind == ErrorKind::kUnknownTopic
               ? fail("there is no topic " + options.name)
               : fail(topic.error());
  }
  const auto settings = admin.topic_settings(options.name);
  if (!settings) return fail(settings.error());
  print("topic " + topic->name + (topic->id.is_zero() ? "" : ", id " + to_string(topic->id)) +
        ", " + count_text(static_cast<std::int64_t>(topic->partitions.size()), "partition") + "\n");
  for (const PartitionInfo& partition : topic->partitions) {
    if (!partition.status) continue;
    print("the broker's clock: " + time_text(partition.status->clock_ms) + "\n");
    break;
  }
  const auto policy = std::ranges::find(*settings, "cleanup.policy", &TopicSetting::name);
  for (const PartitionInfo& partition : topic->partitions) {
    print_partition(partition, policy == settings->end() ? "" : policy->value.value_or(""));
  }
  print_settings(*settings, options.all);
  return finish_output();
}

struct Form {
  const char* word;
  const char* does;
  const char* example;
  Action action;
  bool named;  // takes a topic's name
};
constexpr std::array<Form, 4> kForms{
    {{"list", "Lists all topics", "Example: lastword topics list", list, false},
     {"create", "Creates a topic",
      "Example: lastword topics create orders --partitions 3 --config cleanup.policy=compact",
      create, true},
     {"delete", "Deletes a topic and what it holds", "Example: lastword topics delete orders",
      remove, true},
     {"describe",
      "Shows a topic's settings, and for each partition what it holds, what the cleaner did, and "
      "what is due",
      "Example: lastword topics describe customer-addresses", describe, true}}};

void add_create_options(CLI::App& command, TopicsOptions& options) {
  command
      .add_option("--partitions", options.partitions,
                  "Partitions of a new topic (default: the broker's; 1 in lastwordd)")
      ->check(whole_number(1))
      ->type_name("N");
  command
      .add_option("--config", options.configs,
                  "Setting of a new topic, such as cleanup.policy=compact; may be given several "
                  "times")
      ->allow_extra_args(false)
      ->check(name_and_value())
      ->type_name("NAME=VALUE");
}

void add_describe_options(CLI::App& command, TopicsOptions& options) {
  command.add_flag("--all", options.all, "Describe settings that are at their defaults too");
}

}  // namespace

void add_topics(Program& program) {
  CLI::App& topics =
      add_command(program, program.app, "topics",
                  {"Lists, creates, deletes and describes topics",
                   "Examples: lastword topics list\n"
                   "          lastword topics create shipments --config cleanup.policy=compact\n"
                   "          lastword topics --describe customer-addresses"});
  topics.require_subcommand(0, 1);
  auto options = std::make_shared<TopicsOptions>();
  const auto choose = [&program, options](Action action) {
    program.action = [&program, options, action] {
      Link link(program.connection());
      return action(link, *options);
    };
  };
  add_create_options(topics, *options);
  add_describe_options(topics, *options);
  for (const Form& form : kForms) {
    CLI::App& command = add_command(program, topics, form.word, {form.does, form.example});
    command.callback([choose, action = form.action] { choose(action); });
    const std::string flag = std::string("--") + form.word;
    const std::string text = std::string("The same as `topics ") + form.word + "`";
    if (form.named) {
      add_topic(command, options->name, "Name of the topic");
      topics
          .add_option_function<std::string>(
              flag,
              [choose, options, action = form.action](const std::string& name) {
                options->name = name;
                choose(action);
              },
              text)
          ->type_name("NAME");
    } else {
      topics.add_flag_callback(
          flag, [choose, action = form.action] { choose(action); }, text);
    }
    if (form.action == create) add_create_options(command, *options);
    if (form.action == describe) add_describe_options(command, *options);
  }
  topics.callback([&program] {
    if (!program.action) {
      throw CLI::ValidationError("topics", "list, create NAME, delete NAME or describe NAME");
    }
  });
}

}  // namespace lastword::client
