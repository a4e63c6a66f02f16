// SPDX-License-Identifier: Apache-2.0
// What a table shows and when, and each rule that says that deletes were missed: with a case in
// which the table must be built anew, and one in which it must not.
#include "client/table_reader.h"

#include <gtest/gtest.h>

#include "tests/client/table_fixture.h"

namespace lastword::client {
namespace {

// ---- what is shown -------------------------------------------------------------------------

TEST_F(TableReaderTest, InsertsOverwritesAndDeletesOnNull) {
  create_compacted();
  put("c-7", "Oslo");
  put("c-8", "");
  put("c-9", "Rome");
  put("c-7", "Bergen");
  put("c-9", std::nullopt);
  read();
  EXPECT_EQ(rows(), (Rows{{"c-7", "Bergen"}, {"c-8", ""}}));
  EXPECT_EQ(reader_->size(), 2U);
  EXPECT_EQ(*reader_->find("c-8"), "");
  EXPECT_EQ(reader_->find("c-9"), nullptr);
}

TEST_F(TableReaderTest, AnEmptyTopicIsCaughtUpAtOnce) {
  create_compacted(3);
  read();
  EXPECT_EQ(reader_->size(), 0U);
}

TEST_F(TableReaderTest, ReadsAllPartitions) {
  create_compacted(3);
  for (std::int32_t partition = 0; partition < 3; ++partition) {
    fixture_.produce("a", {{.key = "key " + std::to_string(partition), .value = "v"}}, partition);
  }
  read();
  EXPECT_EQ(reader_->size(), 3U);
  EXPECT_EQ(reader_->partitions_of("key 1"), std::vector<std::int32_t>{1});
  EXPECT_TRUE(reader_->partitions_of("key 3").empty());
}

TEST_F(TableReaderTest, ReportsChangesWithOldValues) {
  create_compacted();
  put("c-7", "Oslo");
  read();
  EXPECT_EQ(changes_, Keys{"c-7: - > Oslo"});
  changes_.clear();
  put("c-7", "Bergen");
  step();
  put("c-7", std::nullopt);
  put("c-8", std::nullopt);
  step();
  EXPECT_EQ(changes_, (Keys{"c-7: Oslo > Bergen", "c-7: Bergen > -"}));
}

TEST_F(TableReaderTest, LeavesOutRecordsWithoutKeys) {
  fixture_.create_topic("a");
  fixture_.produce("a", {{.value = "no key"}, {.key = "k", .value = "v"}});
  read();
  EXPECT_EQ(rows(), (Rows{{"k", "v"}}));
}

TEST_F(TableReaderTest, ShowsNothingBeforeTheEndThatWasThereAtItsStart) {
  create_compacted();
  put("A", "1");
  put("B", "2");
  put("A", "3");
  begin_slow_scan();
  EXPECT_FALSE(reader_->caught_up());
  EXPECT_EQ(reader_->size(), 0U);
  catch_up();
  EXPECT_EQ(rows(), (Rows{{"A", "3"}, {"B", "2"}}));
}

// With A=1 compacted away, B is read before A's newer value: B alone was never the state.
TEST_F(TableReaderTest, ShowsNoStateThatNeverWas) {
  create_compacted();
  ASSERT_TRUE(open({}, {.partition_bytes_max = 1}));
  catch_up();
  put("A", "1");
  put("B", "2");
  put("A", "3");
  fixture_.advance(1001);
  for (int steps = 0; steps < 10; ++steps) {
    step();
    const Rows seen = rows();
    EXPECT_TRUE(!seen.contains("B") || seen.contains("A")) << "after step " << steps;
  }
  EXPECT_EQ(rows(), (Rows{{"A", "3"}, {"B", "2"}}));
}

// ---- deletes that were missed --------------------------------------------------------------

TEST_F(TableReaderTest, IsToldWhenATombstoneThatItHasNotSeenIsGone) {
  create_compacted();
  put("c-7", "Tromso");
  put("c-8", "Rome");
  read();
  const TableState saved = state();
  put("c-7", std::nullopt);
  remove_tombstones();
  EXPECT_EQ(fixture_.removed_tombstone_mark("a"), 3);

  read(saved);
  ASSERT_EQ(missed_.size(), 1U);
  EXPECT_EQ(
      missed_[0],
      "deletes were missed: tombstones below offset 3 are gone, and the table ends at offset 2");
  EXPECT_EQ(gone(), Keys{"c-7"});
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}}));
  EXPECT_EQ(changes_, Keys{"c-7: Tromso > -"});
}

