// SPDX-License-Identifier: Apache-2.0
#include "storage/log.h"

#include <algorithm>
#include <utility>

#include "storage/disk_reserve.h"
#include "storage/file_cache.h"
#include "storage/log_impl.h"

namespace lastword::storage {

// ---- the face --------------------------------------------------------------------------------

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Log::~Log() = default;

Result<std::unique_ptr<Log>> Log::open(const Environment& env, Identity identity,
                                       std::shared_ptr<const TopicOptions> options) {
  auto recovered = recover(env, identity, *options);
  if (!recovered) return recovered.take_error();
  const bool fenced = recovered->manifest.fence.has_value();
  auto impl =
      std::make_unique<Impl>(env, std::move(identity), std::move(options), *std::move(recovered));
  // Should this fail the log is there all the same, up to its durable end; the cleaner tries again.
  if (fenced) static_cast<void>(impl->heal());
  return std::unique_ptr<Log>(new Log(std::move(impl)));
}

Log::Use::~Use() {
  if (of_ != nullptr) of_->end_use();
}

Result<Log::Use> Log::use() const {
  if (!impl_->begin_use()) {
    return Error{ErrorKind::kClosed, identity().name + " is being deleted"};
  }
  return Use(*impl_);
}

template <class Work>
auto Log::in_use(Work work) const -> decltype(work()) {
  auto use = this->use();
  if (!use) return use.take_error();
  return work();
}

Result<Appended> Log::append(CheckedBatch& batch) {
  return in_use([&] { return impl_->append(batch); });
}
Result<Offsets> Log::sync() {
  return in_use([&] { return impl_->sync(); });
}
TimestampMs Log::flush_due_ms() const { return impl_->flush_due_ms(); }
Result<Offsets> Log::heal() {
  return in_use([&] { return impl_->heal(); });
}
Result<ReadPlan> Log::read(Offset from, const ReadLimits& limits) const {
  return in_use([&] { return impl_->read(from, limits); });
}
Offsets Log::offsets() const { return impl_->offsets(); }
std::uint64_t Log::readable_bytes(Offset from) const { return impl_->readable_bytes(from); }
LogView Log::view() const { return impl_->view(); }
Result<TimestampOffset> Log::find_timestamp(TimestampMs at) const {
  return in_use([&] { return impl_->find_timestamp(at); });
}
Result<TimestampOffset> Log::find_max_timestamp() const {
  return in_use([&] { return impl_->find_max_timestamp(); });
}
std::int32_t Log::leader_epoch_at(Offset offset) const { return impl_->leader_epoch_at(offset); }
Log::EpochEnd Log::end_of_epoch(std::int32_t epoch) const { return impl_->end_of_epoch(epoch); }
TimestampMs Log::active_close_due_ms() const { return impl_->active_close_due_ms(); }
Result<bool> Log::close_active_if_due(TimestampMs now) {
  return in_use([&] { return impl_->close_active(now); });
}
Result<bool> Log::close_active() {
  return in_use([&] { return impl_->close_active(std::nullopt); });
}
Result<> Log::drop_before(Offset start) {
  return in_use([&] { return impl_->drop_before(start); });
}
Result<> Log::checkpoint() {
  return in_use([&] { return impl_->checkpoint(); });
}
std::uint32_t Log::take_generation() { return impl_->take_generation(); }
Result<> Log::replace(const CleanedSegments& cleaned) {
  return in_use([&] { return impl_->replace(cleaned); });
}
Result<> Log::set_clean_end(Offset clean_end) {
  return in_use([&] { return impl_->set_clean_end(clean_end); });
}
Result<> Log::add_damage(const DamagedRange& range) {
  return in_use([&] { return impl_->add_damage(range); });
}
Result<> Log::remove_damage(const DamagedRange& range) {
  return in_use([&] { return impl_->remove_damage(range); });
}
TimestampMs Log::remove_old_files(TimestampMs now) {
  const auto use = this->use();
  return use ? impl_->remove_old_files(now) : kUnlimited;
}
void Log::expire_producers(TimestampMs now) { impl_->expire_producers(now); }
void Log::set_options(std::shared_ptr<const TopicOptions> options) {
  impl_->set_options(std::move(options));
}
std::shared_ptr<const TopicOptions> Log::options() const { return impl_->options(); }
Result<> Log::close() {
  return in_use([&] { return impl_->close(); });
}
void Log::abandon() { impl_->abandon(); }
const Log::Identity& Log::identity() const { return impl_->identity(); }

// ---- what is kept ----------------------------------------------------------------------------

Log::Impl::Impl(const Environment& env, Identity identity,
                std::shared_ptr<const TopicOptions> options, Recovered recovered)
    : env_(env), identity_(std::move(identity)), producers_(std::move(recovered.producers)) {
  Lock append_lock(append_mutex_);
  committed_ = {.manifest = std::move(recovered.manifest),
                .closed = std::make_shared<const SegmentList>(std::move(recovered.closed)),
                .writer = std::move(recovered.writer),
                .active_row = recovered.active_row,
                .behind_fence = std::move(recovered.behind_fence)};
  committed_.writer->publish();
  manifest_in_doubt_ = recovered.manifest_unsaved;
  producers_.count_in(env_.producer_budget);
  Lock lock(state_mutex_);
  options_ = std::move(options);
  const Manifest& manifest = committed_.manifest;
  const Offset end = recovered.log_end;
  state_ = State{
      .closed = committed_.closed,
      .writer = committed_.writer,
      .active = committed_.writer->info(),
      .readable = committed_.writer->info(),
      .durable = committed_.writer->info(),
      .durable_end = end,
      .offsets = {.log_start = manifest.log_start,
                  .high_watermark = end,
                  .log_end = end,
                  .removed_tombstone_mark = manifest.removed_tombstone_mark,
                  .fenced = manifest.fence.has_value()},
      .clean_end = manifest.clean_end,
      .damaged = std::make_shared<const DamageList>(manifest.damaged),
      .leader_epochs = std::make_shared<const std::vector<LeaderEpoch>>(manifest.leader_epochs)};
  if (!manifest.leader_epochs.empty()) {
    state_.offsets.leader_epoch = manifest.leader_epochs.back().epoch;
  }
}

void Log::Impl::report(Severity severity, const std::string& text) const {
  env_.report(severity, identity_.name + ": " + text);
}

Result<> Log::Impl::usable() const {
  Lock lock(state_mutex_);
  if (state_.closed_down) return Error{ErrorKind::kClosed, identity_.name + " is closed"};
  return {};
}

Result<> Log::Impl::writable() const {
  LW_TRY(usable());
  Lock lock(state_mutex_);
  if (!state_.offsets.fenced) return {};
  return Error{ErrorKind::kFenced, identity_.name +
                                       " takes no writes: the disk failed to make earlier ones "
                                       "durable; it goes on by itself once a sync works"};
}

Log::Impl::Change Log::Impl::change() const { return committed_; }

Result<> Log::Impl::save(const Change& change) {
  Manifest whole = change.manifest;
  whole.segments.reserve(change.closed->size() + 1);
  for (const SegmentPtr& segment : *change.closed) whole.segments.push_back(segment->info);
  whole.segments.push_back(change.active_row);
  for (const SegmentInfo& info : change.behind_fence) whole.segments.push_back(info);
  auto saved = save_manifest(env_, identity_.directory, whole);
  manifest_in_doubt_ = !saved;
  if (!saved) return saved;
  for (const SegmentInfo& info : std::exchange(doubtful_, {})) remove_segment_files(info);
  return {};
}

void Log::Impl::adopt(Change change, const std::function<void(State&)>& also) {
  committed_ = std::move(change);
  const Manifest& manifest = committed_.manifest;
  Lock lock(state_mutex_);
  state_.closed = committed_.closed;
  state_.offsets.log_start = manifest.log_start;
  state_.offsets.removed_tombstone_mark = manifest.removed_tombstone_mark;
  if (!manifest.leader_epochs.empty()) {
    state_.offsets.leader_epoch = manifest.leader_epochs.back().epoch;
  }
  state_.clean_end = manifest.clean_end;
  state_.damaged = std::make_shared<const DamageList>(manifest.damaged);
  state_.leader_epochs = std::make_shared<const std::vector<LeaderEpoch>>(manifest.leader_epochs);
  if (state_.writer != committed_.writer) {
    state_.writer = committed_.writer;
    state_.writer->publish();
    state_.active = state_.readable = state_.writer->info();
    if (fsync()) state_.durable = state_.active;
  }
  if (also) also(state_);
}

Result<> Log::Impl::commit(Change change, const std::function<void(State&)>& also) {
  const std::uint32_t next_generation = committed_.manifest.next_generation;
  change.manifest.next_generation = std::max(change.manifest.next_generation, next_generation);
  LW_TRY(save(change));
  adopt(std::move(change), also);
  return {};
}

Result<> Log::Impl::settle_manifest() { return manifest_in_doubt_ ? save(committed_) : Result<>(); }

void Log::Impl::remove_file(const std::string& path) {
  env_.cache.drop(path);
  auto removed = env_.files.remove(path);
  if (!removed) {
    report(Severity::kWarning,
           removed.error().text + "; the file is of no use and goes at the next start");
  }
}

void Log::Impl::remove_segment_files(const SegmentInfo& info) {
  remove_file(path_of(info));
  remove_file(path_of(info, SegmentFile::kOffsetIndex));
  remove_file(path_of(info, SegmentFile::kTimeIndex));
}

// ---- looking ---------------------------------------------------------------------------------

Offsets Log::Impl::offsets() const {
  Lock lock(state_mutex_);
  return state_.offsets;
}

LogView Log::Impl::view() const {
  Lock lock(state_mutex_);
  return {.closed = state_.closed,
          .active = state_.active,
          .offsets = state_.offsets,
          .clean_end = state_.clean_end,
          .damaged = *state_.damaged,
          .options = options_,
          .directory = identity_.directory};
}

void Log::Impl::set_options(std::shared_ptr<const TopicOptions> options) {
  Lock lock(state_mutex_);
  options_ = std::move(options);
}

std::shared_ptr<const TopicOptions> Log::Impl::options() const {
  Lock lock(state_mutex_);
  return options_;
}

void Log::Impl::expire_producers(TimestampMs now) {
  Lock lock(append_mutex_);
  producers_.expire(now);
}

bool Log::Impl::begin_use() {
  Lock lock(use_mutex_);
  if (abandoned_) return false;
  ++users_;
  return true;
}

void Log::Impl::end_use() {
  Lock lock(use_mutex_);
  if (--users_ == 0 && abandoned_) unused_.notify_all();
}

void Log::Impl::abandon() {
  {
    Lock lock(use_mutex_);
    abandoned_ = true;
    while (users_ > 0) unused_.wait(use_mutex_);
  }
  Lock sync_lock(sync_mutex_);
  Lock append_lock(append_mutex_);
  producers_.clear();
  Lock lock(state_mutex_);
  state_.closed_down = true;
}

}  // namespace lastword::storage
