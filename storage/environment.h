// SPDX-License-Identifier: Apache-2.0
// What every part of storage is given: the seams, and what all logs of a data directory share.
//
// Threads   plain references and values; the things referred to say their own.
// Lifetime  the owner (TopicStore, or a test) keeps everything alive longer than any Log.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "config/options.h"
#include "storage/clock.h"
#include "storage/file_system.h"

namespace lastword::storage {

class FileCache;       // file_cache.h
class DiskReserve;     // disk_reserve.h
class ProducerBudget;  // producer_budget.h

/// Lines for the operator; storage knows no logging library.
enum class Severity { kInfo, kWarning, kError };
using Report = std::function<void(Severity, const std::string& line)>;

struct Environment {
  FileSystem& files;
  const Clock& clock;
  FileCache& cache;
  DiskReserve& reserve;
  Report report;
  Durability durability = Durability::kFsync;
  std::int64_t producer_ids_max = 10000;              // of one log
  std::shared_ptr<ProducerBudget> producer_budget{};  // of all logs together; null: no limit
  std::int64_t producer_id_expiration_ms = 24 * kHourMs;
  bool raise_leader_epoch = false;  // the machine went down unclean under durability os
};

}  // namespace lastword::storage
