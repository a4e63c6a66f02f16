// SPDX-License-Identifier: Apache-2.0
// The program itself, as a shell sees it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/client/commands_fixture.h"
#include "tests/client/damage.h"

namespace lastword::client {
namespace {

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
  const Ran fed = run("produce b --file - --format json --keep-partition", records);
  EXPECT_EQ(fed.exit_code, 0) << fed.err;
  EXPECT_EQ(run("consume b --until-end --format json").out, records);
}

TEST_F(CommandsTest, ACopyOfATopicPutsEachKeyWhereLaterWritesPutIt) {
  EXPECT_EQ(run("topics create a").exit_code, 0);
  EXPECT_EQ(run("topics create b --partitions 3 --config cleanup.policy=compact").exit_code, 0);
  EXPECT_EQ(run("produce a --key a --value old").exit_code, 0);
  const std::string records = run("consume a --until-end --format json").out;
  EXPECT_EQ(run("produce b --format json", records).exit_code, 0);
  EXPECT_EQ(run("produce b --key a --tombstone").exit_code, 0);
  EXPECT_EQ(run("table b").out, "");
  const Ran both = run("produce b --format json --keep-partition --partition 1", records);
  EXPECT_EQ(both.exit_code, 2) << both.err;
}

TEST_F(CommandsTest, TableWarnsOfAKeyInTwoPartitions) {
  EXPECT_EQ(run("topics create a --partitions 3 --config cleanup.policy=compact").exit_code, 0);
  EXPECT_EQ(run("produce a --key a --value old --partition 0").exit_code, 0);
  EXPECT_EQ(run("produce a --key a --value new").out, "a partition 1, offset 0\n");
  EXPECT_EQ(run("produce a --key b --value x").exit_code, 0);
  const Ran ran = run("table a");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "a\told\na\tnew\nb\tx\n");
  EXPECT_EQ(
      ran.err,
      "lastword: key a is in partitions 0 and 1: a write or a delete reaches only one of them, "
      "by default 1; lastword produce a --key a --tombstone --partition N deletes it in N\n");
}

TEST_F(CommandsTest, TableThatFollowsWarnsOfAKeyThatComesToASecondPartition) {
  EXPECT_EQ(run("topics create a --partitions 3").exit_code, 0);
  EXPECT_EQ(run("produce a --key a --value old --partition 0").exit_code, 0);
  const Ran ran =
      run("table a --follow & sleep 0.5; lastword produce a --key a --value new >sent; "
          "sleep 0.5; kill %1; wait %1; true");
  EXPECT_EQ(ran.out, "a\told\na\tnew\n");
  EXPECT_NE(ran.err.find("key a is in partitions 0 and 1"), std::string::npos) << ran.err;
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
  EXPECT_EQ(
      ran.err,
      "lastword: 1 record stored\n"
      "lastword: line 3: no \"value\" in it; a tombstone is written \"value\": null; the lines "
      "before it are stored, nothing from line 3 on was sent\n");
  EXPECT_EQ(run("table a").out, "a\t1\n");
  const Ran first = run("produce a --format json", "{\"key\" \"a\"}\n");
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_EQ(first.err,
            "lastword: line 1: not JSON at column 10: unexpected string literal; expected ':'; "
            "nothing was sent\n");
  const Ran text = run("produce a --key-separator \"\\t\"", "a\t1\nb\n");
  EXPECT_NE(text.err.find("line 2: no tab in it, so it has no key (--key-separator); the lines"),
            std::string::npos)
      << text.err;
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
  EXPECT_NE(ran.err.find("  line 3: has no key: a compacted topic needs one\n"), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("2 refused"), std::string::npos) << ran.err;
}

TEST_F(CommandsTest, ACompactedTopicNeedsKeysAndTheRemedyIsSaidOnce) {
  create_compacted();
  const Ran one = run("produce a --value b");
  EXPECT_EQ(one.exit_code, 1);
  EXPECT_EQ(one.err, "lastword: topic a is compacted, so a record needs a key: add --key TEXT\n");
  const Ran lines = run("produce a", "c-7\tOslo\nc-8\tRome\n");
  EXPECT_EQ(lines.exit_code, 1);
  EXPECT_EQ(
      lines.err,
      "lastword: topic a is compacted, so each line needs a key: add --key-separator '\\t' if "
      "a tab stands between key and value; nothing was sent\n");
}

TEST_F(CommandsTest, OneRefusedRecordIsToldInOneLine) {
  EXPECT_EQ(run("topics create a --config message.timestamp.after.max.ms=1000").exit_code, 0);
  const Ran ran = run("produce a --value v --timestamp 9000000000000");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_EQ(ran.err.find("record 0"), std::string::npos) << ran.err;
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
  EXPECT_EQ(lines("--from 3 --until-end"), 0);
  for (const std::string options : {"--from 9 --until-end", "--from 9"}) {
    const Ran outside = run("consume a " + options);
    EXPECT_EQ(outside.exit_code, 1) << options;
    EXPECT_EQ(
        outside.err,
        "lastword: a partition 0 has no offset 9: it holds 0 to 3; --from earliest reads from "
        "its start\n");
  }
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
  EXPECT_EQ(run("topics --delete a").out, "deleted a\n");
  EXPECT_EQ(run("topics delete b").out, "deleted b\n");
  EXPECT_EQ(run("topics list").out, "NAME  PARTITIONS  ID\n");
}

TEST_F(CommandsTest, DescribeShowsWhatWasChangedAndAllWhenAsked) {
  create_compacted();
  EXPECT_NE(run("topics describe a").out.find("\npartition 0: empty\n"), std::string::npos);
  EXPECT_EQ(run("produce a --key c-7 --value Oslo").exit_code, 0);
  const std::string out = run("topics describe a").out;
  EXPECT_NE(out.find("\n  removed-tombstone mark  0\n"), std::string::npos) << out;
  EXPECT_NE(out.find("\ndelete.retention.ms  1min (60000)  topic\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("max.compaction.lag.ms"), std::string::npos) << out;
  EXPECT_NE(out.find(" more settings are at their defaults; --all shows them\n"),
            std::string::npos);
  const std::string all = run("topics describe a --all").out;
  EXPECT_EQ(all, run("topics --describe a --all").out);
  EXPECT_LT(all.find("segment.ms "), all.find("compression.type")) << "changed ones first";
  const std::string lag = all.substr(all.find("max.compaction.lag.ms"));
  EXPECT_EQ(lag.substr(0, lag.find('\n')).find("9223372036854775807"), std::string::npos) << lag;
  EXPECT_NE(lag.substr(0, lag.find('\n')).find("no limit"), std::string::npos) << lag;
}

TEST_F(CommandsTest, DescribeOfATopicWithoutCompactSpeaksOfNoPass) {
  EXPECT_EQ(run("topics create a").exit_code, 0);
  EXPECT_EQ(run("produce a --key k --tombstone").exit_code, 0);
  const std::string out = run("topics describe a").out;
  EXPECT_EQ(out.find("pass"), std::string::npos) << out;
  EXPECT_NE(out.find("1; they stay as other records do: cleanup.policy is delete\n"),
            std::string::npos)
      << out;
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
