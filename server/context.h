// SPDX-License-Identifier: Apache-2.0
// What a handler may touch, and what it knows of the request that it handles.
//
// Threads   a Context is shared by all connections; the things referred to say their own.
// Lifetime  the broker keeps everything alive until the last connection has ended.
#pragma once

#include <asio/thread_pool.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "cleaner/cleaner.h"
#include "config/options.h"
#include "server/flusher.h"
#include "server/frame_memory.h"
#include "server/notices.h"
#include "server/progress.h"
#include "server/turns.h"
#include "storage/topic_store.h"

namespace lastword::server {

inline constexpr std::int32_t kNodeId = 1;

struct Address {
  std::string host{};
  std::int32_t port = 0;
};

struct Context {
  storage::TopicStore& store;
  cleaner::Cleaner& cleaner;
  Progress& progress;
  Flusher& flusher;
  Turns& append_turns;      // by partition
  Turns& unpacking_turns;   // of batches that unpack to much: one for all
  asio::thread_pool& disk;  // for whatever may wait for the disk, see on.h
  const storage::Clock& clock;
  std::atomic<std::shared_ptr<const BrokerOptions>>& options;  // replaced by a reload
  Notices& notices;                                            // log lines about what clients do
};

/// The request at hand.
struct Request {
  std::int16_t api_key = 0;
  std::int16_t api_version = 0;
  std::string client_id{};
  std::string peer{};                    // for log lines
  Address local{};                       // this side of the connection
  std::function<bool()> peer_gone = {};  // never blocks; a long wait asks it now and then
  /// Waits for so much memory for the answer; an Error closes the connection.
  std::function<asio::awaitable<Result<FrameCharge>>(std::size_t bytes)> charge = {};
};

/// Who sent it, for log lines: peer and, as far as fit to print, what the client calls itself.
std::string client_text(const Request& request);

/// The address to tell clients: the setting `advertise`, else `listen`, else (under a wildcard
/// listener, or port 0) this side of the connection.
Address advertised_address(const BrokerOptions& options, const Address& local);

}  // namespace lastword::server
