// SPDX-License-Identifier: Apache-2.0
// What clients see while a pass runs, and what they are told afterwards.
#include <gtest/gtest.h>

#include <thread>

#include "protocol/messages/delete_topics.h"
#include "protocol/messages/metadata.h"
#include "storage/file_names.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

constexpr std::int64_t kLatest = -1;
constexpr std::int64_t kEarliest = -2;
constexpr std::int64_t kT = ManualClock::kStartMs;
// Files that a pass makes have a generation in their names; those of appends have none.
constexpr const char* kCleanedFile = "addresses-0/00000000000000000000.";

const std::map<std::string, std::string> kCompacted = {
    {"cleanup.policy", "compact"}, {"segment.ms", "1000"}, {"min.cleanable.dirty.ratio", "0"}};

class Cleaning : public ::testing::Test {
 protected:
  void SetUp() override { client_ = server_.with_topic(kCompacted); }
  /// `rounds` values of each of `keys` keys, one after another.
  void fill(int rounds, int keys) {
    for (int i = 0; i < rounds * keys; ++i) {
      ASSERT_EQ(produce(*client_, one_record("k" + std::to_string(i % keys), std::to_string(i)))
                    .error_code,
                ErrorCode::kNone);
    }
  }
  void clean() {
    server_.clock.advance(1000);
    server_.broker->cleaner().run_due();
  }
  /// A pass on a thread of its own, held when it makes its first file.
  void begin_pass() {
    ASSERT_TRUE(server_.broker->store().partition(ServerFixture::kTopic, 0)->log()->close_active());
    server_.files.hold(CallKind::kCreate, kCleanedFile);
    cleaner_ = std::thread([this] { clean(); });
    ASSERT_TRUE(server_.files.wait_until_held());
  }
  void switch_to_delete() {
    const auto log = server_.broker->store().partition(ServerFixture::kTopic, 0)->log();
    auto options = *log->options();
    options.cleanup_policy = {.remove = true, .compact = false};
    log->set_options(std::make_shared<const TopicOptions>(options));
  }
  void end_pass() {
    server_.files.release();
    cleaner_.join();
  }
  void TearDown() override {
    server_.files.release();
    if (cleaner_.joinable()) cleaner_.join();
  }
  std::vector<Offset> offsets() {
    std::vector<Offset> found;
    for (Offset next = 0; next < list_offset(*client_, kLatest).offset;) {
      const auto answer = fetch(*client_, {.offset = next});
      for (const OwnedRecord& record : records_in(answer)) found.push_back(record.offset);
      next = headers_of(answer.records.view()).back().last_offset() + 1;
    }
    return found;
  }

  ServerFixture server_{};
  std::unique_ptr<RawClient> client_{};
  std::thread cleaner_{};
};

TEST_F(Cleaning, HoldsUpNoProduceAndNoFetch) {
  fill(20, 3);
  begin_pass();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(produce(*client_, one_record("new", std::to_string(i))).base_offset, 60 + i);
    const auto read = records_in(fetch(*client_, {.offset = 60 + i}));
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].value, std::to_string(i));
  }
  EXPECT_EQ(offsets().size(), 65U) << "the old segments are there until the new one is whole";
  end_pass();
  EXPECT_EQ(offsets(), (std::vector<Offset>{57, 58, 59, 60, 61, 62, 63, 64}));
}

TEST_F(Cleaning, EndsWhenThePolicyIsChangedToDeleteMeanwhile) {
  fill(1, 100);
  produce(*client_, one_record("k0", "again"));
  begin_pass();
  switch_to_delete();
  end_pass();
  EXPECT_EQ(offsets().size(), 101U);
  const auto log = server_.broker->store().partition(ServerFixture::kTopic, 0)->log();
  const auto files = server_.memory.list(log->identity().directory);
  ASSERT_TRUE(files);
  for (const std::string& name : *files) {
    const auto parts = storage::parse_segment_file_name(name);
    EXPECT_TRUE(!parts || parts->generation == 0) << name << " is left over";
  }
}

TEST_F(Cleaning, CommitsNothingOnceThePolicyIsDelete) {
  fill(50, 3);
  begin_pass();
  switch_to_delete();
  end_pass();
  EXPECT_EQ(offsets().size(), 150U);
}

TEST_F(Cleaning, EndsWhenTheTopicIsDeletedMeanwhile) {
  fill(50, 3);
  begin_pass();
  auto admin = server_.client();
  const auto asked = admin.begin(DeleteTopicsRequest{.topic_names = {"addresses"}}, 5);
  // What the pass makes it finds by name: until it has ended the folder stays where it is.
  EXPECT_FALSE(admin.readable(std::chrono::milliseconds(150)));
  end_pass();
  const auto answer = admin.finish<DeleteTopicsResponse>(asked, 5);
  EXPECT_EQ(answer.responses.at(0).error_code, ErrorCode::kNone);
  EXPECT_EQ(fetch(*client_, {}).error_code, ErrorCode::kUnknownTopicOrPartition);
  server_.create(ServerFixture::kTopic, kCompacted);
  fill(2, 1);
  clean();
  EXPECT_EQ(offsets(), (std::vector<Offset>{1}));
}

TEST_F(Cleaning, LeavesEarliestWhereItIsAndTimeZeroFindsTheFirstRecord) {
  fill(100, 1);
  clean();
  EXPECT_EQ(list_offset(*client_, kEarliest).offset, 0);
  EXPECT_EQ(list_offset(*client_, kLatest).offset, 100);
  EXPECT_EQ(list_offset(*client_, 0).offset, 99);
  for (const Offset offset : {0, 50, 99}) {
    const auto answer = fetch(*client_, {.offset = offset});
    EXPECT_EQ(answer.error_code, ErrorCode::kNone);
    EXPECT_EQ(answer.log_start_offset, 0);
    EXPECT_EQ(records_in(answer).at(0).offset, 99);
  }
}

TEST_F(Cleaning, CountsTheRecordsThatAreLeftAndNotTheOffsets) {
  fill(50, 4);
  clean();
  produce(*client_, one_record("tail", "v"));
  MetadataRequest request{.want_partition_status = true};
  request.topics.emplace().push_back({.name = ServerFixture::kTopic});
  const auto answer = client_->call<MetadataResponse>(request, 12).topics.at(0);
  const auto status = answer.partitions.at(0).partition_status.value();
  EXPECT_EQ(status.records, 5);
  EXPECT_EQ(status.high_watermark - status.log_start, 201);
}

}  // namespace
}  // namespace lastword::test
