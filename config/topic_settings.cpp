// SPDX-License-Identifier: Apache-2.0
#include "config/topic_settings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "config/setting_row.h"

namespace lastword {
namespace {

using setting_row::Names;
using Range = SettingRange;

constexpr auto kCount = SettingUnit::kNone;
constexpr auto kBytes = SettingUnit::kBytes;
constexpr auto kMs = SettingUnit::kMilliseconds;
constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

constexpr std::array<std::string_view, 2> kPolicyWords{"delete", "compact"};
constexpr std::array<std::string_view, 6> kCompressionWords{"producer", "uncompressed", "gzip",
                                                            "snappy",   "lz4",          "zstd"};
constexpr std::array<std::string_view, 2> kTimestampWords{"CreateTime", "LogAppendTime"};

template <SettingUnit kUnit, SettingRange kRange, auto kMember>
constexpr TopicSetting number(const Names& names) {
  return setting_row::integer_row<TopicOptions, kUnit, kRange, kMember>(names);
}

template <const auto& kWords, auto kMember>
constexpr TopicSetting choice(const Names& names) {
  return setting_row::choice_row<TopicOptions, kWords, kMember>(names);
}

std::optional<std::string> set_policy(TopicOptions& options, std::string_view text) {
  const std::string refusal = "expected delete, compact, or both with a comma between";
  CleanupPolicy policy{.remove = false, .compact = false};
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = trimmed(text.substr(0, comma));
    if (word == "delete") {
      policy.remove = true;
    } else if (word == "compact") {
      policy.compact = true;
    } else {
      return refusal;
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  options.cleanup_policy = policy;
  return std::nullopt;
}

std::string get_policy(const TopicOptions& options) {
  const CleanupPolicy& policy = options.cleanup_policy;
  if (policy.compact && policy.remove) return "compact,delete";
  return policy.compact ? "compact" : "delete";
}

std::optional<std::string> set_gzip_level(TopicOptions& options, std::string_view text) {
  const auto level = parse_quantity(text, SettingUnit::kNone);
  if (!level || *level < -1 || *level == 0 || *level > 9) return "expected -1, or 1 to 9";
  options.compression_gzip_level = static_cast<int>(*level);
  return std::nullopt;
}

std::string get_gzip_level(const TopicOptions& options) {
  return std::to_string(options.compression_gzip_level);
}

std::optional<std::string> set_dirty_ratio(TopicOptions& options, std::string_view text) {
  text = trimmed(text);
  double ratio = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, ratio);
  // Written so that "nan" fails too.
  if (error != std::errc{} || stopped != end || !(ratio >= 0.0 && ratio <= 1.0)) {
    return "expected 0 to 1, such as 0.5";
  }
  options.min_cleanable_dirty_ratio = ratio == 0.0 ? 0.0 : ratio;  // "-0" is 0
  return std::nullopt;
}

std::string get_dirty_ratio(const TopicOptions& options) {
  return fmt::format("{}", options.min_cleanable_dirty_ratio);
}

std::optional<std::string> set_insync_replicas(TopicOptions&, std::string_view text) {
  if (parse_quantity(text, SettingUnit::kNone) == 1) return std::nullopt;
  return "expected 1: there is one node, so each record is kept once; leave it out or set it to 1";
}

std::string get_insync_replicas(const TopicOptions&) { return "1"; }

constexpr std::int64_t kAny = kUnlimited;
using Topic = TopicOptions;

constexpr std::array kSettings{
    TopicSetting{.name = "cleanup.policy",
                 .kafka_name = "log.cleanup.policy",
                 .type = SettingType::kList,
                 .unit = kCount,
                 .allowed = "delete, compact, or both",
                 .meaning = "What makes old records go: age and size (delete), newer records of "
                            "the same key (compact), or both.",
                 .set = &set_policy,
                 .get = &get_policy,
                 .choices = kPolicyWords},
    TopicSetting{.name = "compression.gzip.level",
                 .kafka_name = "compression.gzip.level",
                 .type = SettingType::kInt,
                 .unit = kCount,
                 .allowed = "-1, or 1 to 9",
                 .meaning = "Level when the broker compresses with gzip; -1 is the library's own.",
                 .set = &set_gzip_level,
                 .get = &get_gzip_level},
    number<kCount, Range{1, 17}, &Topic::compression_lz4_level>(
        {"compression.lz4.level", "compression.lz4.level",
         "Level when the broker compresses with lz4."}),
    choice<kCompressionWords, &Topic::compression_type>(
        {"compression.type", "compression.type",
         "How batches are stored: as they came (producer), or compressed anew by the broker."}),
    number<kCount, Range{-131072, 22}, &Topic::compression_zstd_level>(
        {"compression.zstd.level", "compression.zstd.level",
         "Level when the broker compresses with zstd."}),
    number<kMs, Range{0, kAny}, &Topic::delete_retention_ms>(
        {"delete.retention.ms", "log.cleaner.delete.retention.ms",
         "How long a tombstone stays at least, from the start of the pass that first cleaned it; "
         "0: until the next pass."}),
    number<kMs, Range{0, kAny}, &Topic::file_delete_delay_ms>(
        {"file.delete.delay.ms", "log.segment.delete.delay.ms",
         "How long a file stays on disk after its segment was replaced or dropped."}),
    number<kCount, Range{1, kAny}, &Topic::flush_messages>(
        {"flush.messages", "log.flush.interval.messages",
         "With durability os: sync a partition after this many records."}),
    number<kMs, Range{0, kAny}, &Topic::flush_ms>(
        {"flush.ms", "log.flush.interval.ms",
         "With durability os: sync a record at the latest this long after its append."}),
    number<kBytes, Range{0, kIntMax}, &Topic::index_interval_bytes>(
        {"index.interval.bytes", "log.index.interval.bytes",
         "An index entry is made when more than this many bytes came since the last one."}),
    number<kMs, Range{1, kAny}, &Topic::max_compaction_lag_ms>(
        {"max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms",
         "A record is compacted at the latest this long after its append, whatever the dirty "
         "ratio."}),
    number<kBytes, Range{0, kIntMax}, &Topic::max_message_bytes>(
        {"max.message.bytes", "message.max.bytes",
         "Largest batch that is taken, as sent; limits.request_bytes bounds it too."}),
    number<kMs, Range{0, kAny}, &Topic::message_timestamp_after_max_ms>(
        {"message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms",
         "A record whose timestamp is further ahead of the broker's clock is refused."}),
    number<kMs, Range{0, kAny}, &Topic::message_timestamp_before_max_ms>(
        {"message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms",
         "A record whose timestamp is further behind the broker's clock is refused."}),
    choice<kTimestampWords, &Topic::message_timestamp_type>(
        {"message.timestamp.type", "log.message.timestamp.type",
         "Whether records keep the producer's timestamp or get the moment of their append."}),
    TopicSetting{.name = "min.cleanable.dirty.ratio",
                 .kafka_name = "log.cleaner.min.cleanable.ratio",
                 .type = SettingType::kDouble,
                 .unit = kCount,
                 .allowed = "0 to 1",
                 .meaning = "A log that is still written to is compacted when more than this share "
                            "of it is dirty.",
                 .set = &set_dirty_ratio,
                 .get = &get_dirty_ratio},
    number<kMs, Range{0, kAny}, &Topic::min_compaction_lag_ms>(
        {"min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms",
         "A record is not compacted away for at least this long after its append."}),
    TopicSetting{.name = "min.insync.replicas",
                 .kafka_name = "min.insync.replicas",
                 .type = SettingType::kInt,
                 .unit = kCount,
                 .allowed = "1",
                 .meaning = "Copies that must have a record before acks=all is answered; there is "
                            "one node.",
                 .set = &set_insync_replicas,
                 .get = &get_insync_replicas,
                 .range = SettingRange{1, 1}},
    setting_row::bool_row<TopicOptions, &Topic::preallocate>(
        {"preallocate", "log.preallocate",
         "Whether a new segment takes its whole space on disk at once."}),
    number<kBytes, Range{-1, kAny}, &Topic::retention_bytes>(
        {"retention.bytes", "log.retention.bytes",
         "With policy delete: size of a partition above which its oldest segments go; -1: no "
         "limit."}),
    number<kMs, Range{-1, kAny}, &Topic::retention_ms>(
        {"retention.ms", "log.retention.ms",
         "With policy delete: age at which a segment goes, by its newest record timestamp; -1: no "
         "limit."}),
    number<kBytes, Range{kKibibyte, kIntMax}, &Topic::segment_bytes>(
        {"segment.bytes", "log.segment.bytes",
         "Size at which a segment is closed and a new one begun."}),
    // Room for one entry of either index: less would close a segment before its first batch.
    number<kBytes, Range{12, kIntMax}, &Topic::segment_index_bytes>(
        {"segment.index.bytes", "log.index.size.max.bytes",
         "Size of an index file at which its segment is closed."}),
    number<kMs, Range{0, kAny}, &Topic::segment_jitter_ms>(
        {"segment.jitter.ms", "log.roll.jitter.ms",
         "A random part of this is taken off segment.ms, so that not all segments close "
         "together."}),
    number<kMs, Range{1, kAny}, &Topic::segment_ms>(
        {"segment.ms", "log.roll.ms",
         "Age at which a segment is closed by the clock, with or without new records; only closed "
         "segments are compacted."}),
};
static_assert(std::ranges::is_sorted(kSettings, {}, &TopicSetting::name));

constexpr std::array<std::string_view, 7> kIgnored{
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "local.retention.*",
    "message.downconversion.enable",
    "message.format.version",
    "remote.*",
    "unclean.leader.election.enable",
};

}  // namespace

std::span<const TopicSetting> topic_settings() { return kSettings; }

const TopicSetting* find_topic_setting(std::string_view name) {
  const auto found = std::ranges::lower_bound(kSettings, name, {}, &TopicSetting::name);
  return found != kSettings.end() && found->name == name ? &*found : nullptr;
}

std::span<const std::string_view> ignored_topic_settings() { return kIgnored; }

bool is_ignored_topic_setting(std::string_view name) {
  return std::ranges::any_of(kIgnored, [name](std::string_view ignored) {
    if (!ignored.ends_with('*')) return name == ignored;
    ignored.remove_suffix(1);
    return name.size() > ignored.size() && name.starts_with(ignored);
  });
}

std::string unknown_topic_setting(std::string_view name, std::string_view also_valid) {
  std::vector<std::string_view> names;
  if (!also_valid.empty()) names.push_back(also_valid);
  for (const TopicSetting& setting : kSettings) names.push_back(setting.name);
  const std::string_view nearest = nearest_name(name, names);
  std::string error = fmt::format("unknown topic setting {}", in_quotes(name));
  if (!nearest.empty()) error += fmt::format("; did you mean \"{}\"?", nearest);
  return error;
}

TopicOptionsOrError make_topic_options(const TopicOptions& defaults,
                                       const std::map<std::string, std::string>& overrides) {
  TopicOptionsOrError result{.options = defaults};
  for (const auto& [name, value] : overrides) {
    const TopicSetting* const setting = find_topic_setting(name);
    if (setting == nullptr) {
      if (is_ignored_topic_setting(name)) continue;
      result.error = unknown_topic_setting(name);
      return result;
    }
    if (const auto refusal = setting->set(result.options, value)) {
      result.error = fmt::format("{}: {} is refused: {}", name, in_quotes(value), *refusal);
      return result;
    }
  }
  const TopicOptions& options = result.options;
  if (options.min_compaction_lag_ms > options.max_compaction_lag_ms) {
    result.error = fmt::format(
        "min.compaction.lag.ms ({}) is above max.compaction.lag.ms ({}); lower the "
        "first or raise the second",
        options.min_compaction_lag_ms, options.max_compaction_lag_ms);
  }
  return result;
}

}  // namespace lastword
