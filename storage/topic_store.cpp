// SPDX-License-Identifier: Apache-2.0
#include "storage/topic_store.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "storage/data_directory.h"
#include "storage/file_cache.h"
#include "storage/partition_logs.h"
#include "storage/producer_budget.h"
#include "storage/topic_list.h"
#include "storage/topic_plan.h"

namespace lastword::storage {
namespace {

constexpr int kCreatingThreads = 4;

}  // namespace

class TopicStore::Impl {
 public:
  Impl(FileSystem& files, const Clock& clock, const BrokerOptions& options, Report report,
       std::unique_ptr<DataDirectory> directory)
      : directory_(std::move(directory)),
        cache_(files, static_cast<std::size_t>(options.limits.open_files)),
        env_{.files = files,
             .clock = clock,
             .cache = cache_,
             .reserve = directory_->reserve(),
             .report = std::move(report),
             .durability = options.durability,
             .producer_ids_max = options.limits.producer_ids,
             .producer_budget = std::make_shared<ProducerBudget>(options.limits.producer_ids_total),
             .producer_id_expiration_ms = options.producer_id_expiration_ms,
             .raise_leader_epoch = directory_->lost_writes()},
        logs_(env_, directory_->path()) {}

  ~Impl() { stop_tidying(); }

  Result<> start(const BrokerOptions& options) EXCLUDES(change_mutex_);
  void load(int threads) EXCLUDES(change_mutex_);
  void load_failed() EXCLUDES(change_mutex_);
  void stop_loading() { logs_.stop(); }
  void wait_until_tidy() EXCLUDES(change_mutex_) {
    Lock lock(change_mutex_);
    if (tidying_.joinable()) tidying_.join();
  }
  Result<TopicOptions> check(const NewTopic& topic) const EXCLUDES(change_mutex_);
  Result<TopicPtr> create(const NewTopic& topic) EXCLUDES(change_mutex_);
  Result<TopicPtr> remove(const std::string& name, const std::optional<TopicId>& id)
      EXCLUDES(change_mutex_);
  Result<> apply(const BrokerOptions& options) EXCLUDES(change_mutex_);
  Result<> close(std::chrono::steady_clock::time_point until) EXCLUDES(change_mutex_);

  TopicsPtr topics() const EXCLUDES(state_mutex_) {
    Lock lock(state_mutex_);
    return topics_;
  }
  DataDirectory& directory() { return *directory_; }
  const Environment& environment() const { return env_; }

 private:
  using Folders = std::vector<std::string>;

  Result<> adapt(const BrokerOptions& options) REQUIRES(change_mutex_);
  Result<> usable() const REQUIRES(change_mutex_);
  Result<TopicOptions> check_new(const NewTopic& topic) const REQUIRES(change_mutex_);
  Result<TopicPtr> make(const NewTopic& wanted, Folders& left_behind) REQUIRES(change_mutex_);
  Result<> dispose(const Topic& topic, Folders& moved) REQUIRES(change_mutex_);
  Result<> commit(const TopicsFile& next) REQUIRES(change_mutex_);
  void publish(TopicsPtr topics) EXCLUDES(state_mutex_) {
    Lock lock(state_mutex_);
    topics_ = std::move(topics);
  }
  void remove_folders(const Folders& moved);
  void stop_tidying();

  const std::unique_ptr<DataDirectory> directory_;
  FileCache cache_;
  const Environment env_;
  PartitionLogs logs_;
  std::thread tidying_;
  std::atomic<bool> tidying_stopped_{false};

  /// Held through every change, and while the disk works for it.
  mutable Mutex change_mutex_;
  TopicsFile stored_ GUARDED_BY(change_mutex_);
  bool file_in_doubt_ GUARDED_BY(change_mutex_) = false;  // it may hold another list than stored_
  bool closed_ GUARDED_BY(change_mutex_) = false;
  BrokerOptions options_ GUARDED_BY(change_mutex_);
  TopicOptions topic_defaults_ GUARDED_BY(change_mutex_);