TEST_F(TableReaderTest, GoesOnWhenItHasSeenTheTombstoneThatIsGone) {
  create_compacted();
  put("c-7", "Tromso");
  put("c-7", std::nullopt);
  read();
  const TableState saved = state();
  remove_tombstones();
  put("c-8", "Rome");
  EXPECT_EQ(fixture_.removed_tombstone_mark("a"), 2);
  read(saved);
  EXPECT_TRUE(missed_.empty());
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}}));
}

// In the middle of a scan that began after the tombstone was gone: its older values were gone, too.
TEST_F(TableReaderTest, GoesOnWhenTheTombstoneWasGoneBeforeItsScanBegan) {
  create_compacted();
  put("c-6", "Rome");
  put("c-7", "Tromso");
  put("c-7", std::nullopt);
  remove_tombstones();
  put("c-8", "Paris");
  ASSERT_EQ(fixture_.removed_tombstone_mark("a"), 3);
  begin_slow_scan();
  TableState saved = state();
  EXPECT_EQ(saved.partitions[0].position, 1);
  EXPECT_EQ(saved.partitions[0].removed_tombstone_mark, 3);
  read(saved);
  EXPECT_TRUE(missed_.empty());
  EXPECT_EQ(rows(), (Rows{{"c-6", "Rome"}, {"c-8", "Paris"}}));

  saved.partitions[0].removed_tombstone_mark = 2;
  read(saved);
  EXPECT_EQ(missed_.size(), 1U);
}

TEST_F(TableReaderTest, IsToldWhenItFollowsTooSlowly) {
  create_compacted();
  put("c-7", "Tromso");
  read();
  put("c-7", std::nullopt);
  remove_tombstones();
  step();
  EXPECT_EQ(missed_.size(), 1U);
  EXPECT_EQ(rows(), (Rows{{"c-7", "Tromso"}})) << "the old table stays until the new one is whole";
  EXPECT_EQ(reader_->state(), std::nullopt) << "the keys that are gone have yet to be reported";
  step();
  EXPECT_EQ(gone(), Keys{"c-7"});
  EXPECT_TRUE(rows().empty());
  EXPECT_NE(reader_->state(), std::nullopt);
}

TEST_F(TableReaderTest, ScansAgainWhenTheMarkMovesPastItsPosition) {
  create_compacted();
  put("c-7", "Tromso");
  put("c-8", "Rome");
  put("c-9", "Paris");
  begin_slow_scan();  // has c-7
  put("c-7", std::nullopt);
  remove_tombstones();
  catch_up();
  EXPECT_EQ(missed_.size(), 1U);
  EXPECT_EQ(rebuilt_.size(), 1U);
  EXPECT_EQ(gone(), Keys{}) << "nobody was shown c-7";
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}, {"c-9", "Paris"}}));
}

TEST_F(TableReaderTest, ScansOnWhenTheMarkMovesBehindItsPosition) {
  create_compacted();
  put("c-7", "Tromso");
  put("c-7", std::nullopt);
  put("c-8", "Rome");
  put("c-9", "Paris");
  begin_slow_scan();
  step();
  EXPECT_EQ(state().partitions[0].position, 2);
  remove_tombstones();
  EXPECT_EQ(fixture_.removed_tombstone_mark("a"), 2);
  catch_up();
  EXPECT_TRUE(missed_.empty());
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}, {"c-9", "Paris"}}));
}

TEST_F(TableReaderTest, ScansOnWhenTheMarkMovesBeforeItHasReadAnything) {
  create_compacted();
  put("c-7", "Tromso");
  put("c-8", "Rome");
  ASSERT_TRUE(open());
  put("c-7", std::nullopt);
  remove_tombstones();
  catch_up();
  EXPECT_TRUE(missed_.empty());
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}}));
}

TEST_F(TableReaderTest, TheThirdRebuildInARowSaysWhatToRaise) {
  create_compacted();
  for (const char* key : {"x", "y", "z"}) put(key, "v");
  begin_slow_scan();
  for (int rebuild = 1; rebuild <= 2; ++rebuild) {
    put("c-7", std::nullopt);
    remove_tombstones();
    step();  // finds the mark moved
    EXPECT_EQ(missed_.size(), static_cast<std::size_t>(rebuild));
    step();  // has read something again
  }
  put("c-7", std::nullopt);
  remove_tombstones();
  const auto third = reader_->step(milliseconds(0));
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().text.find("raise delete.retention.ms"), std::string::npos)
      << third.error().text;
}

