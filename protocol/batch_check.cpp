// SPDX-License-Identifier: Apache-2.0
#include "protocol/batch_check.h"

#include <algorithm>
#include <utility>

#include "protocol/record_codec.h"

namespace lastword {
namespace {

constexpr std::size_t kScratchKeptBytes = 1u << 20;  // per thread, between batches

std::string number(std::int64_t value) { return std::to_string(value); }

CompressionChoice choice_of(const TopicOptions& options) {
  switch (options.compression_type) {
    case CompressionType::kGzip:
      return {Codec::kGzip, options.compression_gzip_level};
    case CompressionType::kSnappy:
      return {Codec::kSnappy, kDefaultLevel};
    case CompressionType::kLz4:
      // Kafka's default, 9, stands for the fast compressor; the other levels for the thorough one.
      return {Codec::kLz4, options.compression_lz4_level == TopicOptions{}.compression_lz4_level
                               ? kDefaultLevel
                               : options.compression_lz4_level};
    case CompressionType::kZstd:
      return {Codec::kZstd, options.compression_zstd_level};
    case CompressionType::kProducer:
    case CompressionType::kUncompressed:
      break;
  }
  return {};
}

/// The timestamps that a record may have, saturated at both ends.
struct TimestampBounds {
  TimestampMs oldest = std::numeric_limits<TimestampMs>::min();
  TimestampMs newest = std::numeric_limits<TimestampMs>::max();

  TimestampBounds(const BatchRules& rules, TimestampMs now) {
    if (rules.timestamp_type == TimestampType::kLogAppendTime) return;
    if (rules.timestamp_before_max_ms != kUnlimited) oldest = now - rules.timestamp_before_max_ms;
    if (rules.timestamp_after_max_ms <= newest - now) newest = now + rules.timestamp_after_max_ms;
  }
  /// -1, "no timestamp", passes.
  bool allow(TimestampMs timestamp) const {
    return (timestamp >= oldest && timestamp <= newest) || timestamp == -1;
  }
};

/// The buffer for unpacked records of the calling thread, made small again after use.
class ThreadScratch {
 public:
  ThreadScratch() = default;
  ThreadScratch(const ThreadScratch&) = delete;
  ThreadScratch& operator=(const ThreadScratch&) = delete;
  ~ThreadScratch() {
    if (bytes().capacity() > kScratchKeptBytes) Bytes().swap(bytes());
  }
  Bytes& bytes() {
    thread_local Bytes buffer;
    return buffer;
  }
};

}  // namespace

/// One check of one batch, step by step; each step may refuse.
struct BatchChecker {
  using Refused = std::optional<BatchRefusal>;

  BatchChecker(std::span<std::byte> bytes, const BatchRules& batch_rules, TimestampMs clock)
      : batch(bytes), rules(batch_rules), now(clock), bounds(batch_rules, clock) {}

  static BatchRefusal refuse(ErrorKind kind, std::string text) {
    return {kind, std::move(text), {}};
  }
  static BatchRefusal invalid(std::string text) {
    return refuse(ErrorKind::kInvalidRecord, std::move(text));
  }

  std::variant<CheckedBatch, BatchRefusal> run() {
    for (const auto step :
         {&BatchChecker::check_shape, &BatchChecker::check_codec, &BatchChecker::check_size_and_crc,
          &BatchChecker::check_counts, &BatchChecker::check_attributes,
          &BatchChecker::check_producer, &BatchChecker::unpack, &BatchChecker::walk,
          &BatchChecker::set_timestamps, &BatchChecker::recompress}) {
      if (Refused refused = (this->*step)()) return std::move(*refused);
    }
    checked.header_ = header;
    if (!checked.owned_) checked.view_ = batch;
    return std::move(checked);
  }

  // ---- the header --------------------------------------------------------------------------

  Refused check_shape() {
    if (batch.empty()) return invalid("no record batch: send exactly one for each partition");
    const auto read = read_batch_header(batch);
    if (!read) {
      return refuse(ErrorKind::kCorruptBatch,
                    "batch of " + number(std::ssize(batch)) + " bytes is shorter than its header");
    }
    header = *read;
    if (header.magic != kBatchMagic) {
      return invalid("message format " + number(header.magic) +
                     " is not accepted: use a client that writes format 2 (Kafka 0.11 or later)");
    }
    if (header.batch_length < 0 || header.size_bytes() != batch.size()) {
      return invalid("batch length " + number(header.batch_length) + " does not fit the " +
                     number(std::ssize(batch)) + " bytes sent: send exactly one whole batch");
    }
    return {};
  }

  Refused check_codec() {
    if (header.codec() > Codec::kZstd) {
      return refuse(ErrorKind::kUnsupportedCompression,
                    "compression codec " + number(header.codec_bits()) +
                        " is not known: use none, gzip, snappy, lz4 or zstd");
    }
    if (header.codec() == Codec::kZstd && !rules.zstd_allowed) {
      return refuse(ErrorKind::kUnsupportedCompression,
                    "zstd needs Produce version 7 or later: use a newer client or another codec");
    }
    return {};
  }

