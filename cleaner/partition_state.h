// SPDX-License-Identifier: Apache-2.0
// What the cleaner remembers of one partition between two looks, in memory only.
//
// Purpose   the last pass; when retention was looked at; tries to heal it; and quarantine: a
//           partition whose pass failed, or whose damage stands, is left alone for a while, with
//           the reason kept for people, and tried again by itself. Others go on.
// Threads   guarded by Work's mutex.
// Lifetime  as long as the partition is listed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleaner/choose.h"
#include "cleaner/cleaner.h"
#include "storage/clock.h"

namespace lastword::cleaner {

/// Why a partition is not cleaned, and when it is tried again (broker's clock).
struct Quarantine {
  std::string reason{};
  TimestampMs since_ms = 0;
  TimestampMs failed_ms = 0;  // the last try
  TimestampMs retry_ms = 0;
  int failures = 0;
  // The topic's options at that time: when they change it is tried again at once.
  std::shared_ptr<const TopicOptions> options{};
};

/// The state of quarantine after one more failure. The wait doubles from one minute to one hour;
/// after a full disk or too many open files, which pass by themselves, from ten seconds to one
/// minute.
Quarantine quarantined(const std::optional<Quarantine>& before, const Error& error, TimestampMs now,
                       std::shared_ptr<const TopicOptions> options);

/// What was known when the closed segments were last read to their ends, in search of damage.
struct Survey {
  std::vector<storage::DamagedRange> damaged{};
  std::string reason{};  // the error that it was made for
  /// Whether another one would find nothing else: no range is new; without ranges, the error.
  bool covers(const std::vector<storage::DamagedRange>& now, const Error& error) const;
};

/// True while the partition is to be left alone.
inline bool holds(const std::optional<Quarantine>& quarantine, TimestampMs now,
                  const std::shared_ptr<const TopicOptions>& options) {
  if (!quarantine || quarantine->options != options) return false;
  const std::int64_t wait_ms = quarantine->retry_ms - quarantine->failed_ms;
  return storage::wait_ends_ms(quarantine->failed_ms, wait_ms, now) > now;
}

/// Tries to heal a fenced log that have failed.
struct Healing {
  int failures = 0;
  TimestampMs failed_ms = -1;
  /// Until the next one: doubles from a second to a minute.
  std::int64_t wait_ms() const;
};

struct PartitionState {
  storage::PartitionPtr partition{};
  bool running = false;  // a pass
  PassReport last_pass{};
  LastPass last{};
  std::optional<Quarantine> quarantine{};
  std::optional<Survey> survey{};  // ends with the quarantine
  Healing healing{};
  TimestampMs retention_checked_ms = -1;
  TimestampMs retention_due_ms = kUnlimited;
  TimestampMs producers_expired_ms = -1;
  Offset warned_of_segment = -1;  // the last whose future timestamp was reported

  void end_quarantine() {
    quarantine.reset();
    survey.reset();
  }
};

}  // namespace lastword::cleaner
