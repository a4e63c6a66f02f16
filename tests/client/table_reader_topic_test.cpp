// SPDX-License-Identifier: Apache-2.0
// What a table reader does when its topic is deleted, made again, or can be read only in part.
#include <gtest/gtest.h>

#include "tests/client/damage.h"
#include "tests/client/table_fixture.h"

namespace lastword::client {
namespace {

TEST_F(TableReaderTest, IsToldWhenTheTopicWasMadeAgain) {
  create_compacted(2);
  fixture_.produce("a", {{.key = "old", .value = "v"}, {.key = "moves", .value = "v"}}, 1);
  read();
  const TableState saved = state();
  ASSERT_TRUE(Admin(link_).delete_topic("a"));
  create_compacted(1);
  put("moves", "w");
  read(saved);
  EXPECT_EQ(missed_, Keys{"the topic was deleted and made again"});
  EXPECT_EQ(gone(), Keys{"old"});
  EXPECT_EQ(rows(), (Rows{{"moves", "w"}}));
  EXPECT_EQ(state().partitions.size(), 1U);
}

TEST_F(TableReaderTest, IsToldWhenTheTopicIsMadeAgainWhileItFollows) {
  create_compacted();
  put("c-7", "Oslo");
  read();
  ASSERT_TRUE(Admin(link_).delete_topic("a"));
  create_compacted();
  put("c-8", "Rome");
  for (int steps = 0; rebuilt_.empty() && steps < 10; ++steps) step();
  EXPECT_EQ(gone(), Keys{"c-7"});
  EXPECT_EQ(rows(), (Rows{{"c-8", "Rome"}}));
}

TEST_F(TableReaderTest, ATopicThatIsGoneIsAnError) {
  create_compacted();
  read();
  ASSERT_TRUE(Admin(link_).delete_topic("a"));
  const auto stepped = reader_->step(milliseconds(0));
  ASSERT_FALSE(stepped);
  EXPECT_EQ(stepped.error().kind, ErrorKind::kUnknownTopic);
}

// Each of its partitions says that the old topic is gone.
TEST_F(TableReaderTest, ReadsAllPartitionsAgainAtOnceWhenTheTopicIsMadeAgain) {
  constexpr std::int32_t kPartitions = 16;
  for (const std::int32_t partitions_then : {kPartitions, 2}) {
    SCOPED_TRACE(partitions_then);
    create_compacted(kPartitions);
    for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
      fixture_.produce("a", {{.key = "old " + std::to_string(partition), .value = "v"}}, partition);
    }
    read();
    ASSERT_TRUE(Admin(link_).delete_topic("a"));
    create_compacted(partitions_then);
    fixture_.produce("a", {{.key = "new", .value = "v"}}, 1);
    step();
    EXPECT_EQ(missed_.size(), static_cast<std::size_t>(partitions_then));
    for (int steps = 0; rebuilt_.empty() && steps < 10; ++steps) step();
    EXPECT_EQ(rebuilt_.size(), static_cast<std::size_t>(kPartitions));
    EXPECT_EQ(gone().size(), static_cast<std::size_t>(kPartitions));
    EXPECT_EQ(rows(), (Rows{{"new", "v"}}));
    EXPECT_EQ(state().partitions.size(), static_cast<std::size_t>(partitions_then));
    ASSERT_TRUE(Admin(link_).delete_topic("a"));
  }
}

TEST_F(TableReaderTest, ADamagedBatchIsAnErrorAndWhatCameBesideItIsKept) {
  create_compacted(2);
  fixture_.produce("a", {{.key = "k", .value = "to be damaged"}}, 0);
  fixture_.produce("a", {{.key = "good", .value = "v"}}, 1);
  test::damage(fixture_, "a-0", "to be damaged");
  ASSERT_TRUE(open());
  for (int steps = 0; steps < 2; ++steps) {
    const auto stepped = reader_->step(milliseconds(0));
    ASSERT_FALSE(stepped);
    EXPECT_EQ(stepped.error().kind, ErrorKind::kCorruptBatch);
    EXPECT_EQ(stepped.error().text,
              "a partition 0, offset 0: the checksum of a batch does not hold");
  }
  const TableState saved = state();
  EXPECT_EQ(saved.partitions.at(0).position, 0);
  EXPECT_EQ(saved.partitions.at(1).position, 1);
  EXPECT_EQ(saved.partitions.at(1).table.at("good"), "v");
}

}  // namespace
}  // namespace lastword::client
