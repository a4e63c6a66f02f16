// SPDX-License-Identifier: Apache-2.0
// How fast a cleaner pass is, by record size: MB of log a second on one thread, and CPU seconds a
// GB.
//
//   bench_cleaner [--smoke] [--mib N] [DIRECTORY]
//
// A log of uncompressed 16 KiB batches with random keys, each about twice, is compacted in one pass
// on real files (in DIRECTORY, or the system's place for temporary ones). `--smoke` takes a small
// log.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include "cleaner/cleaner.h"
#include "storage/posix_file_system.h"
#include "storage/topic_store.h"
#include "tests/support/batches.h"

namespace {

using namespace lastword;

constexpr std::int64_t kBatchBytes = 16 * kKibibyte;
constexpr double kMegabyte = 1e6;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Stops the program when something that must work does not.
void must(bool works, const char* what) {
  if (works) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

struct Case {
  std::int64_t record_bytes = 0;
  Codec codec = Codec::kNone;
};

void fill(storage::Log& log, const Case& one, std::int64_t log_bytes) {
  std::mt19937_64 random(7);
  const std::int64_t records = log_bytes / one.record_bytes;
  const std::int64_t per_batch = std::max<std::int64_t>(1, kBatchBytes / one.record_bytes);
  std::string value(static_cast<std::size_t>(one.record_bytes - 20), ' ');
  for (char& c : value) c = static_cast<char>('a' + random() % 26);
  for (std::int64_t written = 0; written < records; written += per_batch) {
    test::BatchSpec spec;
    spec.codec = one.codec;
    for (std::int64_t i = 0; i < per_batch; ++i) {
      const auto key = random() % static_cast<std::uint64_t>(records / 2 + 1);
      spec.records.push_back({"k" + std::to_string(1'000'000'000 + key), value});
    }
    CheckedBatch batch = test::checked_batch(spec);
    must(static_cast<bool>(log.append(batch)), "append");
  }
  must(static_cast<bool>(log.close_active()), "closing the segment");
  must(static_cast<bool>(log.sync()), "sync");
}

void run(const std::string& directory, const Case& one, std::int64_t log_bytes) {
  storage::PosixFileSystem files;
  storage::SystemClock clock;
  BrokerOptions options;
  options.data_dir = directory;
  options.durability = Durability::kOs;
  options.limits.disk_reserve_bytes = 0;
  auto store = storage::TopicStore::open(files, clock, options,
                                         [](storage::Severity, const std::string&) {});
  must(static_cast<bool>(store), "opening the directory");
  must(static_cast<bool>(
           (*store)->create({.name = "t", .overrides = {{"cleanup.policy", "compact"}}})),
       "making a topic");
  (*store)->load(1);
  const auto partition = (*store)->partition("t", 0);
  must(partition->log() != nullptr, "opening the log");
  fill(*partition->log(), one, log_bytes);

  cleaner::Cleaner cleaner(**store, options, {});
  const auto start = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  cleaner.run_due();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double cpu_took = cpu_seconds() - cpu;

  const cleaner::PassReport report = cleaner.report(*partition).last_pass;
  const double log_megabytes = static_cast<double>(report.read_bytes) / 2 / kMegabyte;
  std::printf("%8lld  %-6s  %8.0f  %9.0f  %8.0f  %10.2f  %10lld\n",
              static_cast<long long>(one.record_bytes), std::string(codec_name(one.codec)).c_str(),
              log_megabytes, log_megabytes / took.count(),
              static_cast<double>(report.written_bytes) / kMegabyte,
              cpu_took / log_megabytes * 1000, static_cast<long long>(report.records_dropped));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t log_bytes = 512 * kMebibyte;
  std::string root = std::filesystem::temp_directory_path() / "lastword-bench-cleaner";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--smoke") {
      log_bytes = 4 * kMebibyte;
    } else if (argument == "--mib" && i + 1 < argc) {
      log_bytes = std::stoll(argv[++i]) * kMebibyte;
    } else {
      root = argument + "/lastword-bench-cleaner";
    }
  }
  std::printf("  record  codec    log MB  MB/s log  wrote MB  CPU s / GB     dropped\n");
  for (const Case& one :
       {Case{100}, Case{1024}, Case{10240}, Case{1024, Codec::kLz4}, Case{1024, Codec::kZstd}}) {
    std::filesystem::remove_all(root);
    run(root, one, log_bytes);
  }
  std::filesystem::remove_all(root);
  return 0;
}
