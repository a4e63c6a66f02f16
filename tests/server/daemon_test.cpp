// SPDX-License-Identifier: Apache-2.0
// lastwordd as a process: command line, exit codes, signals, settings files.
#include "tests/server/daemon.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "protocol/messages/describe_configs.h"
#include "protocol/messages/metadata.h"
#include "tests/server/server_fixture.h"

namespace lastword::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kGood = 0;
constexpr int kFailed = 1;
constexpr int kBadSettings = 2;

MetadataResponse::Topic described(const Daemon& daemon, const std::string& topic) {
  MetadataRequest request;
  request.topics.emplace().push_back({.name = topic});
  return daemon.client().call<MetadataResponse>(request, 12).topics.at(0);
}

std::string setting(const Daemon& daemon, const std::string& topic, const std::string& name) {
  DescribeConfigsRequest request;
  request.resources.push_back(
      {.resource_type = 2, .resource_name = topic, .configuration_keys = {{name}}});
  const auto result = daemon.client().call<DescribeConfigsResponse>(request, 4).results.at(0);
  return result.configs.empty() ? "" : result.configs[0].value.value();
}

Bytes recent_record(const std::string& value) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return batch({.records = {{.key = "k", .value = value}},
                .timestamp = std::chrono::duration_cast<milliseconds>(now).count()});
}

constexpr const char* kOneTopic = R"({"topics": {"addresses": {"cleanup.policy": "compact"}}})";

TEST(Daemon, ChecksSettingsAndStops) {
  TemporaryDirectory folder;
  const auto good = run_daemon({"--check-config", "--config", write_settings(folder, kOneTopic)});
  EXPECT_EQ(good.exit_code, kGood) << good.output;
  EXPECT_NE(good.output.find("good"), std::string::npos);
  EXPECT_EQ(run_daemon({"--check-config"}).exit_code, kGood);
}

TEST(Daemon, NamesFileKeyAndNearestNameOfABadSetting) {
  TemporaryDirectory folder;
  const std::string file = write_settings(folder, R"({"auto_create_topic": true})");
  for (const bool only_check : {true, false}) {
    std::vector<std::string> arguments{"--config", file, "--data-dir", folder / "data"};
    if (only_check) arguments.push_back("--check-config");
    const auto bad = run_daemon(arguments);
    EXPECT_EQ(bad.exit_code, kBadSettings) << bad.output;
    EXPECT_NE(bad.output.find(file), std::string::npos) << bad.output;
    EXPECT_NE(bad.output.find("auto_create_topic"), std::string::npos) << bad.output;
    EXPECT_NE(bad.output.find("auto_create_topics"), std::string::npos) << bad.output;
  }
}

TEST(Daemon, RefusesCommandLinesAndFilesThatMakeNoSense) {
  TemporaryDirectory folder;
  EXPECT_EQ(run_daemon({"--no-such-option"}).exit_code, kBadSettings);
  EXPECT_EQ(run_daemon({"--config", folder / "not-there.json"}).exit_code, kBadSettings);
  EXPECT_EQ(run_daemon({"--config", write_settings(folder, "{")}).exit_code, kBadSettings);
  EXPECT_EQ(run_daemon({"--check-config", "--listen", "nonsense"}).exit_code, kBadSettings);
  EXPECT_EQ(run_daemon({"--check-config", "--clock-speed", "nan"}).exit_code, kBadSettings);
}

TEST(Daemon, PrintsItsDefaultsAsSettingsThatItAccepts) {
  const auto printed = run_daemon({"--print-defaults"});
  ASSERT_EQ(printed.exit_code, kGood);
  EXPECT_NE(printed.output.find("\"connection_idle_ms\""), std::string::npos);
  TemporaryDirectory folder;
  const auto checked =
      run_daemon({"--check-config", "--config", write_settings(folder, printed.output)});
  EXPECT_EQ(checked.exit_code, kGood) << checked.output;
}

TEST(Daemon, SaysWhichPortIsInUse) {
  TemporaryDirectory folder;
  TemporaryDirectory other;
  Daemon first(folder);
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  const auto second = run_daemon({"--listen", address, "--data-dir", other / "data"});
  EXPECT_EQ(second.exit_code, kFailed);
  EXPECT_NE(second.output.find(address), std::string::npos) << second.output;
  EXPECT_EQ(first.stop(), kGood);
}

TEST(Daemon, KeepsASecondOneOffItsDataDirectory) {
  TemporaryDirectory folder;
  Daemon first(folder);
  const auto second = run_daemon({"--listen", "127.0.0.1:0", "--data-dir", folder / "data"});
  EXPECT_EQ(second.exit_code, kFailed);
  EXPECT_NE(second.output.find(folder / "data"), std::string::npos) << second.output;
  EXPECT_NO_THROW(described(first, "x"));
}

TEST(Daemon, IsReadySoonOnAnEmptyDirectory) {
  TemporaryDirectory folder;
  Daemon daemon(folder);
  ASSERT_NE(daemon.port(), 0);
  std::cout << "ready after " << daemon.started_within().count() << " ms, peak memory "
            << daemon.peak_memory_bytes() / 1024 << " KiB\n";
  EXPECT_LT(daemon.started_within(), seconds(5));
}

