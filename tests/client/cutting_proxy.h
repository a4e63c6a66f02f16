// SPDX-License-Identifier: Apache-2.0
// Stands between a client and a broker and cuts the first connection after so many answers: what
// was on its way then has reached the broker, but its client does not know.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "config/host_port.h"
#include "protocol/bytes.h"

namespace lastword::test {

class CuttingProxy {
 public:
  CuttingProxy(HostPort broker, int answers_before_cut)
      : broker_(asio::ip::make_address(broker.host), broker.port),
        answers_before_cut_(answers_before_cut) {
    thread_ = std::thread([this] { run(); });
  }
  ~CuttingProxy() {
    stopping_ = true;
    asio::io_context io;
    asio::ip::tcp::socket wake(io);
    asio::error_code ignored;
    wake.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  HostPort address() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }
  int connections() const { return connections_; }

 private:
  using Socket = asio::ip::tcp::socket;

  void run() {
    std::vector<std::thread> pairs;
    for (;;) {
      auto client = std::make_shared<Socket>(io_);
      asio::error_code failed;
      acceptor_.accept(*client, failed);
      if (stopping_ || failed) break;
      auto broker = std::make_shared<Socket>(io_);
      broker->connect(broker_, failed);
      const bool first = ++connections_ == 1;
      pairs.emplace_back([client, broker] { copy_up(*client, *broker); });
      pairs.emplace_back([this, client, broker, first] {
        copy_down(*broker, *client, first ? answers_before_cut_ : -1);
      });
    }
    for (std::thread& pair : pairs) pair.join();
  }

  static void shut(Socket& socket) {
    asio::error_code ignored;
    socket.shutdown(Socket::shutdown_both, ignored);
  }

  static void copy_up(Socket& from, Socket& to) {
    std::array<char, 4096> buffer{};
    asio::error_code failed;
    while (!failed) {
      const std::size_t got = from.read_some(asio::buffer(buffer), failed);
      if (!failed) asio::write(to, asio::buffer(buffer.data(), got), failed);
    }
    shut(to);
  }

  // A negative number of answers is no limit.
  static void copy_down(Socket& from, Socket& to, int answers) {
    Bytes frame;
    asio::error_code failed;
    for (; answers != 0 && !failed; answers -= answers > 0 ? 1 : 0) {
      std::array<std::byte, 4> prefix{};
      asio::read(from, asio::buffer(prefix), failed);
      if (failed) break;
      std::int32_t size = 0;
      Reader(prefix).number(size);
      frame.assign(prefix.begin(), prefix.end());
      frame.resize(prefix.size() + static_cast<std::size_t>(size));
      asio::read(from, asio::buffer(frame.data() + 4, frame.size() - 4), failed);
      if (!failed) asio::write(to, asio::buffer(frame), failed);
    }
    if (answers == 0) {  // let what is on its way arrive, and be answered to nobody
      std::array<std::byte, 4> prefix{};
      asio::read(from, asio::buffer(prefix), failed);
    }
    shut(to);
    shut(from);
  }

  asio::io_context io_{};
  asio::ip::tcp::acceptor acceptor_{io_,
                                    asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  const asio::ip::tcp::endpoint broker_;
  const int answers_before_cut_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::thread thread_{};
};

}  // namespace lastword::test
