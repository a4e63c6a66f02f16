// SPDX-License-Identifier: Apache-2.0
// A client that is nothing but a socket: sends what it is told, sees what comes.
//
// Purpose   auto answer = client.call<MetadataResponse>(MetadataRequest{}, 12);
// Threads   one at a time.
// Lifetime  what was decoded may point into frames, which the client keeps. What fails throws
//           std::runtime_error, which fails the test with its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "protocol/header.h"

namespace lastword::test {

class RawClient {
 public:
  static constexpr auto kPatience = std::chrono::seconds(20);

  /// `receive_buffer_bytes` above 0 makes the kernel take little for a client that does not read.
  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// False when the broker has closed.
  bool send(ByteView bytes);
  bool send(std::string_view text) { return send(std::as_bytes(std::span(text))); }
  /// Without waiting for the broker to read; how much was taken.
  std::size_t send_what_fits(ByteView bytes);
  /// The next frame without its size; empty if the broker closed instead.
  std::optional<ByteView> frame();
  /// Whether something (an answer or the end) is there within that time.
  bool readable(std::chrono::milliseconds within) const;
  /// Whether the broker closes, with no frame before, within kPatience.
  bool is_closed() { return !frame().has_value(); }
  void close();

  /// Sends the request; its correlation id.
  template <Message Request>
  std::int32_t begin(const Request& request, std::int16_t version,
                     std::optional<std::string> client_id = "raw") {
    const std::int32_t id = ++last_id_;
    send(encode_request(request, version,
                        {.correlation_id = id, .client_id = std::move(client_id)}));
    return id;
  }
  /// Takes the next frame, which must be the answer to `id`.
  template <Message Response>
  Response finish(std::int32_t id, std::int16_t version) {
    const auto answer = frame();
    if (!answer) throw std::runtime_error("the broker closed instead of answering");
    auto response = decode_response<Response>(*answer, version, id);
    if (!response) throw std::runtime_error(response.error().text);
    return *std::move(response);
  }
  template <Message Response, Message Request>
  Response call(const Request& request, std::int16_t version) {
    return finish<Response>(begin(request, version), version);
  }

 private:
  bool receive(std::span<std::byte> into);

  int socket_ = -1;
  std::int32_t last_id_ = 0;
  std::deque<Bytes> frames_{};
};

}  // namespace lastword::test
