// SPDX-License-Identifier: Apache-2.0
// Every setting of the broker and of a topic, as plain values with their defaults.
//
// Purpose   what the other folders read; how settings are named, parsed and documented is in
//           topic_settings.h and broker_settings.h, how a file becomes these structs in load.h.
// Threads   plain data; share it as `std::shared_ptr<const …>` and replace it whole.
// Lifetime  values only, nothing to keep alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace lastword {

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kKibibyte = 1024;
inline constexpr std::int64_t kMebibyte = 1024 * kKibibyte;
inline constexpr std::int64_t kGibibyte = 1024 * kMebibyte;
inline constexpr std::int64_t kSecondMs = 1000;
inline constexpr std::int64_t kMinuteMs = 60 * kSecondMs;
inline constexpr std::int64_t kHourMs = 60 * kMinuteMs;

/// What `compression.type` asks of the broker; `kProducer` keeps what came.
enum class CompressionType : std::uint8_t { kProducer, kUncompressed, kGzip, kSnappy, kLz4, kZstd };

enum class TimestampType : std::uint8_t { kCreateTime, kLogAppendTime };

/// `kFsync`: acknowledged means on disk. `kOs`: as Kafka's defaults, the system writes when it
/// will.
enum class Durability : std::uint8_t { kFsync, kOs };

/// `cleanup.policy`, a list. At least one is set.
struct CleanupPolicy {
  bool remove = true;
  bool compact = false;
  bool operator==(const CleanupPolicy&) const = default;
};

/// The settings of one topic, Kafka's names with `_` for `.`; units as in Kafka.
struct TopicOptions {
  CleanupPolicy cleanup_policy{};
  std::int64_t retention_ms = 168 * kHourMs;  // -1: no limit
  std::int64_t retention_bytes = -1;          // per partition, -1: no limit
  std::int64_t segment_bytes = kGibibyte;
  std::int64_t segment_ms = 168 * kHourMs;
  std::int64_t segment_jitter_ms = 0;
  std::int64_t segment_index_bytes = 10 * kMebibyte;
  std::int64_t index_interval_bytes = 4096;
  std::int64_t file_delete_delay_ms = 0;
  std::int64_t delete_retention_ms = 24 * kHourMs;
  std::int64_t min_compaction_lag_ms = 0;
  std::int64_t max_compaction_lag_ms = kUnlimited;
  double min_cleanable_dirty_ratio = 0.5;
  std::int64_t max_message_bytes = 1048588;
  CompressionType compression_type = CompressionType::kProducer;
  int compression_gzip_level = -1;
  int compression_lz4_level = 9;
  int compression_zstd_level = 3;
  TimestampType message_timestamp_type = TimestampType::kCreateTime;
  std::int64_t message_timestamp_before_max_ms = kUnlimited;
  std::int64_t message_timestamp_after_max_ms = kHourMs;
  std::int64_t flush_messages = kUnlimited;
  std::int64_t flush_ms = kUnlimited;
  bool preallocate = false;
  bool operator==(const TopicOptions&) const = default;
};

struct CleanerOptions {
  int threads = 1;
  std::int64_t memory_bytes = 128 * kMebibyte;  // key maps of all threads together
  std::int64_t interval_ms = 15 * kSecondMs;    // longest time between two looks at what is due
  std::int64_t io_bytes_per_second_max = kUnlimited;  // read and written, all threads together
  bool operator==(const CleanerOptions&) const = default;
};

/// The ceilings of everything that a client or a disk could make grow.
struct Limits {
  std::int64_t request_bytes = 100 * kMebibyte;         // one frame
  std::int64_t request_memory_bytes = 128 * kMebibyte;  // all frames being read or handled
  std::int64_t request_read_ms = 30 * kSecondMs;        // from a frame's first byte to its last
  std::int64_t response_write_ms = 60 * kSecondMs;      // without a byte taken by the client
  std::int64_t requests_in_flight = 64;                 // per connection, handled but not answered
  std::int64_t connections = 10000;
  std::int64_t connection_idle_ms = 10 * kMinuteMs;
  std::int64_t fetch_bytes = 55 * kMebibyte;         // one fetch answer
  std::int64_t decompressed_bytes = 64 * kMebibyte;  // one batch, unpacked
  std::int64_t open_files = 512;                     // segment and index files at once
  std::int64_t disk_reserve_bytes = 16 * kMebibyte;  // kept for everything but produce
  std::int64_t partitions = 20000;                   // all topics together
  std::int64_t producer_ids = 10000;          // idempotent producers remembered per partition
  std::int64_t producer_ids_total = 100000;   // the same, all partitions together
  std::int64_t loop_threads = 2;              // threads that serve connections
  std::int64_t disk_threads = 8;              // threads that wait for the disk
  std::int64_t shutdown_ms = 10 * kSecondMs;  // SIGTERM to exit
  bool operator==(const Limits&) const = default;
};

/// A topic that the file names: it exists after start or reload, with these settings.
struct TopicInFile {
  int partitions = 1;
  std::map<std::string, std::string> settings{};  // canonical names and values
  bool operator==(const TopicInFile&) const = default;
};

struct BrokerOptions {
  std::string file{};  // where this came from, for messages; empty for built-in defaults
  std::string listen = "127.0.0.1:9092";
  std::string advertise{};  // empty: the listen address, or the accepted one under a wildcard
  std::string data_dir = "/var/lib/lastword";
  Durability durability = Durability::kFsync;
  bool auto_create_topics = false;
  CleanerOptions cleaner{};
  std::int64_t retention_check_interval_ms = 30 * kSecondMs;
  std::int64_t producer_id_expiration_ms = 24 * kHourMs;
  Limits limits{};
  std::map<std::string, std::string> topic_defaults{};  // canonical names and values, as given
  std::map<std::string, TopicInFile> topics{};
  bool operator==(const BrokerOptions&) const = default;
};

}  // namespace lastword
