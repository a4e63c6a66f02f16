// SPDX-License-Identifier: Apache-2.0
// The loop threads: each runs one io_context, each connection belongs to one of them.
//
// Threads   next() from any thread.
// Lifetime  stop() joins the threads. Connections that have not ended by then go with the object,
//           so what they refer to must outlive it.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace lastword::server {

class Loops {
 public:
  explicit Loops(int threads);
  ~Loops();

  asio::io_context& first() { return *loops_.front()->context; }
  /// One after the other.
  asio::io_context& next();
  void stop();

 private:
  struct Loop {
    std::unique_ptr<asio::io_context> context;
    asio::executor_work_guard<asio::io_context::executor_type> guard;
    std::thread thread{};
  };
  std::vector<std::unique_ptr<Loop>> loops_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace lastword::server