TEST_F(TableReaderTest, AScanThatComesToItsEndBeginsTheCountAnew) {
  create_compacted();
  for (const char* key : {"x", "y", "z"}) put(key, "v");
  begin_slow_scan();
  for (int rebuild = 1; rebuild <= 5; ++rebuild) {
    put("c-7", std::nullopt);
    remove_tombstones();
    step();
    EXPECT_EQ(missed_.size(), static_cast<std::size_t>(rebuild));
    for (int steps = 0; steps < 6; ++steps) step();
    EXPECT_EQ(rebuilt_.size(), static_cast<std::size_t>(rebuild));
  }
}

// ---- the other rules -----------------------------------------------------------------------

TEST_F(TableReaderTest, IsToldWhenTheLogStartPassedItsPosition) {
  fixture_.create_topic("a", 1, {{"segment.ms", "1000"}, {"retention.ms", "10000"}});
  put("k1", "v");
  read();
  const TableState saved = state();
  put("k2", "v");
  put("k3", "v");
  fixture_.advance(1001);
  fixture_.advance(20'000);
  read(saved);
  ASSERT_EQ(missed_.size(), 1U);
  EXPECT_NE(missed_[0].find("the log starts at offset 3 now"), std::string::npos) << missed_[0];
  EXPECT_EQ(gone(), Keys{"k1"});
}

TEST_F(TableReaderTest, GoesOnWhenTheLogStartIsAtItsPosition) {
  fixture_.create_topic("a", 1, {{"segment.ms", "1000"}, {"retention.ms", "10000"}});
  put("k1", "v");
  read();
  const TableState saved = state();
  fixture_.advance(1001);
  fixture_.advance(20'000);
  put("k2", "v");
  read(saved);
  EXPECT_TRUE(missed_.empty());
  EXPECT_EQ(rows(), (Rows{{"k1", "v"}, {"k2", "v"}}));
}

TEST_F(TableReaderTest, IsToldWhenTheEndOfTheLogWasLost) {
  create_compacted();
  put("c-7", "Oslo");
  read();
  TableState saved = state();
  EXPECT_EQ(saved.partitions[0].leader_epoch, 0);
  read(saved);
  EXPECT_TRUE(missed_.empty());

  TableState longer = saved;
  longer.partitions[0].position = 5;
  longer.partitions[0].table["lost"] = "v";
  read(longer);
  ASSERT_EQ(missed_.size(), 1U);
  EXPECT_EQ(missed_[0],
            "the end of the log was lost: it ends at offset 1 now, and the table at offset 5");
  EXPECT_EQ(gone(), Keys{"lost"});

  TableState newer = saved;
  newer.partitions[0].leader_epoch = 3;
  read(newer);
  ASSERT_EQ(missed_.size(), 1U);
  EXPECT_NE(missed_[0].find("leader epoch 3, which the broker does not know"), std::string::npos)
      << missed_[0];
}

TEST_F(TableReaderTest, AStateOfAnotherTopicIsRefused) {
  create_compacted();
  const auto opened = open(TableState{.topic = "b"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().text, "the state is of topic b, not of a");
}

// ---- over a stop ---------------------------------------------------------------------------

TEST_F(TableReaderTest, GoesOnFromItsStateAfterARestartOfBoth) {
  create_compacted();
  put("c-7", "Oslo");
  put("c-8", "Rome");
  read();
  const TableState saved = state();
  EXPECT_EQ(saved.partitions[0].position, 2);
  fixture_.restart();
  put("c-7", std::nullopt);
  read(saved);
  EXPECT_TRUE(missed_.empty());
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}}));
  EXPECT_EQ(changes_, Keys{"c-7: Oslo > -"});
}

TEST_F(TableReaderTest, AScanThatWasStoppedGoesOnWhereItWas) {
  create_compacted();
  for (const char* key : {"x", "y", "z"}) put(key, "v");
  begin_slow_scan();
  const TableState saved = state();
  EXPECT_EQ(saved.partitions[0].position, 1);
  EXPECT_EQ(saved.partitions[0].table.size(), 1U);
  read(saved);
  EXPECT_EQ(reader_->size(), 3U);
}

TEST_F(TableReaderTest, WhatIsNotShownYetIsInTheState) {
  create_compacted();
  put("c-7", "Oslo");
  ASSERT_TRUE(open({}, {.partition_bytes_max = 1}));
  catch_up();
  for (const char* value : {"1", "2", "3"}) put("c-8", value);
  step();  // the first of three
  EXPECT_EQ(rows(), (Rows{{"c-7", "Oslo"}}));
  const TableState saved = state();
  EXPECT_EQ(saved.partitions[0].position, 2);
  EXPECT_EQ(saved.partitions[0].table.at("c-8"), "1");
}

}  // namespace
}  // namespace lastword::client
