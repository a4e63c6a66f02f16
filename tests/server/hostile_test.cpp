// SPDX-License-Identifier: Apache-2.0
// Clients that mean no good: each is closed or bounded, the others are served, and the daemon stays
// small. Against the real process, whose memory is read afterwards.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

#include "protocol/compression.h"
#include "protocol/messages/api_versions.h"
#include "protocol/messages/create_topics.h"
#include "protocol/messages/describe_configs.h"
#include "protocol/messages/metadata.h"
#include "tests/server/daemon.h"
#include "tests/server/server_fixture.h"
#include "tests/support/text_bytes.h"

namespace lastword::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kMemoryMax = 400'000'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryCounts = false;
#else
constexpr bool kMemoryCounts = true;
#endif

class Hostile : public testing::Test {
 protected:
  /// `settings` goes into the file beside the topic "addresses".
  void start(const std::string& settings = "") {
    const std::string text = "{" + settings + (settings.empty() ? "" : ", ") +
                             R"("topics": {"addresses": {}, "wide": {"partitions": 50}}})";
    daemon_ = std::make_unique<Daemon>(
        folder_, std::vector<std::string>{"--config", write_settings(folder_, text)});
    ASSERT_NE(daemon_->port(), 0);
    connect_honest();
    wait_until_open(*honest_);
  }
  void connect_honest() { honest_ = std::make_unique<RawClient>(daemon_->port()); }
  Daemon& daemon() { return *daemon_; }
  RawClient client() { return daemon_->client(); }

  static std::int64_t now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(now).count();
  }

  void expect_others_are_served() {
    const auto begun = steady_clock::now();
    const auto result =
        produce(*honest_, batch({.records = {{.key = "k", .value = "v"}}, .timestamp = now_ms()}));
    EXPECT_EQ(result.error_code, ErrorCode::kNone);
    const auto read = fetch(*honest_, {.offset = result.base_offset, .max_bytes = 1000});
    EXPECT_EQ(read.error_code, ErrorCode::kNone);
    EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(10));
  }

  void TearDown() override {
    if (!daemon_) return;
    ASSERT_TRUE(daemon_->running());
    expect_others_are_served();
    const std::int64_t peak = daemon_->peak_memory_bytes();
    std::cout << "peak memory " << peak / 1'000'000 << " MB\n";
    if (kMemoryCounts) {
      EXPECT_LT(peak, kMemoryMax);
    }
    EXPECT_EQ(daemon_->stop(), 0);
  }

 private:
  TemporaryDirectory folder_{};
  std::unique_ptr<Daemon> daemon_{};
  std::unique_ptr<RawClient> honest_{};
};

Bytes frame_of(std::int32_t size, ByteView bytes) {
  Writer out;
  out.number(size);
  out.bytes(bytes);
  return out.take();
}

constexpr const char* kImpatient =
    R"("limits": {"request_read_ms": 300, "response_write_ms": 300, "connection_idle_ms": 60000})";

TEST_F(Hostile, GarbageIsClosedAndItsLogLinesAreFew) {
  start(kImpatient);
  constexpr unsigned kSeed = 20240601;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const auto begun = steady_clock::now();
  for (int i = 0; i < 300; ++i) {
    auto garbage = client();
    Bytes bytes(200);
    for (std::byte& b : bytes) b = std::byte(random());
    bytes[0] = std::byte(random() % 2 == 0 ? 0x7f : 0xff);  // oversize or negative
    garbage.send(bytes);
    EXPECT_TRUE(garbage.is_closed());
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - begun).count();
  EXPECT_TRUE(daemon().says("limits.request_bytes"));
  EXPECT_LT(daemon().lines().size(), static_cast<std::size_t>(25 * (seconds + 2)));
}

TEST_F(Hostile, OversizeNegativeAndEmptyFramesAreClosed) {
  start();
  for (const std::int32_t size :
       {-1, 0, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(),
        100 * 1024 * 1024 + 1}) {
    auto bad = client();
    bad.send(frame_of(size, Bytes(20)));
    EXPECT_TRUE(bad.is_closed()) << size;
  }
  for (std::int32_t size = 1; size < 12; ++size) {
    auto bad = client();
    bad.send(frame_of(size, Bytes(static_cast<std::size_t>(size), std::byte{0xff})));
    EXPECT_TRUE(bad.is_closed()) << size;
  }
}

TEST_F(Hostile, ATlsHelloAndHttpAreNamedInTheLog) {
  start();
  auto tls = client();
  tls.send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  EXPECT_TRUE(tls.is_closed());
  EXPECT_TRUE(daemon().says("looks like TLS"));
  auto http = client();
  http.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(http.is_closed());
  EXPECT_TRUE(daemon().says("looks like HTTP"));
}

