// SPDX-License-Identifier: Apache-2.0
#include "client/commands/usage.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "client/commands/command.h"
#include "config/setting_value.h"

namespace lastword::client {

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "; did you mean X?", or nothing where nothing is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string nearest(nearest_name(word, names));
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  return "unknown option " + name + suggestion(name, known);
}

std::string unknown_command(const CLI::App& parent, const std::string& path,
                            const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : commands_of(parent)) known.push_back(command->get_name());
  return "unknown command \"" + path + word + "\"" + suggestion(word, known);
}

// From the program to the command that was given.
std::vector<const CLI::App*> given_commands(const CLI::App& program) {
  std::vector<const CLI::App*> given{&program};
  while (!given.back()->get_subcommands().empty()) {
    given.push_back(given.back()->get_subcommands().front());
  }
  return given;
}

// The first word that no command took.
std::optional<std::string> unknown_word(const std::vector<const CLI::App*>& given) {
  std::string path;
  for (const CLI::App* command : given) {
    if (command != given.front()) path += command->get_name() + " ";
    for (const std::string& word : command->remaining()) {
      if (word == "--") continue;
      if (word.starts_with("-")) return unknown_option(*command, word);
      if (commands_of(*command).empty()) return "unexpected \"" + word + "\"";
      return unknown_command(*command, path, word);
    }
  }
  return std::nullopt;
}

std::string which_command(const CLI::App& program) {
  std::string text = "which command? ";
  const auto commands = commands_of(program);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (i > 0) text += i + 1 < commands.size() ? ", " : " or ";
    text += commands[i]->get_name();
  }
  return text;
}

// The library's "--key excludes --file" and "--config: 1 required NAME=VALUE missing", in words.
std::string plain_text(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (const std::size_t at = text.find(" excludes "); at != std::string::npos) {
    return text.substr(0, at) + " and " + text.substr(at + 10) + " exclude each other";
  }
  constexpr std::string_view kRequired = ": 1 required ";
  constexpr std::string_view kMissing = " missing";
  const std::size_t at = text.find(kRequired);
  if (at == std::string::npos || !text.ends_with(kMissing)) return text;
  const std::size_t what = at + kRequired.size();
  return text.substr(0, at) + " needs " + text.substr(what, text.size() - what - kMissing.size());
}

int wrong(const std::string& text, const std::string& command) {
  say(text);
  std::fprintf(stderr, "%s --help shows how it is used\n", command.c_str());
  return kBadCommandLine;
}

int help_for(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  std::string name = program.get_name();
  std::string path;
  for (const std::string& word : words) {
    const auto commands = commands_of(*command);
    const auto found = std::ranges::find(commands, word, &CLI::App::get_name);
    if (found == commands.end()) return wrong(unknown_command(*command, path, word), name);
    command = *found;
    name += " " + word;
    path += word + " ";
  }
  print(command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal));
  return finish_output();
}

}  // namespace

Check one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return {};
    return text + " is not one of " + CLI::detail::join(words, ", ");
  };
}

Check whole_number(std::int64_t low, std::int64_t high) {
  return [low, high](const std::string& text) -> std::string {
    const auto number = parse_number(text);
    if (!number || *number < low) {
      return text + " is not a whole number of at least " + std::to_string(low);
    }
    return *number > high ? text + " is more than " + std::to_string(high) : std::string();
  };
}

Check name_and_value() {
  return [](const std::string& text) {
    return text.find('=') == std::string::npos ? text + " is not NAME=VALUE" : std::string();
  };
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return {};
  const std::string type = option->get_type_name();
  return (type.empty() ? "" : " " + type) + (option->get_required() ? " (required)" : "");
}

void add_help(CLI::App& program, std::function<int()>& action) {
  CLI::App* help = program.add_subcommand("help", "Shows this, or the options of a command");
  help->fallthrough();
  auto words = std::make_shared<std::vector<std::string>>();
  help->add_option("COMMAND", *words, "Command to tell about")->type_name("");
  help->callback([&program, &action, words] {
    action = [&program, words] { return help_for(program, *words); };
  });
}

int explain(const CLI::App& program, const CLI::ParseError& error) {
  const auto given = given_commands(program);
  std::string name = program.get_name();
  for (std::size_t i = 1; i < given.size(); ++i) name += " " + given[i]->get_name();
  if (const auto unknown = unknown_word(given)) return wrong(*unknown, name);
  if (error.get_exit_code() == 0) return program.exit(error);
  return wrong(given.size() == 1 && error.get_name() == "RequiredError" ? which_command(program)
                                                                        : plain_text(error),
               name);
}

}  // namespace lastword::client
