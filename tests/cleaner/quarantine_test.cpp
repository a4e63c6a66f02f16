// SPDX-License-Identifier: Apache-2.0
// A partition that cannot be cleaned is named, left alone and tried again; the others go on.
#include <gtest/gtest.h>

#include "cleaner/partition_state.h"
#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::CrashKind;
using test::fast_compacted;
using test::StoreFixture;

class InQuarantine : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(broker.start()); }

  /// Two values of one key in a closed segment, of which the second is then damaged.
  void damaged_topic(const std::string& name) {
    broker.create(name, fast_compacted());
    broker.put(name, "a", "1");
    broker.put(name, "b", "1");
    broker.put(name, "a", "2");
    broker.roll(name);
    path_ = broker.segment_path(name, 0);
    good_ = broker.files.content(path_);
    position_ = read_batch_header(good_)->size_bytes();
    broker.files.damage(path_, position_ + 30, test::to_bytes("garbage"));
  }
  void repair() { broker.files.damage(path_, 0, good_); }
  /// As a person does it: a copy gets the file's name.
  void restore() {
    const std::string copy = path_ + ".copy";
    const auto file = broker.files.open(copy, storage::OpenMode::kCreate);
    ASSERT_TRUE(file && (*file)->write_at(0, good_));
    ASSERT_TRUE(broker.files.rename(copy, path_));
  }

  StoreFixture broker{};
  std::string path_{};
  Bytes good_{};
  std::uint64_t position_ = 0;
};

TEST_F(InQuarantine, TheReasonNamesFilePositionAndOffsetsAndOthersGoOn) {
  damaged_topic("x");
  broker.create("y", fast_compacted());
  broker.put("y", "a", "1");
  broker.put("y", "a", "2");
  broker.advance(1000);
  EXPECT_EQ(broker.offsets_left("y"), (std::vector<Offset>{1}));
  const std::string reason = broker.report("x").quarantine_reason;
  EXPECT_NE(reason.find(path_), std::string::npos) << reason;
  EXPECT_NE(reason.find("position " + std::to_string(position_)), std::string::npos) << reason;
  EXPECT_NE(reason.find("offsets 1 to 1"), std::string::npos) << reason;
  EXPECT_EQ(broker.report("x").quarantine_retry_ms, broker.clock.now_ms() + kMinuteMs);
  // Readers get what is good, and nothing was dropped.
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{0, 2}));
}

TEST_F(InQuarantine, CleaningGoesOnAfterARepairWithoutARestart) {
  damaged_topic("x");
  broker.run_due();
  ASSERT_FALSE(broker.report("x").quarantine_reason.empty());
  repair();
  broker.advance(kMinuteMs - 1);
  EXPECT_FALSE(broker.report("x").quarantine_reason.empty());
  broker.advance(1);
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{1, 2}));
}

TEST_F(InQuarantine, AFileThatIsRestoredUnderItsNameIsReadAnew) {
  damaged_topic("x");
  broker.run_due();
  ASSERT_FALSE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{0, 2}));
  restore();
  broker.advance(kMinuteMs);
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty()) << broker.lines.back();
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{1, 2}));
}

TEST_F(InQuarantine, DamageIsReadAgainUnderEveryPolicy) {
  broker.create("x", {{"retention.ms", "3600000"}});
  for (const char* value : {"1", "2", "3"}) broker.put("x", "a", value);
  broker.roll("x");
  path_ = broker.segment_path("x", 0);
  good_ = broker.files.content(path_);
  const auto second = read_batch_header(good_)->size_bytes();
  broker.files.damage(path_, second, Bytes(second));
  broker.read_bytes("x", 1);  // a reader finds it
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{0, 2}));
  broker.run_due();
  EXPECT_NE(broker.report("x").quarantine_reason.find("offsets 1 to 1"), std::string::npos);
  EXPECT_TRUE(broker.said("x-0: is damaged: "));
  restore();
  broker.advance(kMinuteMs);
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{0, 1, 2}));
  broker.advance(kHourMs);
  EXPECT_EQ(broker.log("x").offsets().log_start, 3);
}

