// SPDX-License-Identifier: Apache-2.0
#include "server/listener.h"

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "config/host_port.h"

namespace lastword::server {

namespace {

using asio::ip::tcp;
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

Error cannot_listen(const std::string& listen, const std::string& why) {
  return Error{ErrorKind::kInvalidConfig,
               "cannot listen on " + listen + ": " + why +
                   "; choose another address with --listen or the setting \"listen\""};
}

}  // namespace

class Listener::Impl {
 public:
  Impl(Loops& loops, Context& context, Notices& notices)
      : loops_(loops),
        context_(context),
        notices_(notices),
        memory_(static_cast<std::size_t>(context.options.load()->limits.request_memory_bytes)),
        acceptor_(loops.first()),
        shared_{context, memory_, notices, [this] { ended(); }} {}

  Result<> start(const std::string& listen) {
    const auto address = parse_host_port(listen);
    if (!address) return cannot_listen(listen, "it is not HOST:PORT");
    asio::error_code error;
    tcp::resolver resolver(loops_.first());
    const auto found =
        resolver.resolve(address->host, std::to_string(address->port), tcp::resolver::passive, error);
    if (error || found.empty()) return cannot_listen(listen, error.message());
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(kBacklog, error);
    if (error) return cannot_listen(listen, error.message());
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(loops_.first(), accept(), [](std::exception_ptr) {});
    return {};
  }

  std::uint16_t port() const { return port_; }
  FrameMemory& memory() { return memory_; }

  void stop(std::chrono::steady_clock::time_point until) {
    stopping_ = true;
    asio::post(loops_.first(), [this] {
      asio::error_code ignored;
      acceptor_.close(ignored);
    });
    each([](Connection& connection) { connection.finish(); });
    std::unique_lock lock(mutex_);
    if (all_ended_.wait_until(lock, until, [this] { return count_ == 0; })) return;
    lock.unlock();
    each([](Connection& connection) { connection.abort(); });
    lock.lock();
    all_ended_.wait_for(lock, std::chrono::seconds(1), [this] { return count_ == 0; });
  }

  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  static constexpr int kBacklog = 1024;

  asio::awaitable<void> accept() {
    asio::steady_timer pause(loops_.first());
    while (!stopping_) {
      asio::error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(
          loops_.next(), asio::redirect_error(asio::use_awaitable, error));
      if (stopping_) break;
      if (!error) {
        take(std::move(socket));
        continue;
      }
      // Out of descriptors, most likely; those who are served go on.
      notices_.say(storage::Severity::kError, "cannot accept a connection: " + error.message());
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }

  void take(tcp::socket socket) {
    const auto most = static_cast<std::size_t>(context_.options.load()->limits.connections);
    {
      const std::lock_guard lock(mutex_);
      if (count_ < most) ++count_;
      else most_reached_ = true;
    }
    if (std::exchange(most_reached_, false)) {
      notices_.say(storage::Severity::kWarning,
                   "a connection was turned away: limits.connections is " + std::to_string(most));
      return;
    }
    auto connection = std::make_shared<Connection>(std::move(socket), shared_);
    {
      const std::lock_guard lock(mutex_);
      if (++since_sweep_ > connections_.size() / 2 + 64) sweep();
      connections_.push_back(connection);
    }
    asio::post(connection->executor(), [connection] { connection->start(); });
  }

  void sweep() {
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    since_sweep_ = 0;
  }

  template <class Action>
  void each(Action action) {
    std::vector<std::weak_ptr<Connection>> all;
    {
      const std::lock_guard lock(mutex_);
      all = connections_;
    }
    for (const auto& weak : all) {
      if (auto connection = weak.lock()) {
        asio::post(connection->executor(), [connection, action] { action(*connection); });
      }
    }
  }

  void ended() {
    const std::lock_guard lock(mutex_);
    --count_;
    if (count_ == 0) all_ended_.notify_all();
  }

  Loops& loops_;
  Context& context_;
  Notices& notices_;
  FrameMemory memory_;
  tcp::acceptor acceptor_;
  ConnectionShared shared_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  bool most_reached_ = false;  // first loop only

  mutable std::mutex mutex_;
  std::condition_variable all_ended_;
  std::size_t count_ = 0;                               // guarded by mutex_
  std::size_t since_sweep_ = 0;                         // guarded by mutex_
  std::vector<std::weak_ptr<Connection>> connections_;  // guarded by mutex_
};

Listener::Listener(Loops& loops, Context& context, Notices& notices)
    : impl_(std::make_unique<Impl>(loops, context, notices)) {}
Listener::~Listener() = default;

Result<> Listener::start(const std::string& listen) { return impl_->start(listen); }
std::uint16_t Listener::port() const { return impl_->port(); }
void Listener::stop(std::chrono::steady_clock::time_point until) { impl_->stop(until); }
std::size_t Listener::connection_count() const { return impl_->count(); }
void Listener::trim_memory() { impl_->memory().trim(); }

}  // namespace lastword::server
