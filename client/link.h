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
#include <functional>
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

  /// From now on a call that finds the broker gone, after it was there, waits for it: it is tried
  /// again until it is done, with pauses growing to a second. Before each attempt `go_on` is asked,
  /// with the error and how many there were; false ends the call with that error.
  void outlast_restarts(std::function<bool(const Error&, int attempt)> go_on) {
    go_on_ = std::move(go_on);
  }
  bool outlasts_restarts() const { return go_on_ != nullptr; }

  struct CallOptions {
    std::int16_t version_max = Connection::kAnyVersion;
    std::chrono::milliseconds extra{};  // that the broker may hold the answer back
  };

  /// One call; a connection that turns out to be lost is opened again, once, or as
  /// outlast_restarts() says.
  template <Message Response, Message Request>
  Result<Response> call(const Request& request, const CallOptions& options) {
    bool again = connection_ != nullptr;
    for (int attempt = 1;;) {
      auto response = call_once<Response>(request, options);
      if (response || response.error().kind != ErrorKind::kClosed) return response;
      if (!std::exchange(again, false) && !wait_for_broker(response.error(), attempt++)) {
        return response;
      }
    }
  }
  template <Message Response, Message Request>
  Result<Response> call(const Request& request) {
    return call<Response>(request, CallOptions{});
  }

  /// The version that the last call used.
  std::int16_t version_used() const { return version_used_; }

 private:
  bool wait_for_broker(const Error& error, int attempt);

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
  bool was_connected_ = false;
  std::function<bool(const Error&, int attempt)> go_on_{};
};

}  // namespace lastword::client
