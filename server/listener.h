// SPDX-License-Identifier: Apache-2.0
// Accepts clients, counts them, and turns away those above limits.connections.
//
// Threads   start() and stop() from the thread that owns the broker; accepting runs on the first
//           loop, each connection on the loop that it was given.
// Lifetime  ends after stop(); connections keep themselves alive until they have ended. Loops and
//           Context outlive both.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/connection.h"
#include "server/loops.h"

namespace lastword::server {

class Listener {
 public:
  Listener(Loops& loops, Context& context);
  ~Listener();

  /// Binds and accepts; an Error names address and reason. Port 0 takes a free one.
  Result<> start(const std::string& listen);
  std::uint16_t port() const;

  /// Accepts nobody more, lets every connection answer what it has read, and returns when all have
  /// ended or at `until`, when the rest is cut.
  void stop(std::chrono::steady_clock::time_point until);

  std::size_t connection_count() const;
  void trim_memory();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lastword::server
