// SPDX-License-Identifier: Apache-2.0
// What the commands share: the option --broker, how a command is added, and how it fails.
//
// Purpose   each commands/*.cpp adds its command to the program and says what runs when it was the
//           one that was asked for.
// Threads   one.
// Lifetime  Program outlives the parse; options live in what the chosen action holds.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/link.h"

namespace lastword::client {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadCommandLine = 2;

struct Program {
  CLI::App app;
  HostPort broker{"127.0.0.1", 9092};
  std::function<int()> action{};  // of the command that was given

  ConnectionSetup connection() const { return {.broker = broker}; }
};

struct Help {
  std::string does;      // one line
  std::string examples;  // behind the options
};
/// A command with its help, and --broker.
CLI::App& add_command(Program& program, CLI::App& parent, const std::string& name,
                      const Help& help);
void add_broker_option(Program& program, CLI::App& command);

/// The topic that a command is about.
CLI::Option* add_topic(CLI::App& command, std::string& name, const std::string& text);

/// When the broker goes away after `link` was connected, waits for it, and says so after a second;
/// until `stopped` holds.
void outlast_restarts(Link& link, std::function<bool()> stopped);

void add_produce(Program& program);
void add_consume(Program& program);
void add_table(Program& program);
void add_topics(Program& program);

/// "lastword: <text>" on standard error; returns kFailed.
int fail(const std::string& text);
int fail(const Error& error);
void say(const std::string& text);

/// Writes to standard output. What cannot be written shows in finish_output().
void print(std::string_view text);
/// Flushes standard output; kFailed, said on standard error, if something was not written.
int finish_output();

/// A whole non-negative number, and nothing else.
std::optional<std::int64_t> parse_number(std::string_view text);

}  // namespace lastword::client
