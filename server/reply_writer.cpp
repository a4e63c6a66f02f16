// SPDX-License-Identifier: Apache-2.0
#include "server/reply_writer.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "server/on.h"

namespace lastword::server {

namespace {

// One call carries at most this much, so that a pool thread is not one client's for long.
constexpr std::size_t kSendBytesMax = 1u << 20;

// Whether the client went or the disk failed: only of the latter somebody has to know.
Error failure(const char* what, int code) {
  const bool client_gone =
      code == EPIPE || code == ECONNRESET || code == ETIMEDOUT || code == ENOTCONN;
  return Error{client_gone ? ErrorKind::kClosed : ErrorKind::kStorage,
               std::string(what) + ": " + std::strerror(code)};
}

// Empty optional: the socket's buffer is full.
using Sent = Result<std::optional<std::size_t>>;

Sent outcome(const char* what, ssize_t sent) {
  if (sent >= 0) return std::optional<std::size_t>(static_cast<std::size_t>(sent));
  if (errno == EAGAIN || errno == EINTR) return std::optional<std::size_t>();
  return failure(what, errno);
}

Sent send_bytes(int descriptor, ByteView bytes, bool more) {
  return outcome("send", ::send(descriptor, bytes.data(), bytes.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0)));
}

Sent send_range(int descriptor, const FileRange& range) {
  const std::size_t length = std::min<std::size_t>(range.length_bytes, kSendBytesMax);
  if (range.source->descriptor() >= 0) {
    auto position = static_cast<off_t>(range.position);
    const ssize_t sent = ::sendfile(descriptor, range.source->descriptor(), &position, length);
    if (sent == 0) return Error{ErrorKind::kDamaged, "sendfile: the file ended early"};
    return outcome("sendfile", sent);
  }
  Bytes copy(std::min<std::size_t>(length, 64u << 10));
  const auto read = range.source->read_at(range.position, copy);
  if (!read) return read.error();
  if (*read == 0) return Error{ErrorKind::kDamaged, "the file ended early"};
  return send_bytes(descriptor, ByteView(copy).first(*read), false);
}

asio::awaitable<Result<>> until_writable(asio::ip::tcp::socket& socket) {
  asio::error_code error;
  co_await socket.async_wait(asio::ip::tcp::socket::wait_write,
                             asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Error{ErrorKind::kClosed, "wait for the client: " + error.message()};
  co_return Result<>{};
}

}  // namespace

asio::awaitable<Result<>> send_parts(asio::ip::tcp::socket& socket, asio::thread_pool& disk,
                                     Parts parts, std::function<void()> progress) {
  const int descriptor = socket.native_handle();
  for (std::size_t i = 0; i < parts.parts.size(); ++i) {
    // What was sent holds no memory and no file any more.
    if (i > 0) parts.parts[i - 1] = Bytes();
    const bool more = i + 1 < parts.parts.size();
    auto* bytes = std::get_if<Bytes>(&parts.parts[i]);
    auto* range = std::get_if<FileRange>(&parts.parts[i]);
    ByteView left = bytes != nullptr ? ByteView(*bytes) : ByteView();
    while (bytes != nullptr ? !left.empty() : range->length_bytes > 0) {
      Sent sent = std::optional<std::size_t>();
      if (bytes != nullptr)
        sent = send_bytes(descriptor, left, more);
      else
        sent = co_await on(disk, [&] { return send_range(descriptor, *range); });
      if (!sent) co_return sent.error();
      if (!*sent) {
        LW_CO_TRY(co_await until_writable(socket));
        continue;
      }
      progress();
      if (bytes != nullptr) {
        left = left.subspan(**sent);
      } else {
        range->position += **sent;
        range->length_bytes -= static_cast<std::uint32_t>(**sent);
      }
    }
  }
  co_return Result<>{};
}

}  // namespace lastword::server
