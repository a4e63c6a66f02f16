// SPDX-License-Identifier: Apache-2.0
// The program itself, as a shell sees it.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/client/damage.h"
#include "tests/support/broker_fixture.h"

namespace lastword::client {
namespace {

struct Ran {
  int exit_code = -1;
  std::string out{};
  std::string err{};
};

class CommandsTest : public testing::Test {
 protected:
  /// `lastword WORDS`, with --broker, in a shell. WORDS may go on with a pipe.
  Ran run(const std::string& words, const std::string& input = {}) {
    std::ofstream(folder_ / "in") << input;
    const std::string command = "set -o pipefail; cd " + folder_.path() +
                                "; lastword() { local c=$1; shift; " +
                                LASTWORD_BINARY_DIR "/lastword $c --broker " + fixture_.address() +
                                " \"$@\"; }; { lastword " + words + "; } <in >out 2>err";
    const int status = std::system(("bash -c '" + command + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text("out"), text("err")};
  }
  std::string text(const std::string& name) const {
    std::ifstream stream(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void create_compacted() {
    EXPECT_EQ(run("topics create a --config cleanup.policy=compact --config segment.ms=1000 "
                  "--config delete.retention.ms=60000")
                  .exit_code,
              0);
  }

  test::BrokerFixture fixture_{};
  test::TemporaryDirectory folder_{};
};

TEST_F(CommandsTest, ProduceConsumeAndTableOfOneKey) {
  create_compacted();
  Ran ran = run("produce a --key c-7 --value Oslo");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "a partition 0, offset 0\n");
  EXPECT_EQ(run("table a").out, "c-7\tOslo\n");
  EXPECT_EQ(run("produce a --key c-7 --tombstone --header from=test").out,
            "a partition 0, offset 1\n");
  EXPECT_EQ(run("produce a --key c-8 --value \"\" --timestamp 1767607200000").exit_code, 0);
  ran = run("consume a --from 1 --until-end");
  EXPECT_NE(ran.out.find("\tc-7\t(null)\tfrom=test\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("0:2\t2026-01-05T10:00:00.000Z\tc-8\t(empty)\n"), std::string::npos);
  EXPECT_EQ(run("table a").out, "c-8\t(empty)\n");
  EXPECT_EQ(run("table a --format json").out, "{\"key\":\"c-8\",\"value\":\"\"}\n");
}

TEST_F(CommandsTest, WhatConsumeWritesProduceReads) {
  EXPECT_EQ(run("topics create a --partitions 2").exit_code, 0);
  EXPECT_EQ(run("topics create b --partitions 2").exit_code, 0);
  fixture_.produce("a",
                   {{.key = "k", .value = std::string("\0\xff", 2)},
                    {.key = "k", .value = std::nullopt},
                    {.key = std::nullopt, .value = ""},
                    {.key = "h", .value = "v", .headers = {{"x", "1"}, {"x", "2"}}}},
                   1);
  const std::string records = run("consume a --until-end --format json").out;
  EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 4);
  const Ran fed = run("produce b --file - --format json", records);
  EXPECT_EQ(fed.exit_code, 0) << fed.err;
  EXPECT_EQ(run("consume b --until-end --format json").out, records);
}

TEST_F(CommandsTest, TextLinesHaveKeysAndTombstones) {
  create_compacted();
  const Ran ran = run("produce a --key-separator \"\\t\" --null-value NULL --compression zstd",
                      "c-7\tOslo\nc-8\tRome\tItaly\nc-7\tNULL\nc-9\t\n");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("4 records stored"), std::string::npos);
  EXPECT_EQ(run("table a").out, "c-8\tRome\\tItaly\nc-9\t(empty)\n");
}

TEST_F(CommandsTest, ABadLineIsNamedAndThoseBeforeItAreStored) {
  create_compacted();
  const Ran ran =
      run("produce a --format json", "{\"key\":\"a\",\"value\":\"1\"}\n\n{\"key\":\"b\"}\n");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("line 3: has no \"value\""), std::string::npos) << ran.err;
  EXPECT_EQ(run("table a").out, "a\t1\n");
}

TEST_F(CommandsTest, ANumberOutsideItsRangeIsNamedByItsLine) {
  EXPECT_EQ(run("topics create a --partitions 2").exit_code, 0);
  const Ran ran = run("produce a --format json",
                      "{\"value\":\"1\",\"partition\":1}\n"
                      "{\"value\":\"2\",\"partition\":4294967297}\n");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("line 2: \"partition\" is 4294967297, which is not from 0 to 2147483647"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("1 record stored"), std::string::npos) << ran.err;
}

TEST_F(CommandsTest, ARefusedRecordIsNamedByItsLine) {
  create_compacted();
  const Ran ran = run("produce a --format json",
                      "{\"key\":\"a\",\"value\":\"1\"}\n\n{\"key\":null,\"value\":\"2\"}\n");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.err.find("  line 3: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("2 refused"), std::string::npos) << ran.err;
}

TEST_F(CommandsTest, ConsumeBeginsAndEndsWhereItIsTold) {
  EXPECT_EQ(run("topics create a").exit_code, 0);
  for (const std::int64_t time : {1000, 2000, 3000}) {
    fixture_.produce("a", {{.key = "k", .value = std::to_string(time), .timestamp = time}});
  }
  const auto lines = [&](const std::string& options) {
    const std::string out = run("consume a " + options).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_EQ(lines("--from earliest --until-end"), 3);
  EXPECT_EQ(lines("--from latest --until-end"), 0);
  EXPECT_EQ(lines("--from 2 --until-end"), 1);
  EXPECT_EQ(lines("--from @1500 --until-end"), 2);
  EXPECT_EQ(lines("--from @9000 --until-end"), 0);
  EXPECT_EQ(lines("--max 2"), 2);
  const Ran outside = run("consume a --from 9 --until-end --max 1");
  EXPECT_EQ(outside.exit_code, 0) << "there is nothing to read: it is past the end";
  EXPECT_EQ(run("consume a --partition 7 --until-end").err,
            "lastword: topic a has no partition 7; it has 1 partition, from 0\n");
}

TEST_F(CommandsTest, ConsumePrintsWhatItCanRead) {
  EXPECT_EQ(run("topics create a --partitions 2").exit_code, 0);
  fixture_.produce("a", {{.key = "k", .value = "to be damaged"}}, 0);
  fixture_.produce("a", {{.key = "good", .value = "v"}}, 1);
  test::damage(fixture_, "a-0", "to be damaged");
  const Ran ran = run("consume a --until-end");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("\tgood\tv\n"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.err, "lastword: a partition 0, offset 0: the checksum of a batch does not hold\n");
}

TEST_F(CommandsTest, TopicsInBothForms) {
  EXPECT_EQ(run("topics --create a --partitions 2 --config cleanup.policy=compact").out,
            "created a with 2 partitions\n");
  EXPECT_EQ(run("topics create b").out, "created b with 1 partition\n");
  EXPECT_EQ(run("topics list").out, run("topics --list").out);
  EXPECT_EQ(run("topics describe a").out, run("topics --describe a").out);
  EXPECT_NE(run("topics describe a").out.find("removed-tombstone mark"), std::string::npos);
  EXPECT_EQ(run("topics --delete a").out, "deleted a\n");
  EXPECT_EQ(run("topics delete b").out, "deleted b\n");
  EXPECT_EQ(run("topics list").out, "NAME  PARTITIONS  ID\n");
}

TEST_F(CommandsTest, ErrorsSayWhatToDoAndExitCodesTellThemApart) {
  EXPECT_EQ(run("topics").exit_code, 2);
  EXPECT_EQ(run("produce").exit_code, 2);
  EXPECT_EQ(run("produce a --key k").exit_code, 2);
  EXPECT_EQ(run("topics list --broker nowhere").exit_code, 2);
  EXPECT_EQ(run("consume a --from sometime").exit_code, 2);
  EXPECT_EQ(run("topics --help").exit_code, 0);
  const Ran missing = run("consume nope --until-end");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.err,
            "lastword: there is no topic nope; create it: lastword topics create nope\n");
  const Ran unreachable = run("topics list --broker 127.0.0.1:1");
  EXPECT_EQ(unreachable.exit_code, 1);
  EXPECT_NE(unreachable.err.find("is lastwordd running there?"), std::string::npos);
}

TEST_F(CommandsTest, AReaderOfThePipeMayLeave) {
  EXPECT_EQ(run("topics create a").exit_code, 0);
  std::string lines;
  for (int i = 0; i < 50'000; ++i) lines += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(run("produce a", lines).exit_code, 0);
  const Ran ran = run("consume a --until-end | head -n 1");
  EXPECT_NE(ran.out.find("line 0"), std::string::npos);
  EXPECT_EQ(ran.err, "");
}

TEST_F(CommandsTest, TableTellsWhichKeysAreGone) {
  create_compacted();
  EXPECT_EQ(run("produce a --key c-7 --value Tromso").exit_code, 0);
  EXPECT_EQ(run("produce a --key c-8 --value Rome").exit_code, 0);
  EXPECT_EQ(run("table a --state saved").out, "c-7\tTromso\nc-8\tRome\n");
  EXPECT_EQ(run("produce a --key c-7 --tombstone").exit_code, 0);
  fixture_.advance(1001);
  fixture_.advance(70'000);
  const Ran ran = run("table a --state saved");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "c-8\tRome\n");
  EXPECT_EQ(ran.err,
            "lastword: a partition 0: deletes were missed: tombstones below offset 3 are gone, and "
            "the table ends at offset 2; reading it again from the log start\n"
            "lastword: a partition 0: rebuilt; gone since: c-7\n");
  EXPECT_EQ(run("table a --state saved").err, "");
}

}  // namespace
}  // namespace lastword::client
