// SPDX-License-Identifier: Apache-2.0
#include "config/broker_settings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "config/host_port.h"
#include "config/setting_row.h"

namespace lastword {
namespace {

using setting_row::Names;
using Range = SettingRange;

constexpr auto kCount = SettingUnit::kNone;
constexpr auto kBytes = SettingUnit::kBytes;
constexpr auto kMs = SettingUnit::kMilliseconds;
constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMemoryMax = 1024 * kGibibyte;
// Far above any sensible wait, and no sum of a time of day and of this overflows.
constexpr std::int64_t kWaitMax = kIntMax;

constexpr std::array<std::string_view, 2> kDurabilityWords{"fsync", "os"};

constexpr std::string_view kListenAllowed =
    "HOST:PORT, such as 127.0.0.1:9092 or [::]:9092; port 0: any free one";
constexpr std::string_view kAdvertiseAllowed =
    "HOST:PORT with a host that clients can reach, such as broker.example.org:9092, or nothing";

std::optional<std::string> set_listen(BrokerOptions& options, std::string_view text) {
  if (!parse_host_port(text)) return fmt::format("expected {}", kListenAllowed);
  options.listen = text;
  return std::nullopt;
}

std::optional<std::string> set_advertise(BrokerOptions& options, std::string_view text) {
  const auto address = parse_host_port(text);
  if (!text.empty() && (!address || address->port == 0)) {
    return fmt::format("expected {}", kAdvertiseAllowed);
  }
  if (address && is_wildcard_host(address->host)) {
    return "clients cannot connect to a wildcard address; give a host name or address that they "
           "can reach, or leave advertise out";
  }
  options.advertise = text;
  return std::nullopt;
}

std::optional<std::string> set_data_dir(BrokerOptions& options, std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos) return "expected a folder's path";
  options.data_dir = text;
  return std::nullopt;
}

template <SettingUnit kUnit, SettingRange kRange, auto kMember>
constexpr BrokerSetting number(const Names& names) {
  return setting_row::integer_row<BrokerOptions, kUnit, kRange, kMember>(names);
}

template <SettingUnit kUnit, SettingRange kRange, auto kMember>
constexpr BrokerSetting cleaner(const Names& names) {
  return setting_row::integer_row<BrokerOptions, kUnit, kRange, &BrokerOptions::cleaner, kMember>(
      names);
}

template <SettingUnit kUnit, SettingRange kRange, auto kMember>
constexpr BrokerSetting limit(const Names& names) {
  return setting_row::integer_row<BrokerOptions, kUnit, kRange, &BrokerOptions::limits, kMember>(
      names);
}

struct TextRow {
  Names names;
  std::string_view allowed;
  decltype(BrokerSetting::set) set;
  decltype(BrokerSetting::get) get;
};

constexpr BrokerSetting text(const TextRow& row) {
  return {.name = row.names.name,
          .kafka_name = row.names.kafka_name,
          .type = SettingType::kString,
          .unit = kCount,
          .allowed = row.allowed,
          .meaning = row.names.meaning,
          .set = row.set,
          .get = row.get};
}

constexpr std::array kSettings{
    text({{"listen", "", "Address on which connections are accepted."},
          kListenAllowed,
          &set_listen,
          [](const BrokerOptions& options) { return options.listen; }}),
    text({{"advertise", "",
           "Address that clients are told to connect to; empty: that of listen, or under a "
           "wildcard the one that the client reached."},
          kAdvertiseAllowed,
          &set_advertise,
          [](const BrokerOptions& options) { return options.advertise; }}),
    text({{"data_dir", "log.dirs", "Folder that holds everything the broker keeps."},
          "a folder's path",
          &set_data_dir,
          [](const BrokerOptions& options) { return options.data_dir; }}),
    setting_row::choice_row<BrokerOptions, kDurabilityWords, &BrokerOptions::durability>(
        {"durability", "",
         "When acks=all is answered: with the record on disk (fsync), or handed to the operating "
         "system (os)."}),
    setting_row::bool_row<BrokerOptions, &BrokerOptions::auto_create_topics>(
        {"auto_create_topics", "auto.create.topics.enable",
         "Whether asking for a topic that does not exist creates it."}),
    cleaner<kCount, Range{1, 64}, &CleanerOptions::threads>(
        {"cleaner.threads", "log.cleaner.threads", "Threads that compact."}),
    cleaner<kBytes, Range{kMebibyte, kMemoryMax}, &CleanerOptions::memory_bytes>(
        {"cleaner.memory", "log.cleaner.dedupe.buffer.size",
         "Memory for the key maps of all cleaner threads together; at least 1 MiB a thread."}),
    cleaner<kMs, Range{10, kWaitMax}, &CleanerOptions::interval_ms>(
        {"cleaner.interval_ms", "log.cleaner.backoff.ms",
         "Longest time between two looks at what is due."}),
    cleaner<kBytes, Range{kKibibyte, kUnlimited}, &CleanerOptions::io_bytes_per_second_max>(
        {"cleaner.io_bytes_per_second", "log.cleaner.io.max.bytes.per.second",
         "Bytes a second that all cleaner threads together read and write at most."}),
    number<kMs, Range{1, kWaitMax}, &BrokerOptions::retention_check_interval_ms>(
        {"retention_check_interval_ms", "log.retention.check.interval.ms",
         "Longest time between two looks at what retention drops."}),
    number<kMs, Range{1, kWaitMax}, &BrokerOptions::producer_id_expiration_ms>(
        {"producer_id_expiration_ms", "producer.id.expiration.ms",
         "Time without a batch after which an idempotent producer is forgotten."}),
    limit<kBytes, Range{kKibibyte, kIntMax}, &Limits::request_bytes>(
        {"limits.request_bytes", "socket.request.max.bytes",
         "Largest request; a connection that announces a larger one is closed."}),
    limit<kBytes, Range{256 * kKibibyte, kMemoryMax}, &Limits::request_memory_bytes>(
        {"limits.request_memory_bytes", "queued.max.request.bytes",
         "Memory of all requests being read; beyond it connections wait. Requests in hand and "
         "their answers (without records) take up to three quarters as much again, one at most "
         "half."}),
    limit<kMs, Range{1, kWaitMax}, &Limits::request_read_ms>(
        {"limits.request_read_ms", "",
         "Time from a request's first byte to its last, after which the connection is closed."}),
    limit<kMs, Range{1, kWaitMax}, &Limits::response_write_ms>(
        {"limits.response_write_ms", "",
         "Time in which a client takes no byte of an answer, after which it is closed."}),
    limit<kCount, Range{1, 100000}, &Limits::requests_in_flight>(
        {"limits.requests_in_flight", "",
         "Requests of one connection that are handled but not answered yet."}),
    limit<kCount, Range{1, 1000000}, &Limits::connections>(
        {"limits.connections", "max.connections", "Connections at once; further ones are closed."}),
    limit<kMs, Range{1, kWaitMax}, &Limits::connection_idle_ms>(
        {"limits.connection_idle_ms", "connections.max.idle.ms",
         "Time without a request after which a connection is closed."}),
    limit<kBytes, Range{kKibibyte, kIntMax}, &Limits::fetch_bytes>(
        {"limits.fetch_bytes", "fetch.max.bytes",
         "Largest answer to a fetch; one batch is answered whatever its size."}),
    limit<kBytes, Range{kKibibyte, kIntMax}, &Limits::decompressed_bytes>(
        {"limits.decompressed_bytes", "",
         "Largest batch once unpacked; one that unpacks to more is refused."}),
    limit<kCount, Range{16, 1048576}, &Limits::open_files>(
        {"limits.open_files", "", "Segment and index files open at once."}),
    limit<kBytes, Range{0, kMemoryMax}, &Limits::disk_reserve_bytes>(
        {"limits.disk_reserve_bytes", "",
         "Disk space kept back for everything but produce, for when the disk is full."}),
    limit<kCount, Range{1, 1000000}, &Limits::partitions>(
        {"limits.partitions", "", "Partitions of all topics together."}),
    limit<kCount, Range{1, 10000000}, &Limits::producer_ids>(
        {"limits.producer_ids", "", "Idempotent producers remembered for each partition."}),
    limit<kCount, Range{1, 100000000}, &Limits::producer_ids_total>(
        {"limits.producer_ids_total", "",
         "Idempotent producers remembered in all partitions together. Beyond it a partition "
         "forgets one of its own for each new one; it always keeps one."}),
    limit<kCount, Range{1, 64}, &Limits::loop_threads>(
        {"limits.loop_threads", "num.network.threads", "Threads that serve connections."}),
    limit<kCount, Range{1, 256}, &Limits::disk_threads>(
        {"limits.disk_threads", "num.io.threads", "Threads that wait for the disk."}),
    limit<kMs, Range{1, kWaitMax}, &Limits::shutdown_ms>(
        {"limits.shutdown_ms", "", "Time from SIGTERM to the end of the process."}),
};

constexpr std::array kFixed{
    FixedBrokerSetting{"num.partitions", SettingType::kInt, "1",
                       "Partitions of a topic for which no number is given. In the file each topic "
                       "has \"partitions\"."},
    FixedBrokerSetting{"default.replication.factor", SettingType::kInt, "1", "There is one node."},
    FixedBrokerSetting{"delete.topic.enable", SettingType::kBool, "true",
                       "Topics can be deleted, those that the config file names excepted."},
    FixedBrokerSetting{"log.cleaner.enable", SettingType::kBool, "true",
                       "Compaction cannot be switched off."},
};

}  // namespace

