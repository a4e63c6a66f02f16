// SPDX-License-Identifier: Apache-2.0
#include "server/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/header.h"
#include "protocol/messages/apis.h"
#include "server/reply_writer.h"

namespace lastword::server {

namespace {

using std::chrono::steady_clock;
constexpr auto kNever = steady_clock::time_point::max();
constexpr auto kMemoryPause = std::chrono::milliseconds(5);

// A decoded request, in bytes for each one of the frame. The records of a produce, nearly all of
// it, stay in the frame.
constexpr std::size_t kHandlingBytesPerByte = 8;

bool is_produce(ByteView frame) {
  std::int16_t key = 0;
  Reader(frame).number(key);
  return key == kProduceApi.key;
}

Error no_memory() {
  return Error{ErrorKind::kClosed, "no memory for its request; see limits.request_memory_bytes"};
}

std::int32_t frame_size(std::span<const std::byte, kFrameSizeBytes> bytes) {
  std::int32_t size = 0;
  Reader in(bytes);
  in.number(size);
  return size;
}

// What usually comes when somebody speaks another protocol to this port.
std::string other_protocol(std::span<const std::byte, kFrameSizeBytes> bytes) {
  const auto at = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  if (at(0) == 0x16 && at(1) == 0x03) return "; this looks like TLS, which is not spoken here";
  for (const char* method : {"GET ", "POST", "HEAD", "PUT ", "OPTI"}) {
    if (std::memcmp(bytes.data(), method, bytes.size()) == 0) {
      return "; this looks like HTTP, which is not spoken here";
    }
  }
  return "";
}

asio::awaitable<void> sleep_on(asio::steady_timer& timer, steady_clock::time_point until) {
  asio::error_code ignored;
  timer.expires_at(until);
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// What a client can connect to: an IPv4 client of an IPv6 socket sees no mapped address, and a
// scope means something on this machine only.
std::string host_text(const asio::ip::address& address) {
  if (!address.is_v6()) return address.to_string();
  asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
  v6.scope_id(0);
  return v6.to_string();
}

Error quiet_end() { return Error{ErrorKind::kClosed, ""}; }

}  // namespace

bool ConnectionCount::begin(std::size_t most) {
  const std::lock_guard lock(mutex_);
  if (count_ >= most) return false;
  ++count_;
  return true;
}

void ConnectionCount::end() {
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) none_.notify_all();
}

std::size_t ConnectionCount::now() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

bool ConnectionCount::wait_for_none(steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return none_.wait_until(lock, until, [this] { return count_ == 0; });
}

Connection::Connection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionShared> shared)
    : socket_(std::move(socket)),
      shared_(std::move(shared)),
      answer_added_(socket_.get_executor()),
      answer_sent_(socket_.get_executor()),
      deadline_timer_(socket_.get_executor()),
      idle_deadline_(kNever),
      read_deadline_(kNever),
      write_deadline_(kNever) {
  asio::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto remote = socket_.remote_endpoint(ignored);
  peer_ = remote.address().to_string() + ":" + std::to_string(remote.port());
  const auto local = socket_.local_endpoint(ignored);
  local_ = {host_text(local.address()), local.port()};
}

Connection::~Connection() { shared_->open.end(); }

void Connection::start() {
  auto spawn = [this](asio::awaitable<void> body) {
    asio::co_spawn(socket_.get_executor(), std::move(body),
                   [self = shared_from_this()](std::exception_ptr failure) {
                     if (failure) self->abort();  // out of memory: the others must not wait for it
                   });
  };
  spawn(read_requests());
  spawn(write_answers());
  spawn(watch_deadlines());
}

void Connection::finish() {
  finishing_ = true;
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_receive, ignored);
}

void Connection::abort() {
  if (std::exchange(aborted_, true)) return;
  asio::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.cancel(ignored);
  answer_added_.cancel();
  answer_sent_.cancel();
  deadline_timer_.cancel();
}

void Connection::close(const std::string& why) {
  if (!why.empty() && !aborted_ && !finishing_) {
    shared_->context.notices.say(storage::Severity::kWarning,
                                 "closing the connection of " +
                                     client_text({.client_id = client_id_, .peer = peer_}) + ": " +
                                     why);
  }
}

