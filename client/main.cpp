// SPDX-License-Identifier: Apache-2.0
// The command line lastword. Exit codes: 0 done; 1 failed, or some records were refused (standard
// error says which and why); 2 the command line is wrong.
#include <exception>

#include "client/commands/command.h"
#include "client/commands/usage.h"

namespace lastword::client {
namespace {

int run(int count, char** words) {
  Program program;
  CLI::App& app = program.app;
  app.description(
      "lastword writes to and reads from a Lastword or Kafka broker.\n"
      "Example: lastword produce customer-addresses --key c-7 --value Oslo\n"
      "         lastword table customer-addresses");
  app.footer(
      "Exit codes: 0 done; 1 failed, or some records were refused; 2 wrong command line.\n"
      "lastword COMMAND --help shows the options of a command.");
  app.name("lastword");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "lastword " LASTWORD_VERSION);
  app.require_subcommand(1);
  add_broker_option(program, app);
  add_produce(program);
  add_consume(program);
  add_table(program);
  add_topics(program);
  add_help(app, program.action);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return program.action();
}

}  // namespace
}  // namespace lastword::client

int main(int count, char** words) {
  try {
    return lastword::client::run(count, words);
  } catch (const std::exception& error) {  // memory that is not there, from the libraries
    return lastword::client::fail(error.what());
  }
}