std::span<const BrokerSetting> broker_settings() { return kSettings; }

std::span<const FixedBrokerSetting> fixed_broker_settings() { return kFixed; }

const BrokerSetting* find_broker_setting(std::string_view name) {
  const auto found = std::ranges::find(kSettings, name, &BrokerSetting::name);
  return found == kSettings.end() ? nullptr : &*found;
}

std::optional<std::string> broker_options_error(const BrokerOptions& options) {
  const Limits& limits = options.limits;
  // Large requests leave a part of the memory to small ones.
  if (limits.request_memory_bytes - limits.request_memory_bytes / 8 < limits.request_bytes) {
    return fmt::format(
        "limits.request_memory_bytes ({}) is below 8/7 of limits.request_bytes ({}), so the "
        "largest request would never fit; raise the first or lower the second",
        format_quantity(limits.request_memory_bytes, kBytes),
        format_quantity(limits.request_bytes, kBytes));
  }
  if (options.cleaner.memory_bytes < options.cleaner.threads * kMebibyte) {
    return fmt::format(
        "cleaner.memory ({}) is below 1MiB for each of the {} threads of cleaner.threads; raise "
        "the first or lower the second",
        format_quantity(options.cleaner.memory_bytes, kBytes), options.cleaner.threads);
  }
  std::int64_t partitions = 0;
  for (const auto& [name, topic] : options.topics) partitions += topic.partitions;
  if (partitions > limits.partitions) {
    return fmt::format(
        "topics names {} partitions in all, but limits.partitions is {}; raise that limit",
        partitions, limits.partitions);
  }
  return std::nullopt;
}

}  // namespace lastword
