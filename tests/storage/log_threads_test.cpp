// SPDX-License-Identifier: Apache-2.0
// Everybody at once: producers, the flusher, readers, lookups, the clock and retention.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/log_fixture.h"

namespace lastword::test {
namespace {

using storage::Offsets;

class LogThreadsTest : public testing::TestWithParam<Durability>, protected LogFixture {
 protected:
  LogThreadsTest() : LogFixture(GetParam()) {}
  void SetUp() override {
    options.segment_bytes = 2000;
    options.index_interval_bytes = 200;
    open();
  }

  static constexpr int kProducers = 2;
  static constexpr int kBatches = 300;

  void produce(std::int64_t producer_id) {
    for (int i = 0; i < kBatches; ++i) {
      const Offset base = append({.records = {{"k", std::to_string(i)}},
                                  .timestamp = kBatchTime + i,
                                  .producer_id = producer_id,
                                  .base_sequence = i})
                              .base_offset;
      EXPECT_LT(base, log->offsets().log_end);
    }
    --producing_;
  }
  void flush() {
    Offset before = 0;
    while (producing_ > 0) {
      const Offset reached = sync().high_watermark;
      EXPECT_GE(reached, before);
      before = reached;
    }
    sync();
  }
  /// Follows the log; nothing is missing, nothing comes twice.
  void follow() {
    Offset next = 0;
    while (next < kProducers * kBatches) {
      auto read = log->read(next, {.bytes_max = 500});
      if (!read && read.error().kind == ErrorKind::kOffsetOutOfRange) {
        EXPECT_LT(next, log->offsets().log_start);
        next = log->offsets().log_start;
        continue;
      }
      ASSERT_TRUE(read) << read.error().text;
      for (const BatchHeader& header : headers_of(bytes_of(*read))) {
        EXPECT_LE(header.base_offset, next);
        next = header.last_offset() + 1;
      }
      EXPECT_LE(next, read->offsets.high_watermark);
    }
  }
  void look() {
    while (producing_ > 0) {
      const Offsets offsets = log->offsets();
      EXPECT_LE(offsets.log_start, offsets.high_watermark);
      EXPECT_LE(offsets.high_watermark, offsets.log_end);
      EXPECT_TRUE(log->find_timestamp(kBatchTime + 50));
      EXPECT_TRUE(log->find_max_timestamp());
      static_cast<void>(log->readable_bytes(offsets.log_start));
      static_cast<void>(log->view());
    }
  }
  void retain() {
    while (producing_ > 0) {
      EXPECT_TRUE(log->close_active());
      const Offset reached = log->offsets().high_watermark;
      EXPECT_TRUE(log->drop_before(reached - std::min<Offset>(reached, 100)));
      EXPECT_TRUE(log->checkpoint());
    }
  }

  std::atomic<int> producing_{kProducers};
};

TEST_P(LogThreadsTest, AllMembersMayBeCalledAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kProducers; ++i) threads.emplace_back([this, i] { produce(i); });
  threads.emplace_back([this] { flush(); });
  threads.emplace_back([this] { follow(); });
  threads.emplace_back([this] { look(); });
  threads.emplace_back([this] { retain(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log->offsets().high_watermark, kProducers * kBatches);
}

INSTANTIATE_TEST_SUITE_P(Durabilities, LogThreadsTest,
                         testing::Values(Durability::kFsync, Durability::kOs));

}  // namespace
}  // namespace lastword::test
