// SPDX-License-Identifier: Apache-2.0
// Any bytes as the files of a partition: opening answers, reads and lookups stay within what is
// there, and what was opened once opens again and takes an append. The first byte picks the file
// that is given; the others are those of a good log, so that it gets behind the manifest.
#include <cstddef>
#include <cstdint>

#include "protocol/check.h"
#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/file_names.h"
#include "storage/log.h"
#include "tests/support/batches.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_file_system.h"

namespace {

using namespace lastword;
using namespace lastword::storage;

constexpr const char* kDirectory = "/data/fuzz-0";
constexpr int kReadsMax = 10000;

class Partition {
 public:
  Partition() {
    options_.segment_bytes = 300;
    options_.index_interval_bytes = 50;
    LW_CHECK(static_cast<bool>(files_.create_directories("/data")));
  }

  Result<std::unique_ptr<Log>> open() {
    return Log::open(env_, {"fuzz-0", kDirectory, {}},
                     std::make_shared<const TopicOptions>(options_));
  }

  /// Two closed segments and an active one, with a producer and a tombstone.
  void fill(Log& log) {
    for (int i = 0; i < 7; ++i) append(log, i);
    LW_CHECK(static_cast<bool>(log.sync()));
  }
  void append(Log& log, int sequence) {
    auto batch = test::checked_batch({.records = {{"key", "value"}, {"key", std::nullopt}},
                                      .codec = sequence % 2 == 0 ? Codec::kNone : Codec::kZstd,
                                      .producer_id = 5,
                                      .base_sequence = 2 * sequence});
    static_cast<void>(log.append(batch));
  }

  void replace(const std::string& name, ByteView bytes) {
    auto file = files_.open(path_in(kDirectory, name), OpenMode::kCreate);
    LW_CHECK(file && (*file)->write_at(0, bytes));
    cache_.drop(path_in(kDirectory, name));
  }
  /// Overwrites the end of what is there.
  void change(const std::string& name, ByteView bytes) {
    const std::string path = path_in(kDirectory, name);
    const std::size_t size = files_.content(path).size();
    if (bytes.size() > size) bytes = bytes.first(size);
    if (!bytes.empty()) files_.damage(path, size - bytes.size(), bytes);
    cache_.drop(path);
  }

 private:
  test::ManualClock clock_{};
  test::MemoryFileSystem files_{&clock_};
  FileCache cache_{files_, 64};
  DiskReserve reserve_{files_, "/data/reserve", 0};
  Environment env_{.files = files_,
                   .clock = clock_,
                   .cache = cache_,
                   .reserve = reserve_,
                   .report = [](Severity, const std::string&) {}};
  TopicOptions options_{};
};

void walk(Log& log) {
  const Offsets offsets = log.offsets();
  LW_CHECK(offsets.log_start <= offsets.high_watermark);
  LW_CHECK(offsets.high_watermark <= offsets.log_end);
  Offset from = offsets.log_start;
  for (int reads = 0; reads < kReadsMax && from < offsets.high_watermark; ++reads) {
    auto plan = log.read(from, {.bytes_max = 200});
    if (!plan || plan->ranges.empty()) break;
    LW_CHECK(plan->next_offset > from);
    for (const FileRange& range : plan->ranges) {
      Bytes bytes(range.length_bytes);
      auto read = range.source->read_at(range.position, bytes);
      LW_CHECK(read && *read == bytes.size());
    }
    from = plan->next_offset;
  }
  for (const TimestampMs at : {std::int64_t{0}, test::kBatchTime, kUnlimited}) {
    static_cast<void>(log.find_timestamp(at));
  }
  static_cast<void>(log.find_max_timestamp());
  static_cast<void>(log.readable_bytes(offsets.log_start));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static constexpr const char* kNames[] = {
      "manifest",
      "00000000000000000000.log",
      "00000000000000000000.index",
      "00000000000000000000.timeindex",
      "00000000000000000012.log",
      "00000000000000000012.index",
      "00000000000000000012.timeindex",
      "00000000000000000012.snapshot",
  };
  const std::string name = kNames[data[0] % std::size(kNames)];
  const bool whole = (data[0] & 0x80) != 0;
  const ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));

  Partition partition;
  {
    auto log = partition.open();
    LW_CHECK(static_cast<bool>(log));
    partition.fill(**log);
    if ((data[0] & 0x40) != 0) LW_CHECK(static_cast<bool>((*log)->close()));
  }
  whole ? partition.replace(name, bytes) : partition.change(name, bytes);
  for (int i = 0; i < 2; ++i) {
    auto log = partition.open();
    if (!log) return 0;
    walk(**log);
    partition.append(**log, 100 + i);
    static_cast<void>((*log)->sync());
    walk(**log);
  }
  return 0;
}