TEST_F(InQuarantine, AWaitNeverOutlastsAClockThatGoesBack) {
  const auto options = std::make_shared<const TopicOptions>();
  const TimestampMs now = 1'000'000'000;
  const std::optional<Quarantine> state =
      quarantined({}, {ErrorKind::kDamaged, "bad"}, now, options);
  EXPECT_TRUE(holds(state, now, options));
  EXPECT_TRUE(holds(state, now + kMinuteMs - 1, options));
  EXPECT_FALSE(holds(state, now + kMinuteMs, options));
  EXPECT_FALSE(holds(state, now - 48 * kHourMs, options));
}

TEST_F(InQuarantine, AChangeOfSettingsTriesAgainAtOnce) {
  damaged_topic("x");
  broker.run_due();
  repair();
  broker.log("x").set_options(std::make_shared<const TopicOptions>(*broker.log("x").options()));
  broker.run_due();
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{1, 2}));
}

TEST_F(InQuarantine, TheWaitGrowsFromAMinuteToAnHour) {
  std::optional<Quarantine> state;
  TimestampMs now = 0;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 9; ++i) {
    state = quarantined(state, {ErrorKind::kDamaged, "bad"}, now, nullptr);
    waits.push_back(state->retry_ms - now);
    now = state->retry_ms;
  }
  EXPECT_EQ(waits.front(), kMinuteMs);
  EXPECT_EQ(waits[1], 2 * kMinuteMs);
  EXPECT_EQ(waits.back(), kHourMs);
  EXPECT_EQ(state->since_ms, 0);
  EXPECT_EQ(quarantined({}, {ErrorKind::kDiskFull, "full"}, 0, nullptr).retry_ms, 10 * kSecondMs);
}

TEST_F(InQuarantine, ATombstoneIsNotDroppedWhileDamageStands) {
  broker.create("x", fast_compacted());
  broker.put("x", "a", "1");
  broker.put("x", "b", "1");
  broker.put("x", "a", std::nullopt);
  broker.advance(1000);
  broker.files.damage(broker.segment_path("x", 0), 30, test::to_bytes("garbage"));
  broker.advance(6000);
  EXPECT_FALSE(broker.report("x").quarantine_reason.empty());
  broker.advance(24 * kHourMs);
  const auto records = broker.read("x");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_TRUE(records.front().is_tombstone());
}

TEST_F(InQuarantine, AChangedBaseOffsetIsFoundThoughNoChecksumOfABatchSeesIt) {
  broker.create("x", fast_compacted());
  broker.put("x", "a", "1");
  broker.put("x", "a", "2");
  broker.roll("x");
  const std::string path = broker.segment_path("x", 0);
  const Bytes good = broker.files.content(path);
  const Bytes epoch = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}};
  broker.files.damage(path, 12, epoch);
  broker.run_due();
  EXPECT_NE(broker.report("x").quarantine_reason.find(path), std::string::npos);
  EXPECT_EQ(broker.read("x").size(), 2U);
  path_ = path;
  good_ = good;
  restore();
  broker.advance(kMinuteMs);
  broker.advance(2 * kMinuteMs);
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.read("x").size(), 1U);
}

TEST_F(InQuarantine, AFullDiskLeavesEverythingAsItWasAndIsTriedAgainSoon) {
  broker.create("x", fast_compacted());
  for (int i = 0; i < 20; ++i) broker.put("x", "a" + std::to_string(i), std::string(10000, 'v'));
  for (int i = 0; i < 10; ++i) broker.put("x", "a" + std::to_string(i), std::string(10000, 'w'));
  broker.roll("x");
  const auto before = broker.read("x");
  broker.files.limit_space(broker.files.space_used() + 5000);
  broker.run_due();
  EXPECT_EQ(broker.read("x"), before);
  EXPECT_FALSE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.report("x").quarantine_retry_ms, broker.clock.now_ms() + 10 * kSecondMs);
  broker.files.limit_space(std::uint64_t{1} << 40);
  broker.advance(10 * kSecondMs);
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.read("x").size(), 20U);
}