  Refused check_size(std::int64_t size, std::string_view when) const {
    if (size <= rules.max_message_bytes) return {};
    return refuse(ErrorKind::kBatchTooLarge,
                  "batch of " + number(size) + " bytes" + std::string(when) +
                      " is larger than max.message.bytes (" + number(rules.max_message_bytes) +
                      "): send smaller batches or raise the setting");
  }

  Refused check_size_and_crc() {
    if (Refused refused = check_size(std::ssize(batch), "")) return refused;
    if (crc_holds(batch)) return {};
    return refuse(ErrorKind::kCorruptBatch,
                  "checksum of the batch does not match: it was damaged on its way, send it again");
  }

  // The base offset is not looked at: the log writes it.
  Refused check_counts() {
    if (header.record_count <= 0) return invalid("batch without records");
    if (std::int64_t{header.last_offset_delta} + 1 == header.record_count) return {};
    return invalid("batch says it has " + number(header.record_count) +
                   " records, but its last offset delta is " + number(header.last_offset_delta));
  }

  Refused check_attributes() {
    constexpr int kKnown = batch_attribute::kCodecMask | batch_attribute::kLogAppendTime |
                           batch_attribute::kTransactional | batch_attribute::kControl;
    if (header.has(batch_attribute::kControl)) {
      return invalid("control batches are written by the broker only: leave attribute bit 5 clear");
    }
    if (header.has(batch_attribute::kTransactional)) {
      return invalid("transactions are not offered: produce without a transactional id");
    }
    if (header.has(batch_attribute::kDeleteHorizon)) {
      return invalid("delete horizons are set by the broker only: leave attribute bit 6 clear");
    }
    if ((header.attributes & ~kKnown) != 0) {
      return invalid("batch has unknown attributes " + number(header.attributes) +
                     ": leave attribute bits 7 to 15 clear");
    }
    return {};
  }

  Refused check_producer() {
    if (!header.has_producer() || (header.base_sequence >= 0 && header.producer_epoch >= 0)) {
      return {};
    }
    return invalid("producer id " + number(header.producer_id) + " comes with sequence " +
                   number(header.base_sequence) + " and epoch " + number(header.producer_epoch) +
                   ": both must be 0 or more");
  }

  // ---- the records -------------------------------------------------------------------------

  Refused unpack() {
    records = ByteView(batch).subspan(kBatchHeaderBytes);
    if (header.codec() == Codec::kNone) return {};
    const OutputLimit limit{rules.decompressed_bytes_max, &turn};
    if (auto result = decompress(header.codec(), records, limit, scratch.bytes()); !result) {
      BatchRefusal refused = refuse(result.error().kind, result.error().text);
      refused.unpacks_to_more = refused.kind == ErrorKind::kInvalidRecord;
      return refused;
    }
    records = scratch.bytes();
    return {};
  }

  Refused walk() {
    record_codec::Span in{records.data(), records.data() + records.size()};
    record_codec::ParsedRecord record;
    for (std::int32_t index = 0; index < header.record_count; ++index) {
      const char* problem = in.empty() ? "is missing" : record_codec::parse_record(in, record);
      if (problem == nullptr && record.offset_delta != index) {
        problem = "has the wrong offset delta: they count up from 0";
      }
      if (problem != nullptr) return broken_record(index, problem);
      const TimestampMs timestamp =
          record_codec::wrapping_add(header.base_timestamp, record.timestamp_delta);
      if (index == 0 || timestamp > max_timestamp) {
        max_timestamp = timestamp;
        checked.max_timestamp_offset_delta_ = index;
      }
      checked.tombstone_count_ += record.value.is_null() ? 1 : 0;
      if (rules.key_required && record.key.is_null()) {
        note_keyless(index);
      } else if (!bounds.allow(timestamp)) {
        note_timestamp(index, timestamp);
      }
    }
    if (!in.empty()) {
      return invalid("batch has bytes left over after its " + number(header.record_count) +
                     " records");
    }
    return verdict();
  }

  BatchRefusal broken_record(std::int32_t index, const char* problem) {
    std::string text = "record " + number(index) + " " + problem;
    bad_records.push_back({index, text});
    return {ErrorKind::kInvalidRecord, std::move(text), std::move(bad_records)};
  }

  void note_keyless(std::int32_t index) {
    note(index,
         [&] { return "record " + number(index) + " has no key: a compacted topic needs one"; });
  }

