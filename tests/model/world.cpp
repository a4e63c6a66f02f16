// SPDX-License-Identifier: Apache-2.0
#include "tests/model/world.h"

#include <algorithm>
#include <set>

#include "storage/file_names.h"
#include "storage/manifest.h"

namespace lastword::model {
namespace {

constexpr std::size_t kReportsKept = 15;
constexpr std::size_t kProducers = 3;

std::string name_of(const PartitionWorld& partition) {
  return partition.topic + "-" + std::to_string(partition.index);
}

/// Everything that the manifest accounts for.
std::set<std::string> listed_files(const storage::Manifest& manifest) {
  std::set<std::string> names{std::string(storage::kManifestName)};
  for (const storage::SegmentInfo& info : manifest.segments) {
    for (const auto file : {storage::SegmentFile::kLog, storage::SegmentFile::kOffsetIndex,
                            storage::SegmentFile::kTimeIndex}) {
      names.insert(storage::segment_file_name({info.base_offset, info.generation, file}));
    }
  }
  if (manifest.producer_snapshot) {
    names.insert(storage::producer_snapshot_name(*manifest.producer_snapshot));
  }
  return names;
}

}  // namespace

World::World(std::uint64_t seed) : random(seed), options(random_options(random)) {
  for (const auto& [name, topic] : options.topics) {
    for (std::int32_t i = 0; i < topic.partitions; ++i) {
      partitions.push_back({.topic = name, .index = i});
    }
  }
  files_.on_failed_sync([this](const std::string& path) {
    if (lose_pages_) memory.lose_unsynced(path);
  });
}

World::~World() { stop(); }

void World::stop() {
  cleaner_.reset();
  store_.reset();
}

std::shared_ptr<storage::Log> World::log_ptr(const PartitionWorld& partition) const {
  const auto found = store_->partition(partition.topic, partition.index);
  return found ? found->log() : nullptr;
}

// ---- start and stop ----------------------------------------------------------------------------

std::string World::start() {
  static_cast<void>(memory.create_directories("/data"));
  static_cast<void>(memory.sync_directory("/"));
  if (auto wrong = open(); !wrong.empty()) return wrong;
  for (std::size_t i = 0; i < kProducers; ++i) {
    const auto id = store_->next_producer_id();
    if (!id) return id.error().text;
    producer_ids.push_back(*id);
  }
  return {};
}

std::string World::open() {
  files_.let_sync();
  files_.clear();
  syncs_fail_ = had_failures_ = false;
  const auto report = [this](storage::Severity, const std::string& line) {
    reports.push_back(line);
    if (reports.size() > kReportsKept) reports.pop_front();
  };
  auto opened = storage::TopicStore::open(files_, clock, options, report);
  if (!opened && memory.stopped()) return crash_again();
  if (!opened) return "the store does not open: " + opened.error().text;
  store_ = *std::move(opened);
  store_->load(1);
  store_->wait_until_tidy();
  if (memory.stopped()) return crash_again();
  cleaner_ = std::make_unique<cleaner::Cleaner>(*store_, options, nullptr);
  for (PartitionWorld& partition : partitions) {
    if (auto wrong = resume(partition); !wrong.empty()) {
      return name_of(partition) + ": " + wrong;
    }
  }
  in_passes_ = may_lose_ = false;
  return {};
}

/// A start that is interrupted itself.
std::string World::crash_again() {
  return crash(may_lose_ ? test::CrashKind::kPower : test::CrashKind::kProcess);
}

/// What a start made of a partition: first how much of it is there, then what.
std::string World::resume(PartitionWorld& partition) {
  if (!log_ptr(partition)) {
    return "does not open: " + store_->partition(partition.topic, partition.index)->failure();
  }
  PartitionModel& model = partition.model;
  const storage::LogView view = log(partition).view();
  const Offset end = view.offsets.log_end;
  if (partition.pending && end == partition.pending->last_offset + 1) {
    model.append(*partition.pending);
  }
  partition.pending.reset();
  const Offset least = may_lose_ ? partition.acknowledged : model.log_end();
  if (end < least || end > model.log_end()) {
    return "the log ends at " + std::to_string(end) + " after a start; it should be " +
           std::to_string(least) + " to " + std::to_string(model.log_end());
  }
  model.cut(end);
  if (view.offsets.high_watermark != end) return "what is there after a start is not readable";
  for (const storage::DamagedRange& range : view.damaged) {
    if (may_lose_ && range.last_offset >= partition.acknowledged) {
      model.lose(std::max(range.first_offset, partition.acknowledged), range.last_offset);
    }
  }
  if (auto wrong = check_files(partition); !wrong.empty()) return wrong;
  return compare(partition, {.passes = in_passes_, .restarted = true});
}

std::string World::check_files(const PartitionWorld& partition) const {
  const std::string directory = log(partition).view().directory;
  const auto manifest = storage::load_manifest(store_->environment(), directory);
  if (!manifest) return manifest.error().text;
  const auto names = memory.list(directory);
  if (!names) return names.error().text;
  const std::set<std::string> listed = listed_files(*manifest);
  for (const std::string& name : *names) {
    if (!listed.contains(name)) return "a start left the file " + name;
  }
  return {};
}

std::string World::stop_and_start() {
  ++coverage.clean_restarts;
  const bool works = std::none_of(partitions.begin(), partitions.end(),
                                  [this](const auto& partition) { return hindered(partition); });
  // One after the other, so that equal seeds make equal histories.
  for (const PartitionWorld& partition : partitions) {
    const auto closed = log(partition).close();
    if (memory.stopped()) return crash(test::CrashKind::kProcess);
    if (!closed && works) return name_of(partition) + " does not close: " + closed.error().text;
  }
  const auto closed = store_->close(std::chrono::steady_clock::now() + std::chrono::seconds(60));
  if (memory.stopped()) return crash(test::CrashKind::kProcess);
  if (!closed && works) return "the store does not close: " + closed.error().text;
  stop();
  if (works && survives_power_cuts() && random.percent(30)) {
    // What was closed is on disk, whoever waited for it.
    for (PartitionWorld& partition : partitions) {
      partition.acknowledged = partition.model.log_end();
    }
    return crash(test::CrashKind::kPower);
  }
  return open();
}

std::string World::crash(test::CrashKind kind) {
  ++(kind == test::CrashKind::kPower ? coverage.power_cuts : coverage.kills);
  coverage.stopped_within += memory.stopped();
  stop();
  memory.crash(random.next(), kind);
  may_lose_ = may_lose_ || kind == test::CrashKind::kPower;
  return open();
}

// ---- what goes on ------------------------------------------------------------------------------

bool World::hindered(const PartitionWorld& partition) const {
  return syncs_fail_ || memory.stopped() || log(partition).offsets().fenced;
}

void World::fail_syncs(bool of_all_files, const PartitionWorld& partition) {
  syncs_fail_ = had_failures_ = true;
  lose_pages_ = !of_all_files;
  files_.fail_syncs(of_all_files ? "" : log(partition).view().directory + "/0");
}

std::string World::heal() {
  files_.let_sync();
  syncs_fail_ = false;
  for (PartitionWorld& partition : partitions) {
    storage::Log& log = this->log(partition);
    if (!log.offsets().fenced) continue;
    ++coverage.fences;
    const auto healed = log.heal();
    if (!healed && !memory.stopped()) return "does not heal: " + healed.error().text;
    if (!healed) continue;
    if (healed->fenced || healed->high_watermark != healed->log_end) {
      return "a healed log does not end at its high watermark";
    }
    partition.acknowledged = healed->high_watermark;
  }
  return {};
}

std::string World::run_due() {
  in_passes_ = true;
  const TimestampMs next = cleaner_->run_due();
  if (memory.stopped()) return {};
  in_passes_ = false;
  bool free = !had_failures_;
  std::string wrong;
  for (PartitionWorld& partition : partitions) {
    const auto report = cleaner_->report(*store_->partition(partition.topic, partition.index));
    const bool quarantined = !report.quarantine_reason.empty();
    if (quarantined && !had_failures_ && !partition.model.has_lost()) {
      return name_of(partition) + " is in quarantine: " + report.quarantine_reason;
    }
    const bool settled = !quarantined && !hindered(partition);
    free = free && settled;
    if (report.last_pass.at_ms == clock.now_ms() && report.last_pass.rounds > 1) {
      coverage.rounds += static_cast<std::uint64_t>(report.last_pass.rounds) - 1;
    }
    wrong = compare(partition, {.passes = true, .settled = settled});
    if (!wrong.empty()) return wrong;
  }
  if (free && next <= clock.now_ms()) return "something is due at once, and was not done";
  return {};
}

std::string World::apply(const BrokerOptions& changed) {
  const auto applied = store_->apply(changed);
  if (memory.stopped() || syncs_fail_) {
    if (!applied) return {};
  }
  if (!applied) return "settings are refused: " + applied.error().text;
  options = changed;
  cleaner_->set_options(options);
  return {};
}

std::string World::compare(PartitionWorld& partition, const Since& since) {
  auto seen = observe(log(partition), clock.now_ms());
  if (!seen) return name_of(partition) + ": " + seen.error().text;
  const Step step{.model = partition.model,
                  .before = partition.seen,
                  .after = *seen,
                  .passes = since.passes,
                  .settled = since.settled,
                  .restarted = since.restarted};
  if (auto wrong = broken_invariant(step); !wrong.empty()) {
    return name_of(partition) + ": " + wrong;
  }
  coverage.expired += expired_tombstones(step);
  const Offset start = seen->offsets().log_start;
  for (const auto& [offset, record] : partition.seen.records) {
    if (seen->records.contains(offset)) continue;
    ++(offset < start ? coverage.retained_away : coverage.compacted_away);
  }
  partition.acknowledged = std::max(partition.acknowledged, seen->offsets().high_watermark);
  partition.seen = *std::move(seen);
  return {};
}

std::string World::compare_all(const Since& since) {
  for (PartitionWorld& partition : partitions) {
    if (auto wrong = compare(partition, since); !wrong.empty()) return wrong;
  }
  return {};
}

std::string World::check_each_offset(PartitionWorld& partition) {
  const auto checked = observe_each_offset(log(partition), partition.seen);
  return checked ? "" : name_of(partition) + ": " + checked.error().text;
}

// ---- coverage ----------------------------------------------------------------------------------

namespace {

struct Counter {
  const char* name;
  std::uint64_t Coverage::*count;
};
constexpr Counter kCounters[] = {
    {"steps", &Coverage::steps},
    {"records sent", &Coverage::records},
    {"duplicates", &Coverage::duplicates},
    {"refused batches", &Coverage::refused},
    {"clean restarts", &Coverage::clean_restarts},
    {"kills", &Coverage::kills},
    {"power cuts", &Coverage::power_cuts},
    {"stops within an operation", &Coverage::stopped_within},
    {"fences", &Coverage::fences},
    {"further rounds of a pass", &Coverage::rounds},
    {"expired tombstones", &Coverage::expired},
    {"records compacted away", &Coverage::compacted_away},
    {"records retained away", &Coverage::retained_away},
    {"tables compared", &Coverage::table_compared},
    {"table readers told", &Coverage::table_told},
};

}  // namespace

void Coverage::add(const Coverage& other) {
  for (const Counter& counter : kCounters) this->*counter.count += other.*counter.count;
}

std::string Coverage::text() const {
  std::string text;
  for (const Counter& counter : kCounters) {
    text += std::string(counter.name) + ": " + std::to_string(this->*counter.count) + "\n";
  }
  return text;
}

std::string Coverage::missing() const {
  for (const Counter& counter : kCounters) {
    if (this->*counter.count == 0) return counter.name;
  }
  return {};
}

}  // namespace lastword::model