std::chrono::milliseconds Connection::limit(std::int64_t Limits::*of) const {
  return std::chrono::milliseconds(shared_->context.options.load()->limits.*of);
}

bool Connection::peer_gone() {
  if (aborted_) return true;
  char byte = 0;
  const ssize_t read = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR);
}

asio::awaitable<void> Connection::read_requests() {
  while (!aborted_ && !finishing_) {
    std::size_t frame_bytes = 0;
    auto frame = co_await read_frame(frame_bytes);
    idle_deadline_ = kNever;
    read_deadline_ = kNever;
    if (!frame) {
      close(frame.error().text);
      break;
    }
    if (!co_await handle(*std::move(frame), frame_bytes)) break;
    co_await wait_for_room();
  }
  reading_ended_ = true;
  answer_added_.cancel();
}

asio::awaitable<Result<>> Connection::read_some(std::span<std::byte> into) {
  while (!into.empty()) {
    asio::error_code error;
    const std::size_t n = co_await socket_.async_read_some(
        asio::buffer(into.data(), into.size()), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return Error{ErrorKind::kClosed, error.message()};
    into = into.subspan(n);
  }
  co_return Result<>{};
}

asio::awaitable<Result<FrameBuffer>> Connection::read_frame(std::size_t& frame_bytes) {
  std::array<std::byte, kFrameSizeBytes> head{};
  idle_deadline_ = steady_clock::now() + limit(&Limits::connection_idle_ms);
  asio::error_code error;
  const std::size_t begun = co_await socket_.async_read_some(
      asio::buffer(head), asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return quiet_end();
  idle_deadline_ = kNever;
  read_deadline_ = steady_clock::now() + limit(&Limits::request_read_ms);
  if (!co_await read_some(std::span(head).subspan(begun))) co_return quiet_end();

  const std::int32_t size = frame_size(head);
  const std::int64_t size_max = shared_->context.options.load()->limits.request_bytes;
  if (size <= 0 || size > size_max) {
    co_return Error{ErrorKind::kMalformed, "a request of " + std::to_string(size) +
                                               " bytes; limits.request_bytes is " +
                                               std::to_string(size_max) + other_protocol(head)};
  }
  frame_bytes = static_cast<std::size_t>(size);
  FrameBuffer buffer;
  LW_CO_TRY(co_await read_body(buffer, frame_bytes));
  co_return buffer;
}

asio::awaitable<Result<>> Connection::read_body(FrameBuffer& buffer, std::size_t frame_bytes) {
  asio::steady_timer pause(socket_.get_executor());
  std::size_t read = 0;
  while (read < frame_bytes) {
    auto larger = shared_->memory.grow(buffer, read, frame_bytes);
    if (larger.capacity() == 0) {
      if (steady_clock::now() > read_deadline_) {
        co_return no_memory();
      }
      co_await sleep_on(pause, steady_clock::now() + kMemoryPause);
      if (aborted_) co_return quiet_end();
      continue;
    }
    buffer = std::move(larger);
    const std::size_t until = std::min(frame_bytes, buffer.capacity());
    const auto some = co_await read_some(buffer.bytes().subspan(read, until - read));
    if (!some) {
      co_return Error{ErrorKind::kClosed, "it ended in the middle of a request of " +
                                              std::to_string(frame_bytes) + " bytes (" +
                                              some.error().text + ")"};
    }
    read = until;
  }
  co_return Result<>{};
}

asio::awaitable<Result<FrameCharge>> Connection::charge(std::size_t bytes) {
  if (bytes > shared_->memory.charge_bytes_max()) {
    co_return Error{ErrorKind::kClosed,
                    "its request or the answer would take about " + std::to_string(bytes) +
                        " bytes of memory, more than half of limits.request_memory_bytes; ask for "
                        "less at once"};
  }
  asio::steady_timer pause(socket_.get_executor());
  const auto until = steady_clock::now() + limit(&Limits::request_read_ms);
  while (!aborted_) {
    auto charge = shared_->memory.charge(bytes);
    if (charge) co_return charge;
    if (steady_clock::now() > until) co_return no_memory();
    co_await sleep_on(pause, steady_clock::now() + kMemoryPause);
  }
  co_return quiet_end();
}

asio::awaitable<bool> Connection::handle(FrameBuffer frame, std::size_t frame_bytes) {
  Request info;
  info.client_id = client_id_;
  info.peer = peer_;
  info.local = local_;
  info.peer_gone = [this] { return peer_gone(); };
  info.charge = [this](std::size_t bytes) { return charge(bytes); };
  const auto bytes = frame.bytes().first(frame_bytes);
  const auto decoded =
      co_await charge(is_produce(bytes) ? 0 : bytes.size() * kHandlingBytesPerByte);
  if (!decoded) {
    close(decoded.error().text);
    co_return false;
  }
  auto answer = co_await dispatch(shared_->context, info, bytes);
  client_id_ = info.client_id;
  if (!answer) {
    close(answer.error().text);
    co_return false;
  }
  answers_.push_back(*std::move(answer));
  answer_added_.cancel();
  co_return true;
}

asio::awaitable<void> Connection::wait_for_room() {
  const auto most =
      static_cast<std::size_t>(shared_->context.options.load()->limits.requests_in_flight);
  while (answers_.size() >= most && !aborted_ && !writing_ended_) {
    co_await sleep_on(answer_sent_, kNever);
  }
}

asio::awaitable<void> Connection::write_answers() {
  bool failed = false;
  while (!aborted_ && !failed) {
    if (answers_.empty()) {
      if (reading_ended_) break;
      co_await sleep_on(answer_added_, kNever);
      continue;
    }
    Parts parts = std::move(answers_.front().parts);
    if (answers_.front().later) parts = co_await std::move(*answers_.front().later);
    if (parts.size_bytes > 0) {
      const auto patience = limit(&Limits::response_write_ms);
      const auto go_on = [this, patience] { write_deadline_ = steady_clock::now() + patience; };
      go_on();
      const auto sent =
          co_await send_parts(socket_, shared_->context.disk, std::move(parts), go_on);
      write_deadline_ = kNever;
      failed = !sent;
      if (!sent && sent.error().kind != ErrorKind::kClosed) close(sent.error().text);
    }
    answers_.pop_front();
    answer_sent_.cancel();
  }
  writing_ended_ = true;
  abort();
}

std::string Connection::overdue(TimePoint now) const {
  const auto passed = [this](const char* what, const char* name, std::int64_t Limits::*of) {
    return what + std::to_string(limit(of).count()) + " ms (limits." + name + ")";
  };
  if (read_deadline_ <= now) {
    return passed("its request did not come to an end within ", "request_read_ms",
                  &Limits::request_read_ms);
  }
  if (write_deadline_ <= now) {
    return passed("it has not taken its answer for ", "response_write_ms",
                  &Limits::response_write_ms);
  }
  if (idle_deadline_ <= now && answers_.empty()) {
    return passed("it was idle for ", "connection_idle_ms", &Limits::connection_idle_ms);
  }
  return {};
}

asio::awaitable<void> Connection::watch_deadlines() {
  // A deadline that is set while this sleeps is met late, by a part of the shortest limit.
  constexpr int kLooksWithinALimit = 4;
  constexpr auto kRarest = std::chrono::milliseconds(10000);
  constexpr auto kMostOften = std::chrono::milliseconds(10);
  while (!aborted_) {
    const auto now = steady_clock::now();
    if (const std::string why = overdue(now); !why.empty()) {
      close(why);
      break;
    }
    const auto shortest =
        std::min({limit(&Limits::request_read_ms), limit(&Limits::response_write_ms),
                  limit(&Limits::connection_idle_ms)});
    const auto look_again = std::clamp(shortest / kLooksWithinALimit, kMostOften, kRarest);
    const auto next = std::min({idle_deadline_, read_deadline_, write_deadline_});
    co_await sleep_on(deadline_timer_,
                      next > now ? std::min(next, now + look_again) : now + look_again);
  }
  abort();
}

}  // namespace lastword::server