  void note_timestamp(std::int32_t index, TimestampMs timestamp) {
    timestamps_hold = false;
    note(index, [&] {
      const bool early = timestamp < bounds.oldest;
      const std::string side = early ? "before" : "after";
      const std::int64_t most =
          early ? rules.timestamp_before_max_ms : rules.timestamp_after_max_ms;
      return "record " + number(index) + " has timestamp " + number(timestamp) + ", more than " +
             number(most) + " ms " + side + " the broker's clock (" + number(now) +
             "): correct the producer's clock or raise message.timestamp." + side + ".max.ms";
    });
  }

  /// Counts a bad record, and lists it while there is room.
  template <class MakeText>
  void note(std::int32_t index, MakeText make_text) {
    ++bad_count;
    if (bad_records.size() < kRefusedRecordsMax) bad_records.push_back({index, make_text()});
  }

  Refused verdict() {
    if (header.has(batch_attribute::kLogAppendTime)) {
      return BatchRefusal{ErrorKind::kInvalidTimestamp,
                          "log append time is set by the broker only: leave attribute bit 3 clear",
                          std::move(bad_records)};
    }
    if (bad_count == 0) return {};
    std::string text = bad_records.front().text;
    if (bad_count > 1) text += "; " + number(bad_count) + " records are refused in all";
    return BatchRefusal{timestamps_hold ? ErrorKind::kInvalidRecord : ErrorKind::kInvalidTimestamp,
                        std::move(text), std::move(bad_records)};
  }

  // ---- what the broker changes -------------------------------------------------------------

  Refused set_timestamps() {
    const bool append_time = rules.timestamp_type == TimestampType::kLogAppendTime;
    if (append_time) {
      set_attributes(batch_attribute::kLogAppendTime, batch_attribute::kLogAppendTime);
      checked.max_timestamp_offset_delta_ = 0;
      max_timestamp = now;
    } else if (header.max_timestamp == max_timestamp) {
      return {};
    }
    header.max_timestamp = max_timestamp;
    seal(batch);
    return {};
  }

  Refused recompress() {
    if (!rules.recompress || rules.recompress->codec == header.codec()) return {};
    const CompressionChoice target = *rules.recompress;
    const std::string when = " once packed as " + std::string(codec_name(target.codec));
    if (target.codec == Codec::kNone) {
      const auto size = static_cast<std::int64_t>(kBatchHeaderBytes + records.size());
      if (Refused refused = check_size(size, when)) return refused;
    }
    Bytes packed(kBatchHeaderBytes);
    if (auto result = compress(target, records, packed); !result) {
      return refuse(result.error().kind, result.error().text);
    }
    if (Refused refused = check_size(std::ssize(packed), when)) return refused;
    set_attributes(batch_attribute::kCodecMask, static_cast<int>(target.codec));
    header.batch_length = static_cast<std::int32_t>(packed.size() - kBatchPrefixBytes);
    seal(packed);
    checked.owned_ = std::move(packed);
    return {};
  }

  void set_attributes(int mask, int bits) {
    header.attributes = static_cast<std::int16_t>((header.attributes & ~mask) | bits);
  }

  void seal(std::span<std::byte> bytes) {
    write_batch_header(header, bytes);
    seal_batch(bytes);
    header.crc = read_batch_header(bytes)->crc;
  }

  std::span<std::byte> batch;
  const BatchRules& rules;
  TimestampMs now;
  TimestampBounds bounds;
  LargeOutputTurn turn{LargeOutputTurn::Line::kAppend};  // outlives scratch
  ThreadScratch scratch{};
  BatchHeader header{};
  ByteView records{};
  TimestampMs max_timestamp = -1;
  std::vector<BatchRefusal::Record> bad_records{};
  std::int64_t bad_count = 0;
  bool timestamps_hold = true;
  CheckedBatch checked{};
};

BatchRules BatchRules::of(const TopicOptions& options, std::size_t decompressed_bytes_max) {
  BatchRules rules;
  rules.max_message_bytes = options.max_message_bytes;
  rules.key_required = options.cleanup_policy.compact;
  rules.timestamp_type = options.message_timestamp_type;
  rules.timestamp_before_max_ms = options.message_timestamp_before_max_ms;
  rules.timestamp_after_max_ms = options.message_timestamp_after_max_ms;
  if (options.compression_type != CompressionType::kProducer) rules.recompress = choice_of(options);
  rules.decompressed_bytes_max = decompressed_bytes_max;
  return rules;
}

std::variant<CheckedBatch, BatchRefusal> check_batch(std::span<std::byte> records,
                                                     const BatchRules& rules, TimestampMs now) {
  return BatchChecker(records, rules, now).run();
}

std::variant<CheckedBatch, BatchRefusal> check_batch(Bytes&& records, const BatchRules& rules,
                                                     TimestampMs now) {
  auto result = BatchChecker(records, rules, now).run();
  if (auto* checked = std::get_if<CheckedBatch>(&result); checked && !checked->owned_) {
    checked->owned_ = std::move(records);
  }
  return result;
}

}  // namespace lastword
