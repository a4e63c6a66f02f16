// SPDX-License-Identifier: Apache-2.0
// One client: reads frames, has them handled in order, sends the answers in that order.
//
// Purpose   a request is handled while the answers to earlier ones may still wait (a produce for the
//           disk), so that one connection can have several batches in one group commit; at most
//           limits.requests_in_flight wait. Everything a client can drag out has a deadline.
// Threads   all members on the loop thread of the socket.
// Lifetime  keeps itself alive by its coroutines; Shared outlives all connections. The socket is only
//           shut down while they run and closed when the last has ended (see reply_writer.h).
#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "server/context.h"
#include "server/dispatch.h"
#include "server/frame_memory.h"
#include "server/notices.h"

namespace lastword::server {

/// What all connections share.
struct ConnectionShared {
  Context& context;
  FrameMemory& memory;
  Notices& notices;
  std::function<void()> ended;  // once for each connection
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::ip::tcp::socket socket, ConnectionShared& shared);
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
  /// False when the connection is to be closed.
  asio::awaitable<bool> handle(FrameBuffer frame, std::size_t frame_bytes);
  asio::awaitable<void> wait_for_room();
  void close(const std::string& why);
  bool peer_gone();
  std::chrono::milliseconds limit(std::int64_t Limits::*of) const;

  asio::ip::tcp::socket socket_;
  ConnectionShared& shared_;
  std::string peer_;
  std::string client_id_{};
  Address local_{};

  std::deque<Answer> answers_{};     // in the order of their requests
  asio::steady_timer answer_added_;  // wakes the writer
  asio::steady_timer answer_sent_;   // wakes a reader that waits for room
  asio::steady_timer deadline_timer_;
  TimePoint read_deadline_{};
  TimePoint write_deadline_{};
  bool reading_ended_ = false;
  bool writing_ended_ = false;
  bool aborted_ = false;
  bool finishing_ = false;
};

}  // namespace lastword::server
