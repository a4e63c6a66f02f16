// SPDX-License-Identifier: Apache-2.0
#include "tests/server/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lastword::test {

RawClient::RawClient(std::uint16_t port, int receive_buffer_bytes)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer_bytes > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
  }
  const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    close();
    throw std::runtime_error(std::string("connect: ") + std::strerror(error));
  }
}

RawClient::~RawClient() { close(); }

RawClient::RawClient(RawClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      last_id_(other.last_id_),
      frames_(std::move(other.frames_)) {}

void RawClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

bool RawClient::send(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

std::size_t RawClient::send_what_fits(ByteView bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n =
        ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  return sent;
}

bool RawClient::receive(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t n = ::recv(socket_, into.data(), into.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      throw std::runtime_error("neither an answer nor the end came");
    }
    if (n <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

std::optional<ByteView> RawClient::frame() {
  std::array<std::byte, kFrameSizeBytes> head{};
  if (!receive(head)) return std::nullopt;
  std::int32_t size = 0;
  Reader(head).number(size);
  if (size < 0) throw std::runtime_error("an answer of negative size");
  Bytes& body = frames_.emplace_back(static_cast<std::size_t>(size));
  if (!receive(body)) return std::nullopt;
  return ByteView(body);
}

bool RawClient::readable(std::chrono::milliseconds within) const {
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, static_cast<int>(within.count())) > 0;
}

}  // namespace lastword::test
