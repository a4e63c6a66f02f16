// SPDX-License-Identifier: Apache-2.0
#include "server/listener.h"

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <mutex>

#include "config/host_port.h"

namespace lastword::server {

namespace {

using asio::ip::tcp;
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
constexpr auto kLastMoment = std::chrono::seconds(1);  // for what was cut to end

Error cannot_listen(const std::string& listen, const std::string& why) {
  return Error{ErrorKind::kInvalidConfig,
               "cannot listen on " + listen + ": " + why +
                   "; choose another address with --listen or the setting \"listen\""};
}

}  // namespace

class Listener::Impl {
 public:
  Impl(Loops& loops, Context& context)
      : loops_(loops),
        context_(context),
        acceptor_(loops.first()),
        shared_(new ConnectionShared{.context = context,
                                     .memory = FrameMemory(static_cast<std::size_t>(
                                         context.options.load()->limits.request_memory_bytes))}) {}

  Result<> start(const std::string& listen) {
    const auto address = parse_host_port(listen);
    if (!address) return cannot_listen(listen, "it is not HOST:PORT");
    asio::error_code error;
    tcp::resolver resolver(loops_.first());
    const auto found = resolver.resolve(address->host, std::to_string(address->port),
                                        tcp::resolver::passive, error);
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
  FrameMemory& memory() { return shared_->memory; }
  std::size_t count() const { return shared_->open.now(); }

  void stop(std::chrono::steady_clock::time_point until) {
    stopping_ = true;
    asio::post(loops_.first(), [this] {
      asio::error_code ignored;
      acceptor_.close(ignored);
    });
    each([](Connection& connection) { connection.finish(); });
    if (shared_->open.wait_for_none(until)) return;
    each([](Connection& connection) { connection.abort(); });
    shared_->open.wait_for_none(std::chrono::steady_clock::now() + kLastMoment);
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
      if (!error && take(std::move(socket))) continue;
      // Out of descriptors or memory, most likely; those who are served go on.
      context_.notices.say(storage::Severity::kError, "cannot accept a connection: " +
                                                          (error ? error.message() : "no memory"));
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }

  /// False when there is no memory for it.
  bool take(tcp::socket socket) {
    const auto most = static_cast<std::size_t>(context_.options.load()->limits.connections);
    if (!shared_->open.begin(most)) {
      context_.notices.say(
          storage::Severity::kWarning,
          "a connection was turned away: limits.connections is " + std::to_string(most));
      return true;
    }
    std::shared_ptr<Connection> connection;
    try {
      connection = std::make_shared<Connection>(std::move(socket), shared_);
    } catch (const std::bad_alloc&) {
      shared_->open.end();
      return false;
    }
    {
      const std::lock_guard lock(mutex_);
      if (++since_sweep_ > connections_.size() / 2 + 64) sweep();
      connections_.push_back(connection);
    }
    asio::post(connection->executor(), [this, connection] {
      connection->start();
      if (stopping_) connection->finish();  // stop() may have looked before it was listed
    });
    return true;
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

  Loops& loops_;
  Context& context_;
  tcp::acceptor acceptor_;
  const std::shared_ptr<ConnectionShared> shared_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;
  std::size_t since_sweep_ = 0;                         // guarded by mutex_
  std::vector<std::weak_ptr<Connection>> connections_;  // guarded by mutex_
};

Listener::Listener(Loops& loops, Context& context)
    : impl_(std::make_unique<Impl>(loops, context)) {}
Listener::~Listener() = default;

Result<> Listener::start(const std::string& listen) { return impl_->start(listen); }
std::uint16_t Listener::port() const { return impl_->port(); }
void Listener::stop(std::chrono::steady_clock::time_point until) { impl_->stop(until); }
std::size_t Listener::connection_count() const { return impl_->count(); }
void Listener::trim_memory() { impl_->memory().trim(); }

}  // namespace lastword::server
