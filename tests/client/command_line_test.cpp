// SPDX-License-Identifier: Apache-2.0
// What the program says of a command line that is wrong, and of names that are not there.
#include <gtest/gtest.h>

#include "tests/client/commands_fixture.h"

namespace lastword::client {
namespace {

class CommandLineTest : public CommandsTest {
 protected:
  void expect_wrong(const std::string& words, const std::string& text) {
    const Ran ran = run_plain(words);
    EXPECT_EQ(ran.exit_code, 2) << words;
    EXPECT_EQ(ran.out, "") << words;
    EXPECT_EQ(ran.err.substr(0, ran.err.find('\n')), "lastword: " + text) << words;
  }
};

TEST_F(CommandLineTest, UnknownCommandsAreNamedWithTheNearest) {
  expect_wrong("produc x", "unknown command \"produc\"; did you mean produce?");
  expect_wrong("config --help", "unknown command \"config\"");
  expect_wrong("topics alter --help", "unknown command \"topics alter\"");
  expect_wrong("topics descibe a", "unknown command \"topics descibe\"; did you mean describe?");
  expect_wrong("", "which command? produce, consume, table, topics or help");
  expect_wrong("topics", "topics: list, create NAME, delete NAME or describe NAME");
}

TEST_F(CommandLineTest, UnknownOptionsAreNamedWithTheNearest) {
  expect_wrong("produce a --kee k --value v", "unknown option --kee; did you mean --key?");
  expect_wrong("produce a --kee=k", "unknown option --kee; did you mean --key?");
  expect_wrong("consume a --colour", "unknown option --colour");
  expect_wrong("produce --kee k", "unknown option --kee; did you mean --key?");
  expect_wrong("table a b", "unexpected \"b\"");
}

TEST_F(CommandLineTest, ValuesAreRefusedPlainly) {
  expect_wrong("topics create a --partitions 0",
               "--partitions: 0 is not a whole number of at least 1");
  expect_wrong("topics create a --partitions many",
               "--partitions: many is not a whole number of at least 1");
  expect_wrong("topics create a --partitions 9999999999",
               "--partitions: 9999999999 is more than 2147483647");
  expect_wrong("consume a --max -1", "--max: -1 is not a whole number of at least 0");
  expect_wrong("consume a --partition x", "--partition: x is not a whole number of at least 0");
  expect_wrong("consume a --format xml", "--format: xml is not one of text, json");
  expect_wrong("produce a --acks 2", "--acks: 2 is not one of all, 1, 0");
  expect_wrong("produce a --header foo --value v", "--header: foo is not NAME=VALUE");
  expect_wrong("topics create a --config foo", "--config: foo is not NAME=VALUE");
  expect_wrong("topics create a --config", "--config needs NAME=VALUE");
  expect_wrong("produce", "TOPIC is required");
  expect_wrong("produce a --key k",
               "say the value: --value TEXT, or --tombstone to delete the key");
  expect_wrong("produce a --value v --tombstone", "--value and --tombstone exclude each other");
  expect_wrong("produce a --file f --key k", "--key and --file exclude each other");
  expect_wrong("topics list --broker nowhere",
               "--broker: \"nowhere\" is not HOST:PORT, for example 127.0.0.1:9092");
  expect_wrong("consume a --from sometime",
               "--from: expected earliest, latest, an offset or @TIMESTAMP");
}

TEST_F(CommandLineTest, AWrongCommandLineSaysWhereHelpIs) {
  EXPECT_EQ(run_plain("produc").err,
            "lastword: unknown command \"produc\"; did you mean produce?\n"
            "lastword --help shows how it is used\n");
  EXPECT_EQ(run_plain("topics create").err,
            "lastword: TOPIC is required\nlastword topics create --help shows how it is used\n");
}

TEST_F(CommandLineTest, HelpIsAWordToo) {
  const Ran help = run_plain("help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.out, run_plain("--help").out);
  EXPECT_EQ(run_plain("help topics create").out, run_plain("topics create --help").out);
  expect_wrong("help produc", "unknown command \"produc\"; did you mean produce?");
}

TEST_F(CommandLineTest, HelpSpeaksOfThisProgramOnly) {
  for (const char* command : {"", "produce", "consume", "table", "topics", "topics list",
                              "topics create", "topics delete", "topics describe"}) {
    const std::string help = run_plain(std::string(command) + " --help").out;
    for (const char* stray : {"TEXT:", "Excludes", "{false}", "FLOAT", ":INT", "Of a new topic"}) {
      EXPECT_EQ(help.find(stray), std::string::npos) << command << ": " << stray << "\n" << help;
    }
  }
}

// Each example of a help text, in an order in which they can be typed.
TEST_F(CommandLineTest, ExamplesOfTheHelpWork) {
  fixture_.create_topic("customer-addresses", 1, {{"cleanup.policy", "compact"}});
  std::string all;
  for (const char* command : {"topics create", "topics", "produce", "consume", "table",
                              "topics list", "topics describe", "topics delete"}) {
    const std::string whole = run_plain(std::string(command) + " --help").out;
    const std::size_t first = whole.find("Example");
    ASSERT_NE(first, std::string::npos) << command;
    const std::string help = whole.substr(first, whole.find("\n\n", first) - first) + "\n";
    std::size_t at = 0;
    for (at = help.find("lastword ", at); at != std::string::npos;
         at = help.find("lastword ", at)) {
      const std::size_t colon = help.rfind(": ", at);
      const std::size_t line = help.rfind('\n', at);
      const std::size_t begin = line == std::string::npos ? colon + 2 : line + 1;
      const std::size_t end = help.find('\n', at);
      std::string example = help.substr(begin, end - begin);
      at = end;
      if (example.find("--follow") != std::string::npos) continue;  // ends with Ctrl-C
      const Ran ran = run_example(example);
      EXPECT_EQ(ran.exit_code, 0) << example << "\n" << ran.err;
      all += example + "\n";
    }
  }
  EXPECT_NE(all.find("--key-separator"), std::string::npos) << all;
  EXPECT_NE(all.find("--format json"), std::string::npos) << all;
  EXPECT_EQ(run("topics list").out.find("orders"), std::string::npos) << "created and deleted";
}

TEST_F(CommandLineTest, AMissingTopicIsToldWithTheChoiceOfPolicies) {
  for (const char* words : {"consume nope --until-end", "table nope", "produce nope --value v"}) {
    const Ran missing = run(words);
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_EQ(missing.err,
              "lastword: there is no topic nope; create it: lastword topics create nope --config "
              "cleanup.policy=compact (keeps the latest value of each key), or without --config "
              "(the broker's defaults)\n");
  }
  EXPECT_EQ(run("topics delete nope").err, "lastword: there is no topic nope\n");
  EXPECT_EQ(run("topics describe nope").err, "lastword: there is no topic nope\n");
}

TEST_F(CommandLineTest, ATopicThatExistsIsToldPlainly) {
  EXPECT_EQ(run("topics create a").exit_code, 0);
  const Ran twice = run("topics create a");
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_EQ(twice.err, "lastword: topic a exists already (TOPIC_ALREADY_EXISTS)\n");
}

TEST_F(CommandLineTest, ABrokerThatIsNotThereIsToldWithARemedy) {
  const Ran unreachable = run_plain("topics list --broker 127.0.0.1:1");
  EXPECT_EQ(unreachable.exit_code, 1);
  EXPECT_NE(unreachable.err.find("is lastwordd running there?"), std::string::npos);
  const Ran unknown = run_plain("topics list --broker nowhere.invalid:9092");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("cannot find host nowhere.invalid: "), std::string::npos)
      << unknown.err;
}

class AutoCreateTest : public CommandsTest {
 protected:
  AutoCreateTest()
      : CommandsTest([](BrokerOptions& options) { options.auto_create_topics = true; }) {}
};

TEST_F(AutoCreateTest, ProduceLetsTheBrokerMakeTheTopicAndReadersDoNot) {
  EXPECT_EQ(run("consume a --until-end").exit_code, 1);
  EXPECT_EQ(run("table a").exit_code, 1);
  const Ran ran = run("produce a --key k --value v");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "a partition 0, offset 0\n");
}

}  // namespace
}  // namespace lastword::client