TEST_F(Hostile, HalfARequestIsClosedWhenItsTimeIsUp) {
  start(kImpatient);
  std::vector<RawClient> halves;
  for (int i = 0; i < 20; ++i) {
    halves.push_back(client());
    halves.back().send(frame_of(1000, Bytes(static_cast<std::size_t>(i))));
  }
  expect_others_are_served();
  for (RawClient& half : halves) EXPECT_TRUE(half.is_closed());
  EXPECT_TRUE(daemon().says("limits.request_read_ms"));
}

TEST_F(Hostile, AnIdleConnectionIsClosedWhenItsTimeIsUp) {
  start(R"("limits": {"connection_idle_ms": 500})");
  auto idle = client();
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(daemon().says("limits.connection_idle_ms"));
  connect_honest();  // it was idle as long
}

TEST_F(Hostile, AClientThatNeverReadsIsClosedAndHoldsUpNobody) {
  start(kImpatient);
  const auto now =
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  auto writer = client();
  for (int i = 0; i < 8; ++i) {
    produce(writer, batch({.records = {{.key = "k", .value = std::string(900'000, 'v')}},
                           .timestamp = now}));
  }
  std::vector<RawClient> deaf;
  for (int i = 0; i < 10; ++i) {
    deaf.emplace_back(daemon().port(), 4096);
    for (int n = 0; n < 100; ++n) {
      deaf.back().send_what_fits(
          encode_request(fetch_request({}), kFetchVersion, {.correlation_id = n}));
    }
  }
  expect_others_are_served();
  EXPECT_TRUE(daemon().says("limits.response_write_ms"));
  expect_others_are_served();
}

TEST_F(Hostile, ThousandsOfSilentConnectionsKeepNobodyOut) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  start();
  const auto count = static_cast<std::size_t>(
      std::min<rlim_t>(9990, files.rlim_cur > 1000 ? files.rlim_cur - 800 : 100));
  std::vector<RawClient> silent;
  silent.reserve(count);
  for (std::size_t i = 0; i < count; ++i) silent.push_back(client());
  std::cout << count << " silent connections\n";
  expect_others_are_served();
  auto late = client();
  EXPECT_NO_THROW(list_offset(late, -1));
}

TEST_F(Hostile, ConnectionsAboveTheLimitAreTurnedAway) {
  start(R"("limits": {"connections": 5})");
  std::vector<RawClient> first;
  for (int i = 0; i < 4; ++i) {
    first.push_back(client());
    list_offset(first.back(), -1);
  }
  auto late = client();
  EXPECT_TRUE(late.is_closed());
  EXPECT_TRUE(daemon().says("limits.connections is 5"));
  expect_others_are_served();
  first.pop_back();
  // Its end is noticed soon after.
  for (int i = 0; i < 1000; ++i) {
    auto next = client();
    next.begin(ApiVersionsRequest{}, 0);
    try {
      if (next.frame()) return;
    } catch (const std::runtime_error&) {
    }
  }
  ADD_FAILURE() << "the place was not free again";
}

TEST_F(Hostile, SlowLargeRequestsShareTheirMemoryAndHoldUpNobody) {
  start(R"("limits": {"request_read_ms": 3000})");
  constexpr std::int32_t kAnnounced = 100 * 1024 * 1024;
  const Bytes megabyte(1 << 20);
  std::vector<RawClient> slow;
  for (int i = 0; i < 24; ++i) {
    slow.push_back(client());
    slow.back().send(frame_of(kAnnounced, {}));
  }
  for (int round = 0; round < 60; ++round) {
    for (RawClient& each : slow) each.send_what_fits(megabyte);
    if (round % 20 == 0) expect_others_are_served();
  }
  expect_others_are_served();
  for (RawClient& each : slow) {
    try {
      EXPECT_FALSE(each.frame());
    } catch (const std::runtime_error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST_F(Hostile, ManyWhoAnnounceMuchAndSendNothingHoldUpNobody) {
  start();
  std::vector<RawClient> liars;
  for (int i = 0; i < 3000; ++i) {
    liars.push_back(client());
    liars.back().send(frame_of(100 * 1024 * 1024, Bytes(1)));
  }
  expect_others_are_served();
}

// A batch whose records are `packed`, which claims `count` of them.
Bytes raw_batch(Codec codec, ByteView packed, std::int32_t count) {
  Bytes bytes(kBatchHeaderBytes);
  append(bytes, packed);
  const BatchHeader header{
      .batch_length = static_cast<std::int32_t>(bytes.size() - kBatchPrefixBytes),
      .attributes = static_cast<std::int16_t>(codec),
      .last_offset_delta = count - 1,
      .base_timestamp = kBatchTime,
      .max_timestamp = kBatchTime,
      .record_count = count};
  write_batch_header(header, bytes);
  seal_batch(bytes);
  return bytes;
}

// At most a mebibyte that unpacks to as much as the codec can do.
Bytes bomb(Codec codec) {
  const std::size_t unpacked = codec == Codec::kSnappy ? 20u << 20 : 200u << 20;
  Bytes one;
  EXPECT_TRUE(compress({.codec = codec}, Bytes(unpacked), one));
  Bytes all = one;
  // Frames and members may follow one another.
  while (codec != Codec::kSnappy && all.size() + one.size() < 1'000'000) append(all, one);
  return all;
}

TEST_F(Hostile, BatchesThatUnpackToGigabytesAreRefused) {
  start();
  std::vector<std::thread> attackers;
  const std::uint16_t port = daemon().port();
  for (const Codec codec : {Codec::kGzip, Codec::kSnappy, Codec::kLz4, Codec::kZstd}) {
    const Bytes packed = bomb(codec);
    EXPECT_LT(packed.size(), 1'048'576u);
    const Bytes request = encode_request(produce_request(raw_batch(codec, packed, 1)),
                                         kProduceVersion, {.correlation_id = 1});
    for (int i = 0; i < 5; ++i) {
      attackers.emplace_back([port, request, codec] {
        RawClient attacker(port);
        attacker.send(request);
        const auto frame = attacker.frame();
        ASSERT_TRUE(frame);
        const auto answer = decode_response<ProduceResponse>(*frame, kProduceVersion, 1);
        ASSERT_TRUE(answer);
        EXPECT_NE(only(*answer).error_code, ErrorCode::kNone) << codec_name(codec);
      });
    }
  }
  expect_others_are_served();
  for (std::thread& attacker : attackers) attacker.join();
}

/// What is packed anew is made one by one, not all before the first is appended.
TEST_F(Hostile, BatchesThatAreUnpackedOnAppendDoNotAddUp) {
  start();
  constexpr std::int32_t kPartitions = 400;
  auto admin = client();
  CreateTopicsRequest create;
  create.topics.push_back(
      {.name = "plain", .num_partitions = kPartitions, .replication_factor = 1});
  create.topics[0].configs.push_back({.name = "compression.type", .value = "uncompressed"});
  ASSERT_EQ(admin.call<CreateTopicsResponse>(create, 7).topics.at(0).error_code, ErrorCode::kNone);
  const Bytes zeros(1'000'000);
  const Bytes packed = batch({.records = {{.key = "k", .value = to_text(zeros)}},
                              .codec = Codec::kZstd,
                              .timestamp = now_ms()});
  auto request = produce_request(packed, 1, "plain");
  for (std::int32_t i = 1; i < kPartitions; ++i) {
    request.topic_data[0].partition_data.push_back({.index = i, .records = RecordsField{packed}});
  }
  const auto answer = admin.call<ProduceResponse>(request, kProduceVersion);
  EXPECT_EQ(answer.responses.at(0).partition_responses.at(0).error_code, ErrorCode::kNone);
  constexpr std::int64_t kFew = 150'000'000;
  EXPECT_TRUE(!kMemoryCounts || daemon().peak_memory_bytes() < kFew);
}

/// Each is good by itself. They wait for each other, and nobody for them; nor does a stop.
TEST_F(Hostile, BatchesThatUnpackToMuchHoldUpNobodyElse) {
  start();
  constexpr std::int32_t kPartitions = 50;
  const Bytes zeros((60u << 20) - 100);
  const Bytes large = batch({.records = {{.key = "k", .value = to_text(zeros)}},
                             .codec = Codec::kZstd,
                             .timestamp = now_ms()});
  auto request = produce_request(large, -1, "wide");
  for (std::int32_t i = 1; i < kPartitions; ++i) {
    request.topic_data[0].partition_data.push_back({.index = i, .records = RecordsField{large}});
  }
  const Bytes frame = encode_request(request, kProduceVersion, {});
  std::vector<RawClient> attackers;
  for (int i = 0; i < 8; ++i) {
    attackers.push_back(client());
    attackers.back().send(frame);
  }
  std::this_thread::sleep_for(milliseconds(300));
  const auto begun = steady_clock::now();
  expect_others_are_served();
  EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(8));
}

TEST_F(Hostile, ABatchThatClaimsTwoBillionRecordsIsRefused) {
  start();
  auto liar = client();
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const auto result = produce(liar, raw_batch(Codec::kNone, Bytes(100), kMost));
  EXPECT_NE(result.error_code, ErrorCode::kNone);
}

TEST_F(Hostile, CountsThatLieAreClosed) {
  start();
  // Classic and compact arrays that claim more than there is.
  for (const auto& [key, version] : {std::pair<int, int>{3, 1}, {3, 12}, {1, 4}, {0, 3}, {2, 7}}) {
    Writer out;
    out.number(std::int32_t{0});
    out.number(static_cast<std::int16_t>(key));
    out.number(static_cast<std::int16_t>(version));
    out.number(std::int32_t{1});
    out.number(std::int16_t{-1});
    for (int i = 0; i < 64; ++i) out.number(std::uint32_t{0x7fffffff});
    out.patch_front(static_cast<std::int32_t>(out.size_bytes() - kFrameSizeBytes));
    auto liar = client();
    liar.send(out.take());
    EXPECT_TRUE(liar.is_closed()) << key;
  }
}

/// Each asks for much, pipelined, and takes nothing.
void ask_and_read_nothing(Daemon& daemon, const Bytes& request, int times,
                          const std::function<void()>& meanwhile) {
  std::vector<RawClient> greedy;
  for (int i = 0; i < 32; ++i) greedy.emplace_back(daemon.port(), 4096);
  for (int i = 0; i < times; ++i) {
    for (RawClient& each : greedy) each.send_what_fits(request);
  }
  std::this_thread::sleep_for(milliseconds(500));  // to let it pile up
  meanwhile();
}

TEST_F(Hostile, AnswersThatNobodyTakesStayWithinTheMemory) {
  start();
  auto produce_all = produce_request({});
  produce_all.topic_data[0].name = "none";
  produce_all.topic_data[0].partition_data.assign(10'000, {});
  ask_and_read_nothing(daemon(), encode_request(produce_all, kProduceVersion, {}), 64,
                       [this] { expect_others_are_served(); });
  constexpr std::int64_t kBudgetAndTheRest = 110'000'000;
  EXPECT_TRUE(!kMemoryCounts || daemon().peak_memory_bytes() < kBudgetAndTheRest);

  MetadataRequest metadata{.want_partition_status = true};
  metadata.topics.emplace(1, MetadataRequest::Topic{.name = "wide"});
  ask_and_read_nothing(daemon(), encode_request(metadata, 12, {}), 2000,
                       [this] { expect_others_are_served(); });
}

TEST_F(Hostile, ASmallRequestForAHugeAnswerIsClosed) {
  start();
  CreateTopicsRequest create{.validate_only = true};
  for (int i = 0; i < 100'000; ++i) {
    create.topics.push_back(
        {.name = "t" + std::to_string(i), .num_partitions = 1, .replication_factor = 1});
  }
  auto greedy = client();
  greedy.send(encode_request(create, 7, {}));
  EXPECT_TRUE(greedy.is_closed());
  EXPECT_TRUE(daemon().says("ask for less at once"));
}

// From many connections at once; answered or closed, as the broker likes.
void attack(std::uint16_t port, const Bytes& request, int times) {
  std::vector<std::thread> attackers;
  for (int i = 0; i < times; ++i) {
    attackers.emplace_back([port, &request] {
      try {
        RawClient attacker(port);
        if (attacker.send(request)) attacker.frame();
      } catch (const std::runtime_error&) {
      }
    });
  }
  for (std::thread& attacker : attackers) attacker.join();
}

TEST_F(Hostile, RequestsWithVeryManyItemsStayWithinTheMemory) {
  start();
  const std::uint16_t port = daemon().port();
  constexpr int kTimes = 8;
  constexpr int kItems = 200'000;
  MetadataRequest metadata{.want_partition_status = true};
  metadata.topics.emplace(kItems, MetadataRequest::Topic{.name = "wide"});
  attack(port, encode_request(metadata, 12, {}), kTimes);
  expect_others_are_served();

  DescribeConfigsRequest configs{.include_synonyms = true, .include_documentation = true};
  configs.resources.assign(kItems, {.resource_type = 2, .resource_name = "wide"});
  attack(port, encode_request(configs, 4, {}), kTimes);
  expect_others_are_served();

  auto fetch_all = fetch_request({.max_wait_ms = 3000, .min_bytes = 1 << 20, .topic = "wide"});
  const auto partition = fetch_all.topics[0].partitions[0];
  fetch_all.topics[0].partitions.assign(kItems, partition);
  attack(port, encode_request(fetch_all, kFetchVersion, {}), kTimes);
  expect_others_are_served();

  auto produce_all = produce_request({});
  produce_all.topic_data[0].partition_data.assign(kItems, {});
  attack(port, encode_request(produce_all, kProduceVersion, {}), kTimes);
}

}  // namespace
}  // namespace lastword::test
