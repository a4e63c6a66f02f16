// SPDX-License-Identifier: Apache-2.0
// Sends an answer: encoded bytes as they are, file ranges with sendfile.
//
// Threads   called on the loop thread of the socket; sendfile, which may wait for a cold page,
//           runs on the disk pool. The socket must not be closed meanwhile, only shut down: its
//           descriptor would be another client's by then.
// Lifetime  socket and pool outlive the call.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/thread_pool.hpp>
#include <functional>

#include "protocol/bytes.h"
#include "protocol/result.h"

namespace lastword::server {

/// `progress` is called whenever the client has taken bytes.
asio::awaitable<Result<>> send_parts(asio::ip::tcp::socket& socket, asio::thread_pool& disk,
                                     Parts parts, std::function<void()> progress);

}  // namespace lastword::server
