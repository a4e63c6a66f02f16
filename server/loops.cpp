// SPDX-License-Identifier: Apache-2.0
#include "server/loops.h"

namespace lastword::server {

Loops::Loops(int threads) {
  for (int i = 0; i < threads; ++i) {
    auto context = std::make_unique<asio::io_context>(1);
    auto guard = asio::make_work_guard(*context);
    auto loop = std::make_unique<Loop>(Loop{std::move(context), std::move(guard)});
    loop->thread = std::thread([io = loop->context.get()] { io->run(); });
    loops_.push_back(std::move(loop));
  }
}

Loops::~Loops() { stop(); }

asio::io_context& Loops::next() {
  return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()]->context;
}

void Loops::stop() {
  for (const auto& loop : loops_) {
    loop->guard.reset();
    loop->context->stop();
  }
  for (const auto& loop : loops_) {
    if (loop->thread.joinable()) loop->thread.join();
  }
}

}  // namespace lastword::server
