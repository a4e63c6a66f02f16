// SPDX-License-Identifier: Apache-2.0
// The bridge from a loop thread to work that may wait for the disk.
//
// Threads   called on a loop thread; `work` runs on the pool; the caller resumes on its own
//           executor.
// Lifetime  what `work` refers to must live until it is done: the awaiting coroutine's locals do.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <optional>
#include <type_traits>
#include <utility>

namespace lastword::server {

/// Runs `work` on `pool` and resumes the caller with its result.
template <class Work>
asio::awaitable<std::invoke_result_t<Work>> on(asio::thread_pool& pool, Work work) {
  std::optional<std::invoke_result_t<Work>> result;
  const auto run = [&]() -> asio::awaitable<void> {
    result.emplace(work());
    co_return;
  };
  co_await asio::co_spawn(pool, run(), asio::use_awaitable);
  co_return *std::move(result);
}

}  // namespace lastword::server
