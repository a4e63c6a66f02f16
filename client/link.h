// SPDX-License-Identifier: Apache-2.0
// A connection that comes back: opened when it is needed, and again when it was lost.
//
// Purpose   calls that may be repeated (everything but Produce): a lost connection or a retriable
//           answer is tried again, with growing pauses, a bounded number of times.
// Threads   one at a time.
// Lifetime  outlives what was given a reference to it (Admin, Consumer, TableReader).
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "client/connection.h"
#include "protocol/error_code.h"

namespace lastword::client {

/// A broker's refusal as an Error: "cannot create topic x: <message or the code's text> (NAME)".
Error broker_error(const std::string& what, ErrorCode code, const std::string& message = {});

/// Pauses of 50 ms, doubling to a second: about ten seconds in all.
class Retries {
 public:
  /// Sleeps and returns true, or returns false when enough was tried.
  bool again();

 private:
  static constexpr int kAttemptsMax = 14;
  int attempts_ = 0;
  std::chrono::milliseconds pause_{50};
};

class Link {
 public:
  explicit Link(ConnectionSetup setup) : setup_(std::move(setup)) {}

  /// Open now, or an Error that says why not.
  Result<Connection*> connection();
  void drop() { connection_.reset(); }
  const ConnectionSetup& setup() const { return setup_; }

  struct CallOptions {
    std::int16_t version_max = Connection::kAnyVersion;
    std::chrono::milliseconds extra{};  // that the broker may hold the answer back
  };

  /// One call; a connection that turns out to be lost is opened again, once.
  template <Message Response, Message Request>
  Result<Response> call(const Request& request, const CallOptions& options) {
    for (bool again = had_connection();; again = false) {
      auto response = call_once<Response>(request, options);
      if (response || !again || response.error().kind != ErrorKind::kClosed) return response;
    }
  }
  template <Message Response, Message Request>
  Result<Response> call(const Request& request) {
    return call<Response>(request, CallOptions{});
  }

  /// The version that the last call used.
  std::int16_t version_used() const { return version_used_; }

 private:
  bool had_connection() const { return connection_ != nullptr; }

  template <Message Response, Message Request>
  Result<Response> call_once(const Request& request, const CallOptions& options) {
    const Result<Connection*> open = connection();
    if (!open) return open.error();
    const auto version = (*open)->version(Request::api, options.version_max);
    if (!version) return version.error();
    version_used_ = *version;
    auto response = (*open)->template call<Response>(request, *version, options.extra);
    if (!response) drop();
    return response;
  }

  const ConnectionSetup setup_;
  std::unique_ptr<Connection> connection_{};
  std::int16_t version_used_ = 0;
};

}  // namespace lastword::client
