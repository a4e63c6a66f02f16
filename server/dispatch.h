// SPDX-License-Identifier: Apache-2.0
// Request frame in, answer out: header, route, version, decoding, the handler, encoding. The routes
// are one table; ApiVersions answers from the same list (protocol/messages/apis.h).
//
// Threads   runs on the loop thread of the connection.
// Lifetime  the frame must live until dispatch() has returned; the answer needs it no longer.
#pragma once

#include <asio/awaitable.hpp>
#include <memory>
#include <span>

#include "protocol/bytes.h"
#include "protocol/result.h"
#include "server/context.h"

namespace lastword::server {

/// The answer to one request, a whole frame with its size; empty when none is to be sent. If
/// `later` is set the answer still waits (a produce for the disk): it is what awaiting that gives,
/// on the same loop thread.
struct Answer {
  Parts parts{};
  std::unique_ptr<asio::awaitable<Parts>> later{};
  FrameCharge charge{};  // for its memory, until it is sent
};

/// An Error means that the connection must be closed: its text says why, naming API and version.
/// `info` is filled from the header.
asio::awaitable<Result<Answer>> dispatch(Context& context, Request& info,
                                         std::span<std::byte> frame);

}  // namespace lastword::server
