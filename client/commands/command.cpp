// SPDX-License-Identifier: Apache-2.0
#include "client/commands/command.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace lastword::client {

void add_broker_option(Program& program, CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--broker",
          [&program](const std::string& text) {
            const auto address = parse_host_port(text);
            if (!address || address->port == 0) {
              throw CLI::ValidationError("--broker", "\"" + text +
                                                         "\" is not HOST:PORT, for example "
                                                         "127.0.0.1:9092");
            }
            program.broker = *address;
          },
          "Where the broker listens (default 127.0.0.1:9092)")
      ->take_last()
      ->type_name("HOST:PORT");
}

CLI::App& add_command(Program& program, CLI::App& parent, const std::string& name,
                      const Help& help) {
  CLI::App* command = parent.add_subcommand(name, help.does);
  command->footer(help.examples);
  add_broker_option(program, *command);
  return *command;
}

CLI::Option* add_topic(CLI::App& command, std::string& name, const std::string& text) {
  return command.add_option("TOPIC", name, text)->required()->type_name("");
}

void outlast_restarts(Link& link, std::function<bool()> stopped) {
  link.outlast_restarts([stopped = std::move(stopped)](const Error& error, int attempt) {
    constexpr int kAfterASecond = 5;
    if (attempt == kAfterASecond) say(error.text + "; waiting for the broker");
    return !stopped();
  });
}

void say(const std::string& text) { std::fprintf(stderr, "lastword: %s\n", text.c_str()); }

int fail(const std::string& text) {
  std::fflush(stdout);
  say(text);
  return kFailed;
}
int fail(const Error& error) { return fail(error.text); }

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return kDone;
  return fail(std::string("cannot write the output: ") + std::strerror(errno));
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace lastword::client