TEST_F(InQuarantine, AFullDiskIsMadeEmptierFromTheReserve) {
  broker.stop();
  broker.options.limits.disk_reserve_bytes = kMebibyte;
  ASSERT_TRUE(broker.start());
  broker.create("x", fast_compacted());
  for (int i = 0; i < 50; ++i) broker.put("x", "a", std::string(10000, 'v'));
  broker.roll("x");
  broker.files.limit_space(broker.files.space_used());
  broker.run_due();
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty());
  EXPECT_EQ(broker.read("x").size(), 1U);
}

TEST_F(InQuarantine, ARangeThatWasBadWhenItsSegmentWasSummedUpIsCleanedAfterItsRepair) {
  broker.create("x", fast_compacted());
  for (int i = 0; i < 3; ++i) broker.put("x", "a", std::to_string(i));
  const std::string directory = broker.log("x").identity().directory;
  const std::string path =
      storage::path_in(directory, storage::segment_file_name({0, 0, storage::SegmentFile::kLog}));
  const Bytes good = broker.files.content(path);
  const std::uint64_t second = read_batch_header(good)->size_bytes();
  broker.crash(CrashKind::kProcess);
  broker.files.damage(path, second + 30, test::to_bytes("garbage"));
  ASSERT_TRUE(broker.start());
  // The start found it, with a good batch behind it, in the segment that was active.
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{0, 2}));
  broker.advance(1000);
  EXPECT_FALSE(broker.report("x").quarantine_reason.empty());
  broker.files.damage(path, 0, ByteView(good).first(second * 2));
  broker.advance(kMinuteMs);
  EXPECT_TRUE(broker.report("x").quarantine_reason.empty()) << broker.lines.back();
  EXPECT_EQ(broker.offsets_left("x"), (std::vector<Offset>{2}));
}

/// A segment in which nothing goes is not written again: its row must tell of the good bytes.
TEST_F(InQuarantine, AfterARepairEveryLaterPassGoesOnToo) {
  for (const bool while_active : {true, false}) {
    SCOPED_TRACE(while_active ? "repaired while active" : "repaired once closed");
    const std::string name = while_active ? "x" : "y";
    broker.create(name, fast_compacted());
    for (const char* key : {"a", "b", "c"}) broker.put(name, key, "1");
    const std::string path =
        storage::path_in(broker.log(name).identity().directory,
                         storage::segment_file_name({0, 0, storage::SegmentFile::kLog}));
    const Bytes good = broker.files.content(path);
    const std::uint64_t second = read_batch_header(good)->size_bytes();
    broker.crash(CrashKind::kProcess);
    broker.files.damage(path, second + 30, test::to_bytes("garbage"));
    ASSERT_TRUE(broker.start());
    ASSERT_EQ(broker.log(name).view().damaged.size(), 1U);
    const auto repair_file = [&] {
      broker.files.damage(path, 0, ByteView(good).first(second * 2));
    };
    if (while_active) repair_file();
    broker.advance(1000);
    repair_file();
    broker.advance(kMinuteMs);
    EXPECT_TRUE(broker.report(name).quarantine_reason.empty());
    EXPECT_EQ(broker.offsets_left(name), (std::vector<Offset>{0, 1, 2}));
    for (int i = 0; i < 2; ++i) {
      broker.put(name, "d", std::to_string(i));
      broker.advance(kMinuteMs);
      EXPECT_EQ(broker.report(name).quarantine_reason, "");
    }
    EXPECT_EQ(broker.offsets_left(name), (std::vector<Offset>{0, 1, 2, 4}));
    broker.stop();
    ASSERT_TRUE(broker.start());
    broker.put(name, "d", "2");
    broker.advance(kMinuteMs);
    EXPECT_EQ(broker.report(name).quarantine_reason, "");
  }
}

}  // namespace
}  // namespace lastword::cleaner
