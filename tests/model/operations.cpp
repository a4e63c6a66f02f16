// SPDX-License-Identifier: Apache-2.0
#include "tests/model/operations.h"

#include <algorithm>
#include <limits>

namespace lastword::model {
namespace {

constexpr std::size_t kHistoryKept = 30;
constexpr std::size_t kStopPercent = 4;        // steps in which the file system stops somewhere
constexpr std::size_t kEachOffsetPercent = 4;  // steps after which every offset is asked for
constexpr std::size_t kOperationsToStop = 15;

}  // namespace

const std::vector<History::Operation>& History::operations() {
  static const std::vector<Operation> all{
      {34, "append", &History::append},      {14, "append idempotent", &History::append_idempotent},
      {6, "resend", &History::resend},       {2, "send wrongly", &History::send_wrongly},
      {9, "sync", &History::sync},           {3, "sync all", &History::sync_all},
      {5, "roll", &History::roll},           {12, "move clock", &History::move_clock},
      {4, "run due", &History::run_due},     {4, "change settings", &History::change_settings},
      {1, "restart", &History::restart},     {1, "kill", &History::kill},
      {2, "cut power", &History::cut_power}, {2, "fail or heal", &History::fail_or_heal},
  };
  return all;
}

std::string History::run(std::uint64_t steps) {
  std::string wrong = world_.start();
  for (step_ = 1; wrong.empty() && step_ <= steps; ++step_) {
    wrong = step();
    ++world_.coverage.steps;
  }
  for (const Reader& reader : readers_) {
    world_.coverage.table_compared += reader.table.compared();
    world_.coverage.table_told += reader.table.told();
  }
  if (wrong.empty()) return {};
  std::string text =
      wrong + "\nseed " + std::to_string(seed_) + ", step " + std::to_string(step_ - 1) +
      "; run it alone with LASTWORD_MODEL_SEED=" + std::to_string(seed_) + "\nlast operations:\n";
  for (const std::string& line : lines_) text += "  " + line + "\n";
  text += "last reports:\n";
  for (const std::string& line : world_.reports) text += "  " + line + "\n";
  return text;
}

std::string History::step() {
  unsigned total = 0;
  for (const Operation& operation : operations()) total += operation.weight;
  auto chosen = static_cast<unsigned>(random_.below(total));
  const Operation* operation = operations().data();
  while (chosen >= operation->weight) chosen -= (operation++)->weight;

  world_.clock.advance(static_cast<std::int64_t>(1 + random_.below(200)));
  lines_.push_back(std::to_string(step_) + " " + operation->name);
  if (lines_.size() > kHistoryKept) lines_.pop_front();
  touched_ = nullptr;
  // While pages are lost, a stop before the fence is written down takes what nobody can know of.
  if (random_.percent(kStopPercent) && !world_.pages_are_lost()) {
    const std::uint64_t left = 1 + random_.below(kOperationsToStop);
    world_.memory.stop_at(world_.memory.operations() + left);
    say("(stops at operation " + std::to_string(left) + ")");
  }
  if (auto wrong = (this->*operation->does)(); !wrong.empty()) return wrong;
  return finish_step();
}

std::string History::finish_step() {
  if (world_.memory.stopped()) {
    return world_.survives_power_cuts() && random_.percent(60) ? cut_power() : kill();
  }
  world_.memory.stop_at(std::numeric_limits<std::uint64_t>::max());
  if (touched_ != nullptr) {
    if (auto wrong = world_.compare(*touched_, {}); !wrong.empty()) return wrong;
  }
  if (random_.percent(kEachOffsetPercent)) {
    PartitionWorld& partition = any_partition();
    if (auto wrong = world_.compare(partition, {}); !wrong.empty()) return wrong;
    if (auto wrong = world_.check_each_offset(partition); !wrong.empty()) return wrong;
  }
  return read_tables();
}

std::string History::read_tables() {
  for (Reader& reader : readers_) {
    if (!random_.percent(30)) continue;
    if (random_.percent(3)) {
      reader.partition = random_.below(world_.partitions.size());
      reader.table.restart();
    }
    const PartitionWorld& partition = world_.partitions[reader.partition];
    const std::uint64_t bytes_max = 1 + random_.below(400);
    auto wrong = reader.table.read_some(world_.log(partition), partition.model, bytes_max);
    if (wrong.empty()) continue;
    return partition.topic + "-" + std::to_string(partition.index) + ": " + wrong;
  }
  return {};
}

// ---- syncs, rolls, time ------------------------------------------------------------------------

std::string History::sync(PartitionWorld& partition) {
  const bool hindered = world_.hindered(partition);
  const auto synced = world_.log(partition).sync();
  if (!synced) {
    const bool excused = hindered || world_.hindered(partition);
    return excused ? "" : "a sync fails: " + synced.error().text;
  }
  partition.acknowledged = synced->high_watermark;
  return synced->high_watermark == synced->log_end ? "" : "a sync left something unsynced";
}

std::string History::sync() {
  PartitionWorld& partition = any_partition();
  say(partition);
  touched_ = &partition;
  return sync(partition);
}

std::string History::sync_all() {
  for (PartitionWorld& partition : world_.partitions) {
    if (auto wrong = sync(partition); !wrong.empty()) return wrong;
    if (world_.memory.stopped()) return {};
  }
  return world_.compare_all({});
}

std::string History::roll() {
  PartitionWorld& partition = any_partition();
  say(partition);
  touched_ = &partition;
  const auto closed = world_.log(partition).close_active();
  if (!closed && !world_.hindered(partition)) return "no roll: " + closed.error().text;
  return {};
}

/// Mostly by any time; sometimes to just before the moment at which a tombstone may go, or to it.
std::string History::move_clock() {
  std::int64_t by_ms =
      random_.pick<std::int64_t>({1000, 30 * kSecondMs, kMinuteMs, 10 * kMinuteMs, kHourMs,
                                  7 * kHourMs, 25 * kHourMs, 192 * kHourMs});
  const auto& waiting = any_partition().seen.waiting;
  if (!waiting.empty() && random_.percent(40)) {
    const auto tombstone =
        std::next(waiting.begin(), static_cast<std::ptrdiff_t>(random_.below(waiting.size())));
    const TimestampMs moment = tombstone->second - static_cast<std::int64_t>(random_.below(2));
    by_ms = std::max<std::int64_t>(1, moment - world_.clock.now_ms());
  }
  say("by " + std::to_string(by_ms) + " ms");
  world_.clock.advance(by_ms);
  return run_due();
}

std::string History::run_due() {
  if (random_.percent(60)) {
    if (auto wrong = sync_all(); !wrong.empty()) return wrong;
    if (world_.memory.stopped()) return {};
  }
  return world_.run_due();
}

std::string History::change_settings() {
  BrokerOptions changed = world_.options;
  change_setting(random_, changed);
  for (const auto& [name, topic] : changed.topics) {
    for (const auto& [setting, value] : topic.settings) {
      const auto& before = world_.options.topics.at(name).settings;
      const auto found = before.find(setting);
      if (found != before.end() && found->second == value) continue;
      say(name + " " + setting + "=" + value);
    }
  }
  return world_.apply(changed);
}

// ---- ends and beginnings -----------------------------------------------------------------------

std::string History::restart() { return world_.stop_and_start(); }

std::string History::kill() {
  say("(killed)");
  return world_.crash(test::CrashKind::kProcess);
}

std::string History::cut_power() {
  if (!world_.survives_power_cuts()) return kill();
  say("(power cut)");
  return world_.crash(test::CrashKind::kPower);
}

std::string History::fail_or_heal() {
  if (world_.syncs_fail() || random_.percent(20)) {
    say("heal");
    if (auto wrong = world_.heal(); !wrong.empty() || world_.memory.stopped()) return wrong;
    return world_.compare_all({});
  }
  const PartitionWorld& partition = any_partition();
  const bool of_all = random_.percent(40);
  if (!of_all) world_.memory.stop_at(std::numeric_limits<std::uint64_t>::max());
  say(of_all ? "all syncs fail" : "syncs fail and lose pages in");
  if (!of_all) say(partition);
  world_.fail_syncs(of_all, partition);
  return {};
}

}  // namespace lastword::model
