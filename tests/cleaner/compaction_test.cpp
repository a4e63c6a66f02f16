// SPDX-License-Identifier: Apache-2.0
// Compaction that does not run, never ends, deletes the wrong thing, or leaves holes in which
// readers hang. Cleaner and Log together, under manual time; each test is named by its symptom.
#include <gtest/gtest.h>

#include <random>

#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::CrashKind;
using test::fast_compacted;
using test::StoreFixture;
using Offsets = std::vector<Offset>;

const auto kNull = std::nullopt;

class Compaction : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }
  void topic(const test::Settings& more = {}) { broker.create("t", fast_compacted(more)); }
  void memory(std::int64_t bytes) {
    broker.options.cleaner.memory_bytes = bytes;
    broker.cleaner->set_options(broker.options);
  }
  StoreFixture broker{};
};

TEST_F(Compaction, RunsOnAnIdleTopicWithoutAnotherProduce) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{1}));
}

TEST_F(Compaction, NeverTouchesTheActiveSegment) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.roll("t");
  broker.put("t", "a", "3");
  broker.put("t", "a", "4");
  broker.run_due();
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{1, 2, 3}));
}

TEST_F(Compaction, MaxLagErasesASecretWhateverRatioAndSize) {
  broker.create("t", {{"cleanup.policy", "compact"},
                      {"min.cleanable.dirty.ratio", "0.99"},
                      {"max.compaction.lag.ms", "2000"}});
  broker.put("t", "u1", "secret");
  broker.put("t", "u1", kNull);
  broker.advance(1999);
  EXPECT_TRUE(broker.on_disk("t", "secret"));
  broker.advance(2);
  EXPECT_FALSE(broker.on_disk("t", "secret"));
}

TEST_F(Compaction, MoreKeysThanTheMapHoldsTakeMoreRoundsAndLoseNothing) {
  topic();
  memory(1000 * 24);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i) {
      test::BatchSpec spec;
      for (int k = 0; k < 1000; ++k) {
        spec.records.push_back({"key-" + std::to_string(i * 1000 + k), std::to_string(round)});
      }
      broker.append("t", spec);
    }
  }
  broker.advance(1000);
  const auto records = broker.read("t");
  EXPECT_EQ(records.size(), 5000U);
  for (const auto& record : records) EXPECT_EQ(record.value, "1");
  EXPECT_GE(broker.report("t").last_pass.rounds, 5);
}

TEST_F(Compaction, AMapOfOneKeyStillMakesProgress) {
  topic();
  memory(1);
  for (int i = 0; i < 4; ++i) broker.put("t", "k" + std::to_string(i % 2), std::to_string(i));
  broker.append("t", {.records = {{"k0", "x"}, {"k1", "y"}, {"k0", "z"}}, .codec = Codec::kLz4});
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{5, 6}));
}

TEST_F(Compaction, KeylessRecordsFromAnotherPolicyGoAndStopNothing) {
  broker.create("t", {{"cleanup.policy", "delete"}, {"segment.ms", "1000"}});
  broker.append("t", {.records = {{kNull, "v"}, {"a", "1"}}});
  broker.put("t", "a", "2");
  auto options = *broker.log("t").options();
  options.cleanup_policy = {.remove = false, .compact = true};
  broker.log("t").set_options(std::make_shared<const TopicOptions>(options));
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{2}));
  EXPECT_TRUE(broker.said("1 record had no key"));
}

TEST_F(Compaction, AThousandRoundsOfTheSameKeysEndInAHandfulOfFiles) {
  topic();
  for (int round = 0; round < 1000; ++round) {
    test::BatchSpec spec;
    for (int k = 0; k < 10; ++k) spec.records.push_back({"k" + std::to_string(k), "v"});
    broker.append("t", spec);
    broker.advance(1000);
  }
  EXPECT_EQ(broker.read("t").size(), 10U);
  EXPECT_LE(broker.closed_segments("t"), 5U);
}

TEST_F(Compaction, ManySmallSegmentsOfLiveKeysAreMerged) {
  topic({{"max.compaction.lag.ms", "1000000"}, {"segment.ms", "1000000"}});
  for (int i = 0; i < 200; ++i) {
    broker.put("t", "key-" + std::to_string(i), "v");
    broker.roll("t");
  }
  broker.run_due();
  EXPECT_EQ(broker.read("t").size(), 200U);
  EXPECT_LE(broker.closed_segments("t"), 3U);
}

