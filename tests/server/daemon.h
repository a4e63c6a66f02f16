// SPDX-License-Identifier: Apache-2.0
// The real lastwordd as a process of its own, in a folder of its own.
//
// Threads   one test; a thread of its own collects what the daemon writes.
// Lifetime  the process is killed with the object, if it has not ended before.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/raw_client.h"
#include "tests/support/temporary_directory.h"

namespace lastword::test {

/// One run of lastwordd with these arguments; `output` is what it wrote, both streams.
struct Run {
  int exit_code = -1;
  std::string output{};
};
Run run_daemon(const std::vector<std::string>& arguments);

class Daemon {
 public:
  /// Starts it in `folder`/data on a free port, with `arguments` besides, and waits until it is
  /// ready or has ended. `open_files` is what the system lets it have, if given.
  explicit Daemon(const TemporaryDirectory& folder, std::vector<std::string> arguments = {},
                  std::optional<rlim_t> open_files = std::nullopt);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::uint16_t port() const { return port_; }
  RawClient client() const { return RawClient(port_); }
  /// From its start to the line that says it is ready.
  std::chrono::milliseconds started_within() const { return started_within_; }

  void signal(int number);
  /// Waits for the end; the exit code, or -1 if it does not end within `patience` or by a signal.
  int wait(std::chrono::milliseconds patience = std::chrono::seconds(20));
  int stop() {
    signal(SIGTERM);
    return wait();
  }
  bool running();

  /// Waits until a line with `part` was written.
  bool says(const std::string& part);
  std::vector<std::string> lines() const;
  /// The most resident memory that it ever had.
  std::int64_t peak_memory_bytes() const;
  /// Lines of its memory map.
  std::size_t mapped_regions() const;

 private:
  void collect();

  pid_t pid_ = -1;
  int output_ = -1;
  std::optional<int> exit_code_{};
  std::uint16_t port_ = 0;
  std::chrono::milliseconds started_within_{};
  mutable std::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<std::string> lines_{};  // guarded by mutex_
  bool ended_ = false;                // guarded by mutex_: the output did
  std::thread collector_{};
};

/// Writes `text` to `folder`/settings.json and returns the path.
std::string write_settings(const TemporaryDirectory& folder, const std::string& text);

}  // namespace lastword::test
