// SPDX-License-Identifier: Apache-2.0
// A coroutine that sleeps on its loop thread, and can be woken from any other.
//
// Threads   wake() from any thread; everything else on the sleeper's own. The timer is its bed: it
//           belongs to that loop thread and is only touched there.
// Lifetime  shared by the coroutine and whoever may wake it.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <chrono>
#include <memory>

namespace lastword::server {

class Sleeper : public std::enable_shared_from_this<Sleeper> {
 public:
  explicit Sleeper(const asio::any_io_executor& executor) : timer_(executor) {}

  /// Ends the present sleep, or the next one.
  void wake() {
    if (woken_.exchange(true)) return;  // one wake-up is under way already
    asio::post(timer_.get_executor(), [self = shared_from_this()] { self->timer_.cancel(); });
  }
  bool woken() const { return woken_; }
  /// From here on the next wake() counts.
  void doze() { woken_ = false; }

  /// Until woken (since doze()) or `until`.
  asio::awaitable<void> sleep(std::chrono::steady_clock::time_point until) {
    timer_.expires_at(until);
    // A wake-up between the look above and this wait has posted its cancel to this very thread,
    // which runs it only after the wait has begun.
    if (woken_) co_return;
    asio::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

 private:
  asio::steady_timer timer_;
  std::atomic<bool> woken_{false};
};

using SleeperPtr = std::shared_ptr<Sleeper>;

}  // namespace lastword::server