TEST_F(Compaction, ASegmentInWhichNothingChangesIsNotRewritten) {
  topic({{"segment.bytes", "10000"}});
  for (int i = 0; i < 100; ++i) broker.put("t", "live-" + std::to_string(i), std::string(500, 'v'));
  broker.advance(1000);
  const std::int64_t segments = static_cast<std::int64_t>(broker.closed_segments("t"));
  EXPECT_GT(segments, 3);
  broker.put("t", "live-99", "again");
  broker.advance(1000);
  EXPECT_LE(broker.report("t").last_pass.segments_rewritten, 3);
  EXPECT_EQ(broker.read("t").size(), 100U);
}

TEST_F(Compaction, AnUntouchedBatchKeepsItsBytes) {
  topic();
  broker.append("t", {.records = {{"a", "1"}, {"b", "2"}}, .codec = Codec::kGzip});
  broker.put("t", "c", "1");
  broker.put("t", "c", "2");
  const auto before = test::headers_of(broker.read_bytes("t"));
  broker.advance(1000);
  const auto after = test::headers_of(broker.read_bytes("t"));
  EXPECT_EQ(after.front(), before.front());
}

TEST_F(Compaction, AHoleAtTheEndOfASegmentDoesNotStopAReader) {
  topic();
  for (int i = 0; i < 100; ++i) broker.put("t", "u" + std::to_string(i), "v");
  broker.put("t", "a", "1");  // 100
  broker.put("t", "b", "1");  // 101
  broker.roll("t");
  broker.put("t", "a", "2");
  broker.put("t", "b", "2");
  broker.roll("t");
  broker.run_due();
  for (const Offset from : {100, 101}) {
    EXPECT_EQ(test::records_of(broker.read_bytes("t", from)).front().offset, 102);
  }
}

TEST_F(Compaction, AHoleInsideABatchKeepsItsFirstAndLastOffset) {
  for (const Codec codec :
       {Codec::kNone, Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    SCOPED_TRACE(codec_name(codec));
    const std::string name = "t" + std::to_string(static_cast<int>(codec));
    broker.create(name, fast_compacted());
    test::BatchSpec spec{.records = {}, .codec = codec};
    for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) spec.records.push_back({key, "1"});
    broker.append(name, spec);
    broker.append(name, {.records = {{"e", "2"}, {"f", "2"}, {"g", "2"}}, .codec = codec});
    broker.advance(1000);
    const auto headers = test::headers_of(broker.read_bytes(name));
    ASSERT_EQ(headers.size(), 2U);
    EXPECT_EQ(headers[0].base_offset, 0);
    EXPECT_EQ(headers[0].last_offset_delta, 6);
    EXPECT_EQ(headers[0].record_count, 4);
    EXPECT_EQ(headers[0].codec(), codec);
    for (const Offset from : {4, 5, 6}) {
      EXPECT_GE(test::headers_of(broker.read_bytes(name, from)).front().last_offset(), from);
    }
  }
}

TEST_F(Compaction, TheLastOffsetStaysReachableWhenItsRecordIsGone) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "b", "1");
  broker.put("t", "b", kNull);
  broker.advance(1000);
  broker.advance(5500);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{0}));
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 3);
  EXPECT_EQ(test::headers_of(broker.read_bytes("t")).back().last_offset(), 2);
  broker.restart_after_crash(CrashKind::kPower);
  EXPECT_EQ(broker.log("t").offsets().high_watermark, 3);
  EXPECT_EQ(test::headers_of(broker.read_bytes("t")).back().last_offset(), 2);
  EXPECT_EQ(broker.put("t", "c", "1"), 3);
}

TEST_F(Compaction, NeverMovesLogStart) {
  topic();
  for (int i = 0; i < 100; ++i) broker.put("t", "k", std::to_string(i));
  broker.advance(1000);
  EXPECT_EQ(broker.log("t").offsets().log_start, 0);
  EXPECT_EQ(test::records_of(broker.read_bytes("t", 50)).front().offset, 99);
}

TEST_F(Compaction, AResentBatchIsADuplicateThoughItsRecordsAreGone) {
  topic();
  for (int i = 0; i < 5; ++i) {
    broker.append("t",
                  {.records = {{"a", std::to_string(i)}}, .producer_id = 1, .base_sequence = i});
  }
  broker.append("t", {.records = {{"a", "other"}}, .producer_id = 2});
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{5}));
  broker.restart_after_crash(CrashKind::kPower);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(
        broker.append(
            "t", {.records = {{"a", std::to_string(i)}}, .producer_id = 1, .base_sequence = i}),
        i)
        << broker.last_error;
  }
  EXPECT_EQ(broker.log("t").offsets().log_end, 6);
  EXPECT_EQ(broker.append("t", {.records = {{"a", "5"}}, .producer_id = 1, .base_sequence = 5}), 6);
}

