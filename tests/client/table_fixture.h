// SPDX-License-Identifier: Apache-2.0
// A table reader of topic "a", and what it reports.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/table_reader.h"
#include "tests/support/broker_fixture.h"

namespace lastword::client {

class TableReaderTest : public testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;
  using Rows = std::map<std::string, std::string>;
  using Keys = std::vector<std::string>;

  void create_compacted(int partitions = 1) {
    fixture_.create_topic("a", partitions,
                          {{"cleanup.policy", "compact"},
                           {"segment.ms", "1000"},
                           {"min.cleanable.dirty.ratio", "0"},
                           {"delete.retention.ms", "60000"}});
  }
  void put(const std::string& key, const Field& value) { fixture_.produce("a", key, value); }

  /// Until every tombstone written so far is gone, and the values that it deleted.
  void remove_tombstones() {
    fixture_.advance(1001);    // closed, compacted, stamped
    fixture_.advance(70'000);  // past delete.retention.ms, and what passes may be late
  }

  Result<> open(std::optional<TableState> state = {}, Consumer::Options consumer = {}) {
    missed_.clear();
    rebuilt_.clear();
    changes_.clear();
    auto reader = TableReader::open(
        link_, "a",
        {.consumer = consumer,
         .state = std::move(state),
         .on_change =
             [this](const TableChange& change) {
               changes_.push_back(change.key + ": " + (change.old_value ? *change.old_value : "-") +
                                  " > " + (change.value ? *change.value : "-"));
             },
         .on_missed = [this](std::int32_t, const std::string& why) { missed_.push_back(why); },
         .on_rebuilt = [this](const Rebuilt& rebuilt) { rebuilt_.push_back(rebuilt); }});
    if (!reader) return reader.error();
    reader_ = *std::move(reader);
    return {};
  }
  void step() {
    const auto stepped = reader_->step(milliseconds(0));
    ASSERT_TRUE(stepped) << stepped.error().text;
  }
  void catch_up() {
    for (int steps = 0; !reader_->caught_up(); ++steps) {
      ASSERT_LT(steps, 1000);
      step();
    }
  }
  void read(std::optional<TableState> state = {}) {
    const auto opened = open(std::move(state));
    ASSERT_TRUE(opened) << opened.error().text;
    catch_up();
  }
  /// One batch a fetch.
  void begin_slow_scan() {
    ASSERT_TRUE(open({}, {.partition_bytes_max = 1}));
    step();
  }
  Rows rows() const {
    Rows rows;
    reader_->for_each([&](const std::string& key, const std::string& value) { rows[key] = value; });
    return rows;
  }
  std::vector<std::string> gone() const {
    std::vector<std::string> keys;
    for (const Rebuilt& rebuilt : rebuilt_) {
      keys.insert(keys.end(), rebuilt.gone.begin(), rebuilt.gone.end());
    }
    return keys;
  }
  TableState state() const { return reader_->state().value(); }

  test::BrokerFixture fixture_{};
  Link link_{fixture_.connection()};
  std::unique_ptr<TableReader> reader_{};
  std::vector<std::string> missed_{};
  std::vector<Rebuilt> rebuilt_{};
  std::vector<std::string> changes_{};
};

}  // namespace lastword::client
