// SPDX-License-Identifier: Apache-2.0
// Views of logs that exist only as numbers, for the pure parts of the cleaner.
//
// Purpose   test::LogViewBuilder().closed({.base = 0, .end = 10}).active({...}).view()
// Threads   one test.
// Lifetime  values.
#pragma once

#include <algorithm>
#include <memory>

#include "storage/log.h"

namespace lastword::test {

struct SegmentSpec {
  Offset base = 0;
  Offset end = 0;  // last offset + 1; equal to base: nothing in it
  std::int64_t bytes = 100;
  TimestampMs timestamp = 0;  // the largest
  TimestampMs appended_first = 0;
  TimestampMs appended_last = 0;
  TimestampMs horizon = storage::kNoHorizon;
};

inline storage::SegmentInfo segment_info(const SegmentSpec& spec) {
  storage::SegmentInfo info;
  info.base_offset = spec.base;
  info.last_offset = spec.end - 1;
  info.records = spec.end - spec.base;
  info.size_bytes = static_cast<std::uint64_t>(spec.end == spec.base ? 0 : spec.bytes);
  info.max_timestamp = spec.timestamp;
  info.first_append_ms = spec.appended_first;
  info.last_append_ms = spec.appended_last;
  info.earliest_horizon = spec.horizon;
  if (spec.horizon != storage::kNoHorizon) info.stamped_tombstones = 1;
  return info;
}

/// Closed segments in order, then the active one, which is empty unless given.
class LogViewBuilder {
 public:
  LogViewBuilder& closed(const SegmentSpec& spec) {
    auto segment = std::make_shared<storage::Segment>();
    segment->info = segment_info(spec);
    closed_.push_back(std::move(segment));
    end_ = std::max(end_, spec.end);
    return *this;
  }
  LogViewBuilder& active(const SegmentSpec& spec) {
    active_ = segment_info(spec);
    has_active_ = true;
    end_ = std::max(end_, spec.end);
    return *this;
  }
  LogViewBuilder& clean_end(Offset offset) {
    clean_end_ = offset;
    return *this;
  }
  LogViewBuilder& log_start(Offset offset) {
    log_start_ = offset;
    return *this;
  }
  LogViewBuilder& high_watermark(Offset offset) {
    high_watermark_ = offset;
    return *this;
  }
  LogViewBuilder& damaged(const storage::DamagedRange& range) {
    damaged_.push_back(range);
    return *this;
  }
  TopicOptions options{};

  storage::LogView view() const {
    storage::LogView view;
    view.closed = std::make_shared<const storage::SegmentList>(closed_);
    view.active = has_active_ ? active_ : segment_info({.base = end_, .end = end_});
    view.offsets.log_start = log_start_;
    view.offsets.log_end = end_;
    view.offsets.high_watermark = high_watermark_ < 0 ? end_ : high_watermark_;
    view.clean_end = clean_end_;
    view.damaged = damaged_;
    view.options = std::make_shared<const TopicOptions>(options);
    return view;
  }

 private:
  storage::SegmentList closed_{};
  storage::SegmentInfo active_{};
  bool has_active_ = false;
  std::vector<storage::DamagedRange> damaged_{};
  Offset end_ = 0;
  Offset log_start_ = 0;
  Offset clean_end_ = 0;
  Offset high_watermark_ = -1;
};

}  // namespace lastword::test