TEST_F(Compaction, GapsAtTheEndsOfSegmentsDoNotCleanTheSameRangeForEver) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "b", "1");
  broker.roll("t");
  broker.put("t", "b", "2");
  broker.roll("t");
  broker.run_due();
  EXPECT_EQ(broker.log("t").view().clean_end, 3);
  const TimestampMs at = broker.report("t").last_pass.at_ms;
  broker.advance(100000);
  EXPECT_EQ(broker.report("t").last_pass.at_ms, at);
  EXPECT_FALSE(broker.report("t").skip_reason.empty());
}

TEST_F(Compaction, LogStartBeyondCleanEndIsNoEndlessLoop) {
  topic();
  for (int i = 0; i < 10; ++i) broker.put("t", "a", std::to_string(i));
  ASSERT_TRUE(broker.log("t").drop_before(10));
  broker.advance(100000);
  EXPECT_TRUE(broker.report("t").quarantine_reason.empty());
  EXPECT_EQ(broker.put("t", "a", "x"), 10);
  broker.advance(1000);
  EXPECT_EQ(broker.table("t").at("a"), "x");
}

TEST_F(Compaction, ATopicMadeAgainStartsWithNothingClean) {
  topic();
  for (int i = 0; i < 5; ++i) broker.put("t", "a", std::to_string(i));
  broker.advance(1000);
  ASSERT_TRUE(broker.store->remove("t"));
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{1}));
}

TEST_F(Compaction, MinLagKeepsWhatIsRecent) {
  topic({{"min.compaction.lag.ms", "10000"}, {"max.compaction.lag.ms", "9223372036854775807"}});
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.advance(9999);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{0, 1}));
  broker.advance(1);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{1}));
}

TEST_F(Compaction, ABatchLargerThanTheLimitOfTodayIsCleaned) {
  topic();
  broker.put("t", "a", std::string(3'000'000, 'x'));
  broker.put("t", "b", std::string(3'000'000, 'y'));
  auto options = *broker.log("t").options();
  options.max_message_bytes = 1000;
  broker.log("t").set_options(std::make_shared<const TopicOptions>(options));
  broker.put("t", "a", "small");
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{1, 2}));
}

TEST_F(Compaction, PreallocatedSegmentsKeepNoZerosBehindTheirData) {
  topic({{"preallocate", "true"}, {"segment.bytes", "1048576"}});
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  broker.advance(1000);
  broker.put("t", "a", "3");
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("t"), (Offsets{2}));
  EXPECT_LT(broker.files.content(broker.segment_path("t", 0)).size(), 1000U);
}

TEST_F(Compaction, ChangingThePolicyToDeleteStopsIt) {
  topic();
  broker.put("t", "a", "1");
  broker.put("t", "a", "2");
  auto options = *broker.log("t").options();
  options.cleanup_policy = {.remove = true, .compact = false};
  broker.log("t").set_options(std::make_shared<const TopicOptions>(options));
  broker.advance(10000);
  EXPECT_EQ(broker.read("t").size(), 2U);
}

TEST_F(Compaction, TheTableIsThatOfTheProducerAfterRandomHistories) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::string name = "t" + std::to_string(seed);
    broker.create(name, fast_compacted({{"segment.bytes", "20000"}}));
    memory(seed == 2 ? 24 * 20 : 1 << 20);
    std::map<std::string, std::string> model;
    for (int i = 0; i < 2000; ++i) {
      test::BatchSpec spec{.records = {}, .codec = static_cast<Codec>(random() % 5)};
      for (auto n = 1 + random() % 5; n > 0; --n) {
        const std::string key = "key-" + std::to_string(random() % 100);
        if (random() % 20 == 0) {
          spec.records.push_back({key, kNull});
          model.erase(key);
        } else {
          spec.records.push_back({key, std::to_string(i)});
          model[key] = std::to_string(i);
        }
      }
      ASSERT_GE(broker.append(name, spec), 0) << broker.last_error;
      if (random() % 50 == 0) broker.advance(static_cast<std::int64_t>(random() % 4000));
      if (random() % 500 == 0) broker.restart_after_crash(CrashKind::kPower, random());
    }
    broker.advance(1000);
    EXPECT_EQ(broker.table(name), model);
    broker.advance(6000);
    EXPECT_EQ(broker.table(name), model);
    EXPECT_EQ(broker.read(name).size(), model.size());
  }
}

}  // namespace
}  // namespace lastword::cleaner
