// SPDX-License-Identifier: Apache-2.0
// Where damage stands the rest of the log is looked through once: readers are to skip all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "cleaner/work.h"
#include "storage/file_cache.h"
#include "tests/cleaner/store_fixture.h"

namespace lastword::cleaner {
namespace {

using test::CallKind;
using test::fast_compacted;
using test::StoreFixture;

class ASurvey : public ::testing::Test {
 protected:
  static constexpr int kBatches = 3;

  void SetUp() override { ASSERT_TRUE(broker.start()); }
  void TearDown() override { broker.calls.release(); }
  /// Closed segments of three batches each, with bases 0, 3, 6, ...; no key comes twice.
  void topic(const std::string& name, const test::Settings& settings, int segments = 4) {
    broker.create(name, settings);
    for (int i = 0; i < segments * kBatches; ++i) {
      broker.put(name, "key" + std::to_string(100 + i), "v");
      if (i % kBatches == kBatches - 1) broker.roll(name);
    }
  }
  std::uint64_t position(const std::string& path, std::size_t batch) const {
    return batch * read_batch_header(broker.files.content(path))->size_bytes();
  }
  /// The header stays plausible: fetches that walk over headers do not see it.
  void damage(const std::string& name, std::size_t segment, std::size_t batch) {
    const std::string path = broker.segment_path(name, segment);
    broker.files.damage(path, position(path, batch) + 30, test::to_bytes("garbage"));
  }
  /// Every reader sees it.
  void blank(const std::string& name, std::size_t segment, std::size_t batch) {
    const std::string path = broker.segment_path(name, segment);
    broker.files.damage(path, position(path, batch), Bytes(position(path, 1)));
  }
  /// The first offsets of the damaged ranges, ascending.
  std::vector<Offset> listed(const std::string& name) const {
    std::vector<Offset> first_offsets;
    for (const auto& range : broker.log(name).view().damaged) {
      first_offsets.push_back(range.first_offset);
    }
    std::sort(first_offsets.begin(), first_offsets.end());
    return first_offsets;
  }
  std::string reason(const std::string& name) const {
    return broker.report(name).quarantine_reason;
  }

  StoreFixture broker{};
};

using Firsts = std::vector<Offset>;

TEST_F(ASurvey, ListsAndNamesWhatIsDamagedBehindTheFirst) {
  topic("x", fast_compacted());
  damage("x", 1, 1);
  damage("x", 1, 2);
  damage("x", 3, 0);
  damage("x", 3, 2);
  const std::string last = broker.segment_path("x", 3);
  broker.run_due();
  EXPECT_EQ(listed("x"), (Firsts{4, 9, 11}));
  EXPECT_NE(reason("x").find("offsets 4 to 5"), std::string::npos) << reason("x");
  EXPECT_TRUE(broker.said(last + ": no good batch at position 0"));
  EXPECT_TRUE(broker.said(last + ": no good batch at position " +
                          std::to_string(position(broker.segment_path("x", 0), 2))));
  EXPECT_EQ(broker.offsets_left("x"), (Firsts{0, 1, 2, 3, 6, 7, 8, 10}));
}

TEST_F(ASurvey, LooksAtWhatThePassDoesNotReadToo) {
  topic("x", fast_compacted());
  broker.run_due();
  ASSERT_EQ(broker.closed_segments("x"), 1U);
  broker.put("x", "new", "v");
  broker.roll("x");
  damage("x", 0, 7);
  damage("x", 1, 0);
  broker.advance(kMinuteMs);
  EXPECT_NE(reason("x").find("offsets 12 to 12"), std::string::npos) << reason("x");
  EXPECT_EQ(listed("x"), (Firsts{7, 12}));
}

TEST_F(ASurvey, ListsASegmentWhoseFileIsMissing) {
  topic("x", fast_compacted());
  damage("x", 0, 1);
  const std::string path = broker.segment_path("x", 2);
  ASSERT_TRUE(broker.files.remove(path));
  broker.store->environment().cache.drop(path);
  broker.run_due();
  EXPECT_EQ(listed("x"), (Firsts{1, 6}));
  EXPECT_EQ(broker.offsets_left("x"), (Firsts{0, 2, 3, 4, 5, 9, 10, 11}));
}

TEST_F(ASurvey, IsMadeAgainOnlyAfterDamageThatWasNotKnown) {
  topic("x", fast_compacted());
  damage("x", 0, 1);
  broker.run_due();
  ASSERT_EQ(listed("x"), (Firsts{1}));
  const std::string last = broker.segment_path("x", 3);
  damage("x", 3, 1);
  broker.calls.clear();
  broker.advance(kMinuteMs);
  broker.advance(2 * kMinuteMs);
  EXPECT_EQ(broker.calls.count(CallKind::kRead, last), 0U);
  EXPECT_GT(broker.calls.count(CallKind::kRead, broker.segment_path("x", 0)), 0U);
  blank("x", 2, 1);
  broker.read_bytes("x", 7);  // a reader finds it
  ASSERT_EQ(listed("x"), (Firsts{1, 7}));
  broker.advance(4 * kMinuteMs);
  EXPECT_EQ(listed("x"), (Firsts{1, 7, 10}));
  EXPECT_NE(reason("x").find("offsets 1 to 1"), std::string::npos) << reason("x");
}

TEST_F(ASurvey, IsNotRepeatedForDamageThatIsNoRange) {
  topic("x", fast_compacted());
  const Bytes epoch = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}};
  broker.files.damage(broker.segment_path("x", 0), 12, epoch);
  damage("x", 3, 1);
  broker.run_due();
  ASSERT_EQ(listed("x"), (Firsts{10}));
  EXPECT_NE(reason("x").find("the checksum of the whole file"), std::string::npos);
  // Without a range the pass itself is tried again, and ends at the same place.
  topic("y", fast_compacted());
  broker.files.damage(broker.segment_path("y", 0), 12, epoch);
  broker.run_due();
  broker.calls.clear();
  broker.advance(kMinuteMs);
  EXPECT_FALSE(reason("y").empty());
  EXPECT_EQ(broker.calls.count(CallKind::kRead, broker.segment_path("y", 3)), 0U);
}

