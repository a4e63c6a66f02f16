// SPDX-License-Identifier: Apache-2.0
#include "server/broker.h"

#include <asio/steady_timer.hpp>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "config/broker_settings.h"
#include "server/context.h"
#include "server/listener.h"
#include "server/loops.h"
#include "server/notices.h"

namespace lastword::server {

namespace {

using std::chrono::steady_clock;
constexpr int kFlushThreads = 2;
constexpr int kLoadThreads = 4;
constexpr auto kTrimEvery = std::chrono::seconds(5);

}  // namespace

class Broker::Impl {
 public:
  Impl(Setup setup, std::unique_ptr<storage::TopicStore> store)
      : report_(setup.report),
        options_(std::make_shared<const BrokerOptions>(setup.options)),
        store_(std::move(store)),
        disk_(static_cast<std::size_t>(setup.options.limits.disk_threads)),
        flusher_(progress_, setup.report, kFlushThreads),
        cleaner_(*store_, setup.options,
                 [this](const storage::PartitionPtr& partition) { progress_.notify(*partition); }),
        notices_(setup.report),
        context_{*store_,          cleaner_, progress_,   flusher_, append_turns_,
                 unpacking_turns_, disk_,    setup.clock, options_, notices_},
        loops_(static_cast<int>(setup.options.limits.loop_threads)),
        listener_(loops_, context_),
        trim_timer_(loops_.first()),
        cleaner_threads_(setup.cleaner_threads) {}

  ~Impl() {
    if (!stopped_) static_cast<bool>(stop());
  }

  Result<> start() {
    LW_TRY(listener_.start(options_.load()->listen));
    loader_ = std::thread([this] {
      store_->load(kLoadThreads);
      if (cleaner_threads_) cleaner_.start();
    });
    trim_later();
    return {};
  }

  std::chrono::milliseconds stop_time_max() const {
    return std::chrono::milliseconds(options_.load()->limits.shutdown_ms);
  }

  Result<> stop() {
    stopped_ = true;
    const auto time_max = stop_time_max();
    const auto until = steady_clock::now() + time_max;
    progress_.notify_all_and_stop();
    // A client that does not take its answer must not cost the logs their time.
    listener_.stop(until - time_max / 2);
    store_->stop_loading();
    wait_until_loaded();
    cleaner_.stop();
    flusher_.stop();
    asio::post(loops_.first(), [this] { trim_timer_.cancel(); });
    auto closed = store_->close(until);
    // In this order: a connection that a hung disk kept may ask the pool for more as long as loops
    // run.
    loops_.stop();
    disk_.join();
    return closed;
  }

  Result<std::vector<std::string>> reload(BrokerOptions wanted) {
    const auto now = options_.load();
    std::vector<std::string> notes;
    const auto keep = [&](auto BrokerOptions::*setting, const char* name) {
      if (wanted.*setting == (*now).*setting) return;
      notes.push_back(std::string(name) + " has changed in the file; it takes effect at a restart");
      wanted.*setting = (*now).*setting;
    };
    keep(&BrokerOptions::listen, "listen");
    keep(&BrokerOptions::data_dir, "data_dir");
    keep(&BrokerOptions::durability, "durability");
    keep(&BrokerOptions::producer_id_expiration_ms, "producer_id_expiration_ms");
    const auto keep_limit = [&](std::int64_t Limits::*limit, const char* name) {
      if (wanted.limits.*limit == now->limits.*limit) return;
      notes.push_back(std::string("limits.") + name +
                      " has changed in the file; it takes effect at a restart");
      wanted.limits.*limit = now->limits.*limit;
    };
    keep_limit(&Limits::request_memory_bytes, "request_memory_bytes");
    keep_limit(&Limits::open_files, "open_files");
    keep_limit(&Limits::disk_reserve_bytes, "disk_reserve_bytes");
    keep_limit(&Limits::loop_threads, "loop_threads");
    keep_limit(&Limits::disk_threads, "disk_threads");
    keep_limit(&Limits::producer_ids, "producer_ids");
    keep_limit(&Limits::producer_ids_total, "producer_ids_total");
    if (auto error = broker_options_error(wanted)) {
      return Error{ErrorKind::kInvalidConfig, *error + " (some of these take effect at a restart)"};
    }
    LW_TRY(store_->apply(wanted));
    cleaner_.set_options(wanted);
    options_.store(std::make_shared<const BrokerOptions>(std::move(wanted)));
    return notes;
  }

  void wait_until_loaded() {
    if (loader_.joinable()) loader_.join();
  }

  std::uint16_t port() const { return listener_.port(); }
  storage::TopicStore& store() { return *store_; }
  cleaner::Cleaner& cleaner() { return cleaner_; }

 private:
  void trim_later() {
    trim_timer_.expires_after(kTrimEvery);
    trim_timer_.async_wait([this](const asio::error_code& error) {
      if (error) return;
      listener_.trim_memory();
      trim_later();
    });
  }

  const storage::Report report_;
  std::atomic<std::shared_ptr<const BrokerOptions>> options_;
  std::unique_ptr<storage::TopicStore> store_;
  asio::thread_pool disk_;
  Progress progress_;
  Flusher flusher_;
  Turns append_turns_{2};  // one is on its way to a thread while the other appends
  Turns unpacking_turns_{1};
  cleaner::Cleaner cleaner_;
  Notices notices_;
  Context context_;
  Loops loops_;
  Listener listener_;
  asio::steady_timer trim_timer_;
  std::thread loader_;
  const bool cleaner_threads_;
  bool stopped_ = false;
};

Broker::Broker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Broker::~Broker() = default;

Result<std::unique_ptr<Broker>> Broker::start(Setup setup) {
  auto store = storage::TopicStore::open(setup.files, setup.clock, setup.options, setup.report);
  if (!store) return store.take_error();
  std::unique_ptr<Broker> broker(
      new Broker(std::make_unique<Impl>(std::move(setup), *std::move(store))));
  LW_TRY(broker->impl_->start());
  return broker;
}

std::uint16_t Broker::port() const { return impl_->port(); }
Result<std::vector<std::string>> Broker::reload(const BrokerOptions& options) {
  return impl_->reload(options);
}
std::chrono::milliseconds Broker::stop_time_max() const { return impl_->stop_time_max(); }
Result<> Broker::stop() { return impl_->stop(); }
void Broker::wait_until_loaded() { impl_->wait_until_loaded(); }
storage::TopicStore& Broker::store() { return impl_->store(); }
cleaner::Cleaner& Broker::cleaner() { return impl_->cleaner(); }

}  // namespace lastword::server