TEST(Daemon, StopsCleanlyWithOpenLongPollsAndPendingProduces) {
  TemporaryDirectory folder;
  Daemon daemon(folder, {"--config", write_settings(folder, kOneTopic)});
  auto reader = daemon.client();
  wait_until_open(reader);
  auto silent = daemon.client();
  auto half = daemon.client();
  half.send(std::string_view("\0\0\1\0abc", 7));
  const auto fetched =
      reader.begin(fetch_request({.max_wait_ms = 60000, .min_bytes = 1 << 20}), kFetchVersion);
  auto writer = daemon.client();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(writer.begin(produce_request(recent_record("v")), kProduceVersion));
  }
  const auto first = only(writer.finish<ProduceResponse>(ids[0], kProduceVersion));
  EXPECT_EQ(first.error_code, ErrorCode::kNone);
  const auto begun = steady_clock::now();
  EXPECT_EQ(daemon.stop(), kGood);
  EXPECT_LT(steady_clock::now() - begun, seconds(10));
  EXPECT_NO_THROW(reader.finish<FetchResponse>(fetched, kFetchVersion));
  // Those that it read it answered; the others it cannot have acknowledged.
  Offset acknowledged = 1;
  while (writer.frame()) ++acknowledged;
  Daemon again(folder);
  auto client = again.client();
  wait_until_open(client);
  EXPECT_GE(list_offset(client, -1).offset, acknowledged);
  EXPECT_EQ(again.stop(), kGood);
}

TEST(Daemon, StopsCleanlyWhileItsLogsAreStillOpening) {
  TemporaryDirectory folder;
  const std::string file = write_settings(folder, R"({"topics": {"wide": {"partitions": 300}}})");
  for (int i = 0; i < 2; ++i) {
    Daemon daemon(folder, {"--config", file});
    ASSERT_NE(daemon.port(), 0);
    const auto begun = steady_clock::now();
    EXPECT_EQ(daemon.stop(), kGood);
    EXPECT_LT(steady_clock::now() - begun, seconds(10));
  }
}

TEST(Daemon, KeepsWhatItAcknowledgedWhenItIsKilled) {
  TemporaryDirectory folder;
  const std::string file = write_settings(folder, kOneTopic);
  {
    Daemon daemon(folder, {"--config", file});
    auto client = daemon.client();
    wait_until_open(client);
    for (int i = 0; i < 5; ++i) produce(client, recent_record(std::to_string(i)));
    daemon.signal(SIGKILL);
    EXPECT_EQ(daemon.wait(), -1);
  }
  Daemon daemon(folder, {"--config", file});
  auto client = daemon.client();
  wait_until_open(client);
  const auto records = records_in(fetch(client, {.max_wait_ms = 5000}));
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[4].value, "4");
}

TEST(Daemon, MakesTheTopicsOfItsFileAndTakesOverALaterOne) {
  TemporaryDirectory folder;
  const std::string file = write_settings(
      folder, R"({"topics": {"addresses": {"partitions": 2, "retention.ms": "1h"}}})");
  Daemon daemon(folder, {"--config", file});
  EXPECT_EQ(described(daemon, "addresses").partitions.size(), 2u);
  EXPECT_EQ(setting(daemon, "addresses", "retention.ms"), "3600000");
  const auto id = described(daemon, "addresses").topic_id;

  write_settings(folder, R"({"topics": {"orders": {"cleanup.policy": "compact"},
                                        "addresses": {"partitions": 2, "retention.ms": "2h"}}})");
  daemon.signal(SIGHUP);
  ASSERT_TRUE(daemon.says("reloaded"));
  EXPECT_EQ(setting(daemon, "addresses", "retention.ms"), "7200000");
  EXPECT_EQ(setting(daemon, "orders", "cleanup.policy"), "compact");
  EXPECT_EQ(described(daemon, "addresses").topic_id, id);
  EXPECT_EQ(daemon.stop(), kGood);
}

TEST(Daemon, ChangesNothingWhenTheFileIsBad) {
  TemporaryDirectory folder;
  const std::string file =
      write_settings(folder, R"({"topics": {"addresses": {"retention.ms": "1h"}}})");
  Daemon daemon(folder, {"--config", file});
  write_settings(folder, R"({"topics": {"addresses": {"retention.ms": "2h"},
                                        "orders": {"clean.policy": "compact"}}})");
  daemon.signal(SIGHUP);
  ASSERT_TRUE(daemon.says("nothing was reloaded"));
  EXPECT_TRUE(daemon.says("cleanup.policy"));
  EXPECT_EQ(setting(daemon, "addresses", "retention.ms"), "3600000");
  EXPECT_EQ(described(daemon, "orders").error_code, ErrorCode::kUnknownTopicOrPartition);
}

/// Waits until that partition of the topic "wide" is open.
ProducedPartition produce_to(RawClient& client, std::int32_t partition, const Bytes& batch) {
  const auto patience = steady_clock::now() + seconds(60);
  for (;;) {
    const auto made = only(client.call<ProduceResponse>(
        produce_request(batch, -1, "wide", partition), kProduceVersion));
    if (made.error_code != ErrorCode::kNotLeaderOrFollower) return made;
    if (steady_clock::now() > patience) return made;
  }
}

