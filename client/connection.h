// SPDX-License-Identifier: Apache-2.0
// One TCP connection to a broker, used synchronously: each call blocks until it is done or its time
// is up. Versions are agreed on first (ApiVersions): for each API the highest that both sides know.
//
// Threads   one at a time.
// Lifetime  after any error but kUnsupportedVersion the connection is of no use: open another. What
//           a decoded response points to (records) lives until the next receive.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "config/host_port.h"
#include "protocol/header.h"
#include "protocol/messages/apis.h"

namespace lastword::client {

struct ConnectionSetup {
  HostPort broker{"127.0.0.1", 9092};
  std::string client_id = "lastword";
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds request_timeout{30'000};  // over what the broker itself may wait
  std::size_t response_bytes_max = 512u << 20;
};

class Connection {
 public:
  /// A request on its way.
  struct Sent {
    std::int32_t correlation_id = 0;
    std::int16_t version = 0;
  };

  /// Connects and learns the versions. The Error names address and remedy.
  static Result<std::unique_ptr<Connection>> open(const ConnectionSetup& setup);
  ~Connection();

  /// The version to use for `api`, at most `at_most`. kUnsupportedVersion if there is no common
  /// one.
  Result<std::int16_t> version(const Api& api, std::int16_t at_most = kAnyVersion) const;
  static constexpr std::int16_t kAnyVersion = 0x7fff;

  /// Writes a request. Any number may be on their way; they are answered in order.
  template <Message Request>
  Result<Sent> send(const Request& request, std::int16_t version) {
    const Sent sent{++last_correlation_id_, version};
    LW_TRY(write(encode_request(request, version,
                                {.correlation_id = sent.correlation_id, .client_id = client_id()}),
                 Request::api));
    return sent;
  }

  /// The answer to the oldest request that was not answered yet, which `sent` is. `extra` is how
  /// long the broker may hold it back.
  template <Message Response>
  Result<Response> receive(const Sent& sent, std::chrono::milliseconds extra = {}) {
    LW_TRY(read_frame(Response::api, extra));
    auto response = decode_response<Response>(frame_, sent.version, sent.correlation_id);
    if (!response) return broken(Response::api, response.error());
    return response;
  }

  /// Sends and receives, when nothing else is on its way.
  template <Message Response, Message Request>
  Result<Response> call(const Request& request, std::int16_t version,
                        std::chrono::milliseconds extra = {}) {
    static_assert(Request::api.key == Response::api.key);
    const Result<Sent> sent = send(request, version);
    if (!sent) return sent.error();
    return receive<Response>(*sent, extra);
  }

  /// Whether an answer has begun to come, or the connection has ended, as far as is known without
  /// waiting: receive() then has no reason to wait long.
  bool readable();
  /// Whether the broker closed the connection, as far as is known without waiting.
  bool closed_by_peer();
  /// "127.0.0.1:9092"
  const std::string& address() const;

 private:
  class Socket;
  Connection(const ConnectionSetup& setup, std::unique_ptr<Socket> socket);
  Result<> learn_versions();
  Result<> write(const Bytes& frame, const Api& api);
  Result<> read_frame(const Api& api, std::chrono::milliseconds extra);
  Error broken(const Api& api, const Error& error) const;
  const std::string& client_id() const { return setup_.client_id; }

  const ConnectionSetup setup_;
  std::unique_ptr<Socket> socket_;
  std::map<std::int16_t, Versions> broker_versions_{};
  std::int32_t last_correlation_id_ = 0;
  Bytes frame_{};
};

}  // namespace lastword::client
