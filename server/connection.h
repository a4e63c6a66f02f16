// SPDX-License-Identifier: Apache-2.0
// One client: reads frames, has them handled in order, sends the answers in that order.
//
// Purpose   a request is handled while the answers to earlier ones may still wait (a produce for
//           the disk), so that one connection can have several batches in one group commit; at
//           most limits.requests_in_flight wait. Everything a client can drag out has a deadline.
// Threads   all members on the loop thread of the socket.
// Lifetime  keeps itself, and what all share, alive by its coroutines. The socket is only shut down
//           while they run and closed when the last has ended (see reply_writer.h).
#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "server/context.h"
#include "server/dispatch.h"
#include "server/frame_memory.h"

namespace lastword::server {

/// How many connections there are. From any thread.
class ConnectionCount {
 public:
  /// False, and nothing is counted, when there are `most` already.
  bool begin(std::size_t most);
  void end();
  std::size_t now() const;
  /// True once there is none; false at `until`.
  bool wait_for_none(std::chrono::steady_clock::time_point until);

 private:
  mutable std::mutex mutex_{};
  std::condition_variable none_{};
  std::size_t count_ = 0;  // guarded by mutex_
};

/// What all connections share; some may outlive the listener that accepted them.
struct ConnectionShared {
  Context& context;
  FrameMemory memory;
  ConnectionCount open{};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionShared> shared);
  ~Connection();

  void start();
  /// Reads no further request; answers what was read, then ends.
  void finish();
  /// Ends now.
  void abort();
  asio::any_io_executor executor() { return socket_.get_executor(); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  asio::awaitable<void> read_requests();
  asio::awaitable<void> write_answers();
  asio::awaitable<void> watch_deadlines();

  /// One whole frame; an Error ends the connection, silently if its text is empty.
  asio::awaitable<Result<FrameBuffer>> read_frame(std::size_t& frame_bytes);
  asio::awaitable<Result<>> read_body(FrameBuffer& buffer, std::size_t frame_bytes);
  asio::awaitable<Result<>> read_some(std::span<std::byte> into);
  /// Waits until the memory may be used; see FrameMemory::charge().
  asio::awaitable<Result<FrameCharge>> charge(std::size_t bytes);
  /// False when the connection is to be closed.
  asio::awaitable<bool> handle(FrameBuffer frame, std::size_t frame_bytes);
  asio::awaitable<void> wait_for_room();
  void close(const std::string& why);
  /// The limit that has been passed, for close(); empty if none has.
  std::string overdue(TimePoint now) const;
  bool peer_gone();
  std::chrono::milliseconds limit(std::int64_t Limits::*of) const;

  asio::ip::tcp::socket socket_;
  const std::shared_ptr<ConnectionShared> shared_;
  std::string peer_;
  std::string client_id_{};
  Address local_{};

  std::deque<Answer> answers_{};     // in the order of their requests
  asio::steady_timer answer_added_;  // wakes the writer
  asio::steady_timer answer_sent_;   // wakes a reader that waits for room
  asio::steady_timer deadline_timer_;
  // A client may be idle while it waits for answers, but not in the middle of a request.
  TimePoint idle_deadline_{};
  TimePoint read_deadline_{};
  TimePoint write_deadline_{};
  bool reading_ended_ = false;
  bool writing_ended_ = false;
  bool aborted_ = false;
  bool finishing_ = false;
};

}  // namespace lastword::server
