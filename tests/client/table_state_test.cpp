// SPDX-License-Identifier: Apache-2.0
#include "client/table_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace lastword::client {
namespace {

TableState example() {
  TableState state{.topic = "addresses"};
  state.topic_id.bytes.fill(std::byte{7});
  state.partitions.push_back({.partition = 0,
                              .position = 700,
                              .leader_epoch = 2,
                              .removed_tombstone_mark = 13,
                              .table = {{"c-7", "Tromso"}, {"", std::string("\0\xff", 2)}}});
  state.partitions.push_back({.partition = 4, .table = {{"empty", ""}}});
  return state;
}

TEST(TableState, IsReadAsItWasWritten) {
  const auto read = decode_table_state(encode_table_state(example()));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(*read, example());
}

TEST(TableState, NoDamagedByteGoesUnnoticed) {
  const Bytes whole = encode_table_state(example());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] ^= std::byte{1};
    EXPECT_FALSE(decode_table_state(damaged)) << "byte " << i;
    EXPECT_FALSE(decode_table_state(ByteView(whole).first(i))) << "cut at " << i;
  }
}

TEST(TableState, AMissingFileIsNoState) {
  const test::TemporaryDirectory folder;
  const auto loaded = load_table_state(folder / "state");
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->has_value());
}

TEST(TableState, IsReplacedWhole) {
  const test::TemporaryDirectory folder;
  const std::string path = folder / "state";
  ASSERT_TRUE(save_table_state(path, {.topic = "before"}));
  ASSERT_TRUE(save_table_state(path, example()));
  const auto loaded = load_table_state(path);
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ(loaded->value(), example());
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(TableState, ADamagedFileSaysWhatToDo) {
  const test::TemporaryDirectory folder;
  const std::string path = folder / "state";
  std::ofstream(path) << "something else";
  const auto loaded = load_table_state(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().text, path +
                                     " is damaged: its checksum does not hold; remove it to "
                                     "build the table from the log start");
}

TEST(TableState, AFolderThatIsNotThereIsNamed) {
  const auto saved = save_table_state("/nowhere/at/all", example());
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().text.find("/nowhere/at/all.new"), std::string::npos);
}

}  // namespace
}  // namespace lastword::client
