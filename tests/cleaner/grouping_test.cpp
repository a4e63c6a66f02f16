// SPDX-License-Identifier: Apache-2.0
#include "cleaner/grouping.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cleaner/log_views.h"

namespace lastword::cleaner {
namespace {

using storage::SegmentInfo;

std::vector<SegmentInfo> of_sizes(const std::vector<std::int64_t>& sizes) {
  std::vector<SegmentInfo> segments;
  Offset base = 0;
  for (const std::int64_t bytes : sizes) {
    segments.push_back(test::segment_info({.base = base, .end = base + 10, .bytes = bytes}));
    base += 10;
  }
  return segments;
}

TEST(Grouping, SmallNeighboursBecomeOne) {
  EXPECT_EQ(runs_to_merge(of_sizes({10, 10, 10}), {}), (std::vector<MergeRun>{{0, 3}}));
}

TEST(Grouping, NothingIsMergedBeyondTheSizeOfASegment) {
  const GroupLimits limits{.segment_bytes = 20};
  EXPECT_EQ(runs_to_merge(of_sizes({10, 10, 10}), limits), (std::vector<MergeRun>{{0, 2}}));
  EXPECT_TRUE(runs_to_merge(of_sizes({15, 15, 15}), limits).empty());
}

TEST(Grouping, ALargeNeighbourIsNotCopiedForSmallOnes) {
  EXPECT_TRUE(runs_to_merge(of_sizes({1000, 1}), {}).empty());
  EXPECT_TRUE(runs_to_merge(of_sizes({1, 1000}), {}).empty());
  EXPECT_EQ(runs_to_merge(of_sizes({1000, 1, 1}), {}), (std::vector<MergeRun>{{1, 2}}));
  EXPECT_EQ(runs_to_merge(of_sizes({1000, 300, 200}), {}), (std::vector<MergeRun>{{0, 3}}));
}

TEST(Grouping, OffsetsTooFarApartStayApart) {
  auto segments = of_sizes({10, 10});
  segments[1].base_offset = 5;
  segments[1].last_offset = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(runs_to_merge(segments, {}).size(), 1U);
  segments[1].last_offset += 1;
  EXPECT_TRUE(runs_to_merge(segments, {}).empty());
}

TEST(Grouping, IndexesThatWouldNotFitStayApart) {
  const GroupLimits limits{.segment_index_bytes = 120, .index_interval_bytes = 100};
  EXPECT_EQ(runs_to_merge(of_sizes({300, 300, 300}), limits), (std::vector<MergeRun>{{0, 2}}));
}

TEST(Grouping, EmptySegmentsMerge) {
  EXPECT_EQ(runs_to_merge(of_sizes({0, 0, 0}), {}), (std::vector<MergeRun>{{0, 3}}));
}

TEST(Grouping, ATrickleEndsInAHandfulOfFilesAndCopiesEachByteAFewTimes) {
  std::vector<SegmentInfo> segments;
  std::int64_t copied_bytes = 0;
  for (Offset i = 0; i < 1000; ++i) {
    segments.push_back(test::segment_info({.base = i, .end = i + 1, .bytes = 100}));
    for (const MergeRun& run : runs_to_merge(segments, {})) {
      SegmentInfo merged = segments[run.first];
      for (std::size_t k = 1; k < run.count; ++k) {
        merged.size_bytes += segments[run.first + k].size_bytes;
        merged.last_offset = segments[run.first + k].last_offset;
      }
      copied_bytes += static_cast<std::int64_t>(merged.size_bytes);
      segments[run.first] = merged;
      segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(run.first) + 1,
                     segments.begin() + static_cast<std::ptrdiff_t>(run.first + run.count));
      break;
    }
    ASSERT_LE(segments.size(), 12U);
  }
  EXPECT_LT(copied_bytes, 100 * 1000 * 20);
}

}  // namespace
}  // namespace lastword::cleaner
