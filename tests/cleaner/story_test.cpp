// SPDX-License-Identifier: Apache-2.0
// The life of one deleted key, from its first value to the moment at which nothing is left of it.
#include <gtest/gtest.h>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::StoreFixture;

TEST(Story, OfOneDeletedKeyFromMondayToWednesday) {
  StoreFixture broker;  // Monday, 10:00
  ASSERT_TRUE(broker.start());
  broker.create("customer-addresses", {{"cleanup.policy", "compact"},
                                       {"segment.ms", std::to_string(16 * kHourMs)},
                                       {"min.compaction.lag.ms", std::to_string(17 * kHourMs)},
                                       {"delete.retention.ms", std::to_string(24 * kHourMs)}});
  const std::string topic = "customer-addresses";
  const TimestampMs monday = broker.clock.now_ms();
  const std::map<Offset, std::string> cities = {{0, "Oslo"}, {2, "Bergen"}, {5, "Tromso"}};
  for (Offset offset = 0; offset < 812; ++offset) {
    const auto city = cities.find(offset);
    ASSERT_EQ(city != cities.end() ? broker.put(topic, "c-7", city->second)
                                   : broker.put(topic, "other-" + std::to_string(offset), "x"),
              offset);
  }
  ASSERT_EQ(broker.put(topic, "c-7", std::nullopt), 812);

  // Monday 10:00: everything is in the active segment.
  EXPECT_EQ(broker.run_due(), monday + 16 * kHourMs);
  EXPECT_EQ(broker.closed_segments(topic), 0U);
  EXPECT_EQ(broker.read(topic).size(), 813U);
  EXPECT_FALSE(broker.table(topic).contains("c-7"));

  // Tuesday 02:00: the segment is closed by the clock, with no new produce.
  broker.clock.set(monday + 16 * kHourMs - 1);
  broker.run_due();
  EXPECT_EQ(broker.closed_segments(topic), 0U);
  broker.clock.set(monday + 16 * kHourMs);
  EXPECT_EQ(broker.run_due(), monday + 17 * kHourMs);
  EXPECT_EQ(broker.closed_segments(topic), 1U);
  EXPECT_EQ(broker.read(topic).size(), 813U);

  // Tuesday 03:00: the cleaner drops the values, and keeps and stamps the tombstone.
  broker.clock.set(monday + 17 * kHourMs - 1);
  broker.run_due();
  EXPECT_EQ(broker.read(topic).size(), 813U);
  broker.clock.set(monday + 17 * kHourMs);
  const TimestampMs wednesday = monday + 41 * kHourMs + 5 * kMinuteMs;
  EXPECT_EQ(broker.run_due(), wednesday);
  auto records = broker.read(topic);
  EXPECT_EQ(records.size(), 810U);
  EXPECT_EQ(records.back().offset, 812);
  EXPECT_TRUE(records.back().is_tombstone());
  EXPECT_EQ(test::headers_of(broker.read_bytes(topic)).back().delete_horizon(),
            monday + 41 * kHourMs);
  EXPECT_FALSE(broker.on_disk(topic, "Tromso"));
  EXPECT_EQ(broker.report(topic).tombstones_waiting, 1);
  EXPECT_EQ(broker.report(topic).next_horizon_ms, monday + 41 * kHourMs);
  EXPECT_EQ(broker.log(topic).offsets().removed_tombstone_mark, 0);

  // Wednesday 03:05: it is past delete.retention.ms and goes, with no new produce.
  broker.clock.set(wednesday - 1);
  broker.run_due();
  EXPECT_EQ(broker.read(topic).size(), 810U);
  broker.clock.set(wednesday);
  EXPECT_EQ(broker.run_due(), kUnlimited);
  records = broker.read(topic);
  EXPECT_EQ(records.size(), 809U);
  EXPECT_FALSE(broker.table(topic).contains("c-7"));
  EXPECT_FALSE(broker.on_disk(topic, "Oslo"));
  EXPECT_EQ(broker.log(topic).offsets().removed_tombstone_mark, 813);
  EXPECT_EQ(broker.log(topic).offsets().high_watermark, 813);
  EXPECT_EQ(broker.log(topic).offsets().log_start, 0);
}

}  // namespace
}  // namespace lastword::cleaner