  mutable Mutex state_mutex_;  // for copying only
  TopicsPtr topics_ GUARDED_BY(state_mutex_) = std::make_shared<const Topics>();
};

Result<> TopicStore::Impl::start(const BrokerOptions& options) {
  Lock lock(change_mutex_);
  auto stored = load_topics(env_.files, directory_->path());
  if (!stored && stored.error().kind != ErrorKind::kNotFound) return stored.take_error();
  if (!stored) LW_TRY(logs_.folders().refuse_partitions());
  if (stored) stored_ = *std::move(stored);
  return adapt(options);
}

/// Checks everything, then commits, then makes it visible.
Result<> TopicStore::Impl::adapt(const BrokerOptions& options) {
  const auto defaults = default_topic_options(options);
  if (!defaults) return Error(defaults.error());
  const auto next = adapt_to_file(stored_, options);
  if (!next) return Error(next.error());
  const auto topics_next = make_topics(*next, *defaults, *topics());
  if (!topics_next) return Error(topics_next.error());
  if (*next != stored_) LW_TRY(commit(*next));
  options_ = options;
  topic_defaults_ = *defaults;
  publish(*topics_next);
  return {};
}

/// Writes the list of topics. After a failure the file may hold either list; it is set back at
/// once, or by load_failed().
Result<> TopicStore::Impl::commit(const TopicsFile& next) {
  const auto save = [this](const TopicsFile& topics) {
    return env_.reserve.with_reserve(
        [&] { return save_topics(env_.files, directory_->path(), topics); });
  };
  auto saved = save(next);
  if (saved) stored_ = next;
  file_in_doubt_ = !saved && !save(stored_);
  return saved;
}

void TopicStore::Impl::load(int threads) {
  Folders leftovers;
  {
    Lock lock(change_mutex_);
    if (closed_) return;
    leftovers = logs_.folders().tidy(stored_);
  }
  static_cast<void>(logs_.open(partitions_to_open(*topics()), threads));  // kept and reported there
  hand_on_options(*topics());
  Lock lock(change_mutex_);
  if (closed_ || leftovers.empty() || tidying_.joinable()) return;
  tidying_ = std::thread([this, leftovers] { remove_folders(leftovers); });
}

void TopicStore::Impl::load_failed() {
  {
    Lock lock(change_mutex_);
    if (closed_) return;
    // What failed said so; these are the repetitions.
    static_cast<void>(directory_->save_pending());
    if (file_in_doubt_) static_cast<void>(commit(stored_));
  }
  std::vector<PartitionToOpen> failed = partitions_to_open(*topics());
  std::erase_if(failed,
                [](const PartitionToOpen& wanted) { return wanted.partition->failure().empty(); });
  if (failed.empty()) return;
  logs_.open_again(std::move(failed));
  hand_on_options(*topics());
}

Result<> TopicStore::Impl::usable() const {
  if (closed_) return Error{ErrorKind::kClosed, "the data directory is being closed"};
  return {};
}

Result<TopicOptions> TopicStore::Impl::check_new(const NewTopic& topic) const {
  LW_TRY(usable());
  LW_TRY(check_new_topic(stored_, topic.name, topic.partitions, options_));
  return topic_options(topic.name, topic_defaults_, topic.overrides);
}

Result<TopicOptions> TopicStore::Impl::check(const NewTopic& topic) const {
  Lock lock(change_mutex_);
  return check_new(topic);
}

Result<TopicPtr> TopicStore::Impl::create(const NewTopic& wanted) {
  Folders left_behind;
  auto topic = [&]() -> Result<TopicPtr> {
    Lock lock(change_mutex_);
    return make(wanted, left_behind);
  }();
  remove_folders(left_behind);
  return topic;
}

Result<TopicPtr> TopicStore::Impl::make(const NewTopic& wanted, Folders& left_behind) {
  const auto options = check_new(wanted);
  if (!options) return Error(options.error());
  TopicsFile next = stored_;
  next.topics[wanted.name] = {.id = random_id(),
                              .partitions = wanted.partitions,
                              .overrides = canonical_overrides(*options, wanted.overrides)};
  const auto topics_next = make_topics(next, topic_defaults_, *topics());
  if (!topics_next) return Error(topics_next.error());
  LW_TRY(commit(next));
  const TopicPtr topic = (*topics_next)->by_name.at(wanted.name);
  auto opened = logs_.open(partitions_to_open(*topic), kCreatingThreads);
  if (opened) {
    publish(*topics_next);
    return topic;
  }
  // Taken back; if that fails as well, it stays, with partitions that load_failed() opens.
  if (!dispose(*topic, left_behind)) publish(*topics_next);
  return opened.take_error();
}

Result<TopicPtr> TopicStore::Impl::remove(const std::string& name,
                                          const std::optional<TopicId>& id) {
  Folders moved;
  auto topic = [&]() -> Result<TopicPtr> {
    Lock lock(change_mutex_);
    LW_TRY(usable());
    const auto all = topics();
    const auto found = all->by_name.find(name);
    if (found == all->by_name.end() || (id && found->second->id != *id)) {
      return Error{ErrorKind::kUnknownTopic, "there is no topic " + name};
    }
    if (found->second->in_file) {
      return Error{ErrorKind::kPolicyViolation, "topic " + name + " is named in the config file " +
                                                    options_.file + "; take it out there first"};
    }
    LW_TRY(dispose(*found->second, moved));
    return found->second;
  }();
  remove_folders(moved);
  return topic;
}

Result<> TopicStore::Impl::dispose(const Topic& topic, Folders& moved) {
  TopicsFile next = stored_;
  next.topics.erase(topic.name);
  next.removed.push_back({.name = topic.name,
                          .id = topic.id,
                          .partitions = static_cast<std::int32_t>(topic.partitions.size())});
  LW_TRY(commit(next));
  auto topics_next = std::make_shared<Topics>(*topics());
  topics_next->by_name.erase(topic.name);
  topics_next->by_id.erase(topic.id);
  publish(std::move(topics_next));
  auto taken = logs_.take_away(topic.partitions);
  moved = std::move(taken.folders);
  // In the file it stays until the next change, which does no harm.
  if (taken.complete) stored_.removed.pop_back();
  return {};
}

Result<> TopicStore::Impl::apply(const BrokerOptions& options) {
  Lock lock(change_mutex_);
  LW_TRY(usable());
  const auto before = topics();
  LW_TRY(adapt(options));
  const auto now = topics();
  hand_on_options(*now);
  // Failures are kept and reported there, and tried again, as at a start.
  static_cast<void>(logs_.open(partitions_added(*now, *before), kCreatingThreads));
  return {};
}

Result<> TopicStore::Impl::close(std::chrono::steady_clock::time_point until) {
  logs_.stop();
  Lock lock(change_mutex_);
  if (closed_) return {};
  closed_ = true;
  stop_tidying();
  if (file_in_doubt_) LW_TRY(commit(stored_));
  LW_TRY(logs_.close(all_partitions(*topics()), until));
  return directory_->mark_stopped_cleanly();
}

void TopicStore::Impl::remove_folders(const Folders& moved) {
  for (const std::string& folder : moved) {
    if (!tidying_stopped_.load()) logs_.folders().remove(folder);
  }
}

void TopicStore::Impl::stop_tidying() {
  tidying_stopped_.store(true);
  if (tidying_.joinable()) tidying_.join();
}

TopicStore::TopicStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TopicStore::~TopicStore() = default;

Result<std::unique_ptr<TopicStore>> TopicStore::open(FileSystem& files, const Clock& clock,
                                                     const BrokerOptions& options, Report report) {
  auto directory = DataDirectory::open(files, options, report);
  if (!directory) return directory.take_error();
  auto impl =
      std::make_unique<Impl>(files, clock, options, std::move(report), *std::move(directory));
  LW_TRY(impl->start(options));
  return std::unique_ptr<TopicStore>(new TopicStore(std::move(impl)));
}

void TopicStore::load(int threads) { impl_->load(threads); }
void TopicStore::load_failed() { impl_->load_failed(); }
void TopicStore::wait_until_tidy() { impl_->wait_until_tidy(); }
void TopicStore::stop_loading() { impl_->stop_loading(); }
std::shared_ptr<const Topics> TopicStore::topics() const { return impl_->topics(); }

TopicPtr TopicStore::find(const std::string& name) const {
  const auto all = topics();
  const auto found = all->by_name.find(name);
  return found == all->by_name.end() ? nullptr : found->second;
}

TopicPtr TopicStore::find(const TopicId& id) const {
  const auto all = topics();
  const auto found = all->by_id.find(id);
  return found == all->by_id.end() ? nullptr : found->second;
}

PartitionPtr TopicStore::partition(const std::string& name, std::int32_t index) const {
  const TopicPtr topic = find(name);
  if (!topic || index < 0 || std::cmp_greater_equal(index, topic->partitions.size()))
    return nullptr;
  return topic->partitions[static_cast<std::size_t>(index)];
}

Result<TopicOptions> TopicStore::check(const NewTopic& topic) const { return impl_->check(topic); }
Result<TopicPtr> TopicStore::create(const NewTopic& topic) { return impl_->create(topic); }
Result<TopicPtr> TopicStore::remove(const std::string& name, const std::optional<TopicId>& id) {
  return impl_->remove(name, id);
}
Result<> TopicStore::apply(const BrokerOptions& options) { return impl_->apply(options); }
Result<std::int64_t> TopicStore::next_producer_id() {
  return impl_->directory().next_producer_id();
}
const std::string& TopicStore::cluster_id() const { return impl_->directory().cluster_id(); }
const std::array<std::byte, 16>& TopicStore::hash_key() const {
  return impl_->directory().hash_key();
}
DiskReserve& TopicStore::reserve() { return impl_->directory().reserve(); }
const Environment& TopicStore::environment() const { return impl_->environment(); }

Result<> TopicStore::close(std::chrono::steady_clock::time_point until) {
  return impl_->close(until);
}

}  // namespace lastword::storage
