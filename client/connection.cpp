// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <utility>

#include "protocol/messages/api_versions.h"

namespace lastword::client {

namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

std::string text_of(const HostPort& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Error unreachable(const std::string& address, const std::string& why) {
  return {ErrorKind::kClosed, "cannot reach " + address + ": " + why +
                                  "; is lastwordd running there? (--broker HOST:PORT)"};
}

std::string seconds(milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

/// Asynchronous operations, each run to its end or to its time.
class Connection::Socket {
 public:
  Result<> connect(const ConnectionSetup& setup) {
    address_ = text_of(setup.broker);
    asio::error_code failed;
    tcp::resolver resolver(io_);
    const auto found =
        resolver.resolve(setup.broker.host, std::to_string(setup.broker.port), failed);
    if (failed) {
      return Error{ErrorKind::kClosed, "cannot find host " + setup.broker.host + ": " +
                                           failed.message() + " (--broker HOST:PORT)"};
    }
    asio::error_code outcome = asio::error::would_block;
    asio::async_connect(socket_, found, [&](const asio::error_code& error, const tcp::endpoint&) {
      outcome = error;
    });
    if (!run(setup.connect_timeout)) {
      return unreachable(address_, "no answer within " + seconds(setup.connect_timeout));
    }
    if (outcome) return unreachable(address_, outcome.message());
    socket_.set_option(tcp::no_delay(true), failed);
    return {};
  }

  Result<> write(ByteView bytes, milliseconds timeout) {
    asio::error_code outcome;
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                      [&](const asio::error_code& error, std::size_t) { outcome = error; });
    return finish("took no request", outcome, timeout);
  }

  Result<> read(std::span<std::byte> into, milliseconds timeout) {
    asio::error_code outcome;
    asio::async_read(socket_, asio::buffer(into.data(), into.size()),
                     [&](const asio::error_code& error, std::size_t) { outcome = error; });
    return finish("gave no answer", outcome, timeout);
  }

  bool closed_by_peer() {
    char byte = 0;
    const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  bool readable() {
    pollfd polled{.fd = socket_.native_handle(), .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
  }

  const std::string& address() const { return address_; }
  bool timed_out() const { return timed_out_; }

 private:
  Result<> finish(const char* silence, asio::error_code& outcome, milliseconds timeout) {
    if (!run(timeout)) {
      return Error{ErrorKind::kClosed, address_ + " " + silence + " within " + seconds(timeout)};
    }
    if (outcome == asio::error::eof) {
      return Error{ErrorKind::kClosed,
                   address_ + " closed the connection; the broker's log says why"};
    }
    if (outcome) {
      return Error{ErrorKind::kClosed,
                   "the connection to " + address_ + " was lost: " + outcome.message()};
    }
    return {};
  }

  // False if the time was up: then the socket is closed and the operation cancelled.
  bool run(milliseconds timeout) {
    io_.restart();
    io_.run_for(timeout);
    if (io_.stopped()) return true;
    timed_out_ = true;
    asio::error_code ignored;
    socket_.close(ignored);
    io_.run();
    return false;
  }

  asio::io_context io_{1};
  tcp::socket socket_{io_};
  std::string address_{};
  bool timed_out_ = false;
};

Connection::Connection(const ConnectionSetup& setup, std::unique_ptr<Socket> socket)
    : setup_(setup), socket_(std::move(socket)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionSetup& setup) {
  auto socket = std::make_unique<Socket>();
  LW_TRY(socket->connect(setup));
  std::unique_ptr<Connection> connection(new Connection(setup, std::move(socket)));
  LW_TRY(connection->learn_versions());
  return connection;
}

Result<> Connection::learn_versions() {
  constexpr std::int16_t kVersion = 3;
  const auto sent =
      send(ApiVersionsRequest{.client_software_name = "lastword", .client_software_version = "0"},
           kVersion);
  if (!sent) return sent.error();
  if (auto read = read_frame(kApiVersionsApi, {}); !read) {
    const Error& error = read.error();
    if (error.kind != ErrorKind::kClosed || socket_->timed_out()) return error;
    return Error{error.kind, error.text + "; is this a Kafka broker without TLS?"};
  }
  // A broker that does not know the version answers in version 0, with what it knows.
  auto response = decode_response<ApiVersionsResponse>(frame_, kVersion, sent->correlation_id);
  if (!response || response->error_code == ErrorCode::kUnsupportedVersion) {
    response = decode_response<ApiVersionsResponse>(frame_, 0, sent->correlation_id);
  }
  if (!response) {
    return Error{ErrorKind::kMalformed,
                 address() + " does not speak the Kafka protocol: " + response.error().text};
  }
  for (const auto& key : response->api_keys) {
    broker_versions_[key.api_key] = {key.min_version, key.max_version};
  }
  return {};
}

Result<std::int16_t> Connection::version(const Api& api, std::int16_t at_most) const {
  const auto known = broker_versions_.find(api.key);
  if (known == broker_versions_.end()) {
    return Error{ErrorKind::kUnsupportedVersion,
                 address() + " does not offer " + std::string(api.name)};
  }
  const auto highest = std::min({api.supported.last, known->second.last, at_most});
  if (highest < api.supported.first || highest < known->second.first) {
    return Error{ErrorKind::kUnsupportedVersion, address() + " offers " + std::string(api.name) +
                                                     " in no version that this program knows"};
  }
  return highest;
}

Result<> Connection::write(const Bytes& frame, const Api& api) {
  auto written = socket_->write(frame, setup_.request_timeout);
  if (!written) return broken(api, written.error());
  return {};
}

Result<> Connection::read_frame(const Api& api, milliseconds extra) {
  const auto timeout = setup_.request_timeout + extra;
  std::byte prefix[kFrameSizeBytes];
  if (auto read = socket_->read(prefix, timeout); !read) return broken(api, read.error());
  std::int32_t size = 0;
  Reader(prefix).number(size);
  if (size < 0 || static_cast<std::size_t>(size) > setup_.response_bytes_max) {
    return broken(
        api, {ErrorKind::kMalformed, address() + " answers with a frame of " +
                                         std::to_string(size) + " bytes; is it a Kafka port?"});
  }
  frame_.resize(static_cast<std::size_t>(size));
  if (auto read = socket_->read(frame_, timeout); !read) return broken(api, read.error());
  return {};
}

Error Connection::broken(const Api& api, const Error& error) const {
  return {error.kind, std::string(api.name) + ": " + error.text};
}

bool Connection::readable() { return socket_->readable(); }
bool Connection::closed_by_peer() { return socket_->closed_by_peer(); }
const std::string& Connection::address() const { return socket_->address(); }

}  // namespace lastword::client