TEST(Daemon, ServesManyMoreFilesThanItMayHaveOpen) {
  TemporaryDirectory folder;
  const std::string file = write_settings(folder, R"({"durability": "os",
    "topics": {"wide": {"partitions": 60, "segment.bytes": 1024}}})");
  Daemon daemon(folder, {"--config", file}, rlim_t{128});
  ASSERT_NE(daemon.port(), 0) << daemon.lines().back();
  auto client = daemon.client();
  const Bytes batch = recent_record(std::string(900, 'v'));
  for (std::int32_t i = 0; i < 240; ++i) {
    const auto made = produce_to(client, i % 60, batch);
    ASSERT_EQ(made.error_code, ErrorCode::kNone) << made.error_message.value_or("");
  }
  for (std::int32_t i = 0; i < 60; ++i) {
    auto request = fetch_request({.topic = "wide"});
    request.topics[0].partitions[0].partition = i;
    const auto read = only(client.call<FetchResponse>(request, kFetchVersion));
    ASSERT_EQ(records_in(read).size(), 4U) << "partition " << i;
  }
  EXPECT_LT(daemon.mapped_regions(), 1000U);
  EXPECT_EQ(daemon.stop(), kGood);
}

TEST(Daemon, RefusesAReloadThatDoesNotFitWhatStaysUntilARestart) {
  TemporaryDirectory folder;
  const std::string file = write_settings(
      folder, R"({"limits": {"request_bytes": "1MiB", "request_memory_bytes": "2MiB"}})");
  Daemon daemon(folder, {"--config", file});
  write_settings(folder,
                 R"({"limits": {"request_bytes": "10MiB", "request_memory_bytes": "20MiB"}})");
  daemon.signal(SIGHUP);
  EXPECT_TRUE(daemon.says("nothing was reloaded: limits.request_memory_bytes"));
}

TEST(Daemon, SendsClientsWhereItListensWhenTheCommandLineSaysWhere) {
  TemporaryDirectory folder;
  const std::string file = write_settings(folder, R"({"advertise": "127.0.0.1:9"})");
  const auto told_by = [](const Daemon& daemon) {
    return daemon.client().call<MetadataResponse>(MetadataRequest{}, 12).brokers.at(0).port;
  };
  {
    Daemon daemon(folder, {"--config", file});
    EXPECT_EQ(told_by(daemon), daemon.port());
    EXPECT_TRUE(daemon.says("advertise 127.0.0.1:9"));
  }
  const Daemon daemon(folder, {"--config", file, "--advertise", "127.0.0.1:8"});
  EXPECT_EQ(told_by(daemon), 8);
}

TEST(Daemon, TellsAnIpv4ClientOfAnIpv6ListenerItsIpv4Address) {
  TemporaryDirectory folder;
  Daemon daemon(folder, {"--listen", "[::]:0"});
  if (daemon.port() == 0) GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_EQ(daemon.client().call<MetadataResponse>(MetadataRequest{}, 12).brokers.at(0).host,
            "127.0.0.1");
}

TEST(Daemon, SaysWhatOfAReloadNeedsARestart) {
  TemporaryDirectory folder;
  const std::string file = write_settings(folder, R"({"limits": {"disk_threads": 4}})");
  Daemon daemon(folder, {"--config", file});
  write_settings(folder, R"({"producer_id_expiration_ms": "1h", "limits": {"disk_threads": 5}})");
  daemon.signal(SIGHUP);
  EXPECT_TRUE(daemon.says("producer_id_expiration_ms"));
  EXPECT_TRUE(daemon.says("limits.disk_threads"));
  EXPECT_TRUE(daemon.says("reloaded"));
}

TEST(Daemon, KeepsATopicThatLeftTheFileWithItsSettings) {
  TemporaryDirectory folder;
  const std::string file =
      write_settings(folder, R"({"topics": {"addresses": {"retention.ms": "1h"}}})");
  {
    Daemon daemon(folder, {"--config", file});
    ASSERT_NE(daemon.port(), 0);
    EXPECT_EQ(daemon.stop(), kGood);
  }
  write_settings(folder, "{}");
  {
    Daemon daemon(folder, {"--config", file});
    EXPECT_EQ(setting(daemon, "addresses", "retention.ms"), "3600000");
  }
  Daemon daemon(folder, {"--config", file});
  EXPECT_EQ(setting(daemon, "addresses", "retention.ms"), "3600000");
}

TEST(Daemon, EndsWithItsDataDirectoryOutOfReachNamingIt) {
  TemporaryDirectory folder;
  write_settings(folder, "{}");
  const std::string inside_a_file = folder / "settings.json/data";
  const auto run = run_daemon({"--listen", "127.0.0.1:0", "--data-dir", inside_a_file});
  EXPECT_EQ(run.exit_code, kFailed);
  EXPECT_NE(run.output.find(inside_a_file), std::string::npos) << run.output;
}

}  // namespace
}  // namespace lastword::test