TEST_F(ASurvey, FollowsAVerificationUnderEveryPolicy) {
  topic("x", {{"retention.ms", "3600000"}});
  blank("x", 0, 1);
  damage("x", 2, 1);
  broker.read_bytes("x", 1);
  ASSERT_EQ(listed("x"), (Firsts{1}));
  broker.run_due();
  EXPECT_EQ(listed("x"), (Firsts{1, 7}));
  EXPECT_TRUE(broker.said("x-0: is damaged: "));
}

TEST_F(ASurvey, IsMadeOnceMoreAfterARestart) {
  topic("x", fast_compacted());
  damage("x", 0, 1);
  broker.run_due();
  broker.stop();
  ASSERT_TRUE(broker.start());
  damage("x", 3, 1);
  broker.run_due();
  EXPECT_EQ(listed("x"), (Firsts{1, 10}));
}

TEST_F(ASurvey, ThatWasCancelledIsMadeAtTheNextTry) {
  topic("x", fast_compacted());
  damage("x", 0, 1);
  damage("x", 3, 1);
  Work work(*broker.store, broker.options, {});
  ASSERT_TRUE(work.look().pass_wanted);
  broker.calls.hold(CallKind::kRead, broker.segment_path("x", 3));
  std::thread pass([&] { EXPECT_TRUE(work.run_next_pass()); });
  EXPECT_TRUE(broker.calls.wait_until_held());
  work.cancel();
  broker.calls.release();
  pass.join();
  EXPECT_EQ(listed("x"), (Firsts{1}));
  work.resume();
  broker.clock.advance(kMinuteMs);
  ASSERT_TRUE(work.look().pass_wanted);
  EXPECT_TRUE(work.run_next_pass());
  EXPECT_EQ(listed("x"), (Firsts{1, 10}));
}

TEST_F(ASurvey, IsNotHeldUpByAFileThatCannotBeRead) {
  topic("x", fast_compacted());
  damage("x", 0, 1);
  damage("x", 3, 1);
  // The reads of segment 0 by the pass and the survey, then the one of segment 1.
  broker.calls.fail_call(CallKind::kRead, 3);
  broker.run_due();
  EXPECT_TRUE(broker.said(broker.segment_path("x", 1) + ": made to fail"));
  EXPECT_EQ(listed("x"), (Firsts{1, 10}));
}

}  // namespace
}  // namespace lastword::cleaner
