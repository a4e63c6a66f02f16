// SPDX-License-Identifier: Apache-2.0
// The whole broker: owns everything, in the order in which it starts and, backwards, stops.
//
// Threads   start(), reload() and stop() from one thread at a time.
// Lifetime  files, clock and whatever `report` writes to outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "cleaner/cleaner.h"
#include "config/options.h"
#include "storage/topic_store.h"

namespace lastword::server {

class Broker {
 public:
  struct Setup {
    BrokerOptions options{};
    storage::FileSystem& files;
    const storage::Clock& clock;
    storage::Report report;
    bool cleaner_threads = true;  // tests under manual time call cleaner().run_due() themselves
  };

  /// Serves when it returns; logs that need recovery open behind it and answer a retriable error
  /// until then. The Error says what stands in the way and what to do.
  static Result<std::unique_ptr<Broker>> start(Setup setup);
  ~Broker();

  std::uint16_t port() const;
  /// Takes over what may change while running; on failure nothing has changed. The notes say what
  /// needs a restart.
  Result<std::vector<std::string>> reload(const BrokerOptions& options);
  /// limits.shutdown_ms as it is now.
  std::chrono::milliseconds stop_time_max() const;
  /// Finishes answers, syncs, closes; within limits.shutdown_ms. The Error says what was not saved.
  Result<> stop();

  /// Returns when every log is open or has failed.
  void wait_until_loaded();
  storage::TopicStore& store();
  cleaner::Cleaner& cleaner();

 private:
  class Impl;
  explicit Broker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastword::server
