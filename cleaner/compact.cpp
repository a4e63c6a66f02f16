// SPDX-License-Identifier: Apache-2.0
#include "cleaner/compact.h"

#include <algorithm>
#include <limits>

#include "cleaner/filter.h"
#include "cleaner/grouping.h"
#include "cleaner/output.h"
#include "cleaner/retention.h"
#include "cleaner/source.h"

namespace lastword::cleaner {
namespace {

using storage::BatchAt;
using storage::LogView;
using storage::SegmentInfo;
using storage::SegmentPtr;

/// A segment with nothing but empty batches is worth a rewrite only if it is small.
constexpr std::uint64_t kSmallSegmentBytes = 64u << 10;
constexpr Offset kEverything = std::numeric_limits<Offset>::max();

class Pass {
 public:
  Pass(const PassInput& input, const Cleanability& what)
      : input_(input), what_(what), source_(input) {}

  PassOutcome run();

 private:
  /// Neighbours that are being rewritten, and what is made of them.
  struct Group {
    explicit Group(const PassInput& input, const TopicOptions& options)
        : output(input.log, input.env, options) {}
    Output output;
    std::vector<SegmentPtr> replaced{};
    Offset removed_tombstone_mark = 0;
  };

  Result<> run_rounds();
  Result<> round(Offset from);
  Result<KeyMap> make_map(const LogView& view, Offset from) const;
  Result<Offset> build_map(const LogView& view, Offset from, KeyMap& keys);
  Result<> drop_expired();
  Result<> copy(const SegmentPtr& segment, const FilterRules& rules);
  Result<> copy_batches(const SegmentPtr& segment, const FilterRules& rules, bool rewrite);
  bool is_change(const SegmentInfo& info, const BatchFilter::Outcome& outcome) const;
  Result<> join_group(const SegmentInfo& info);
  Result<> copy_front(const SegmentPtr& segment, std::uint64_t to);
  Result<> append(ByteView batch, const storage::BatchFacts& facts);
  Result<> commit_group();
  Result<> still_wanted() const;
  Result<> merge();
  FilterRules rules(const LogView& view) const;

  const PassInput& input_;
  const Cleanability& what_;
  Source source_;
  std::shared_ptr<const TopicOptions> options_{};
  TimestampMs start_ms_ = 0;
  std::uint32_t first_generation_ = 0;
  BatchFilter filter_{};
  std::optional<Group> group_{};
  bool checkpointed_ = false;
  std::int64_t rewritten_from_bytes_ = 0;  // sources of what was written
  FilterCounts counts_{};
  PassOutcome outcome_{};
};

Offset end_of(const LogView& view, std::size_t i) {
  return i + 1 < view.closed->size() ? (*view.closed)[i + 1]->info.base_offset
                                     : view.active.base_offset;
}

FilterRules Pass::rules(const LogView& view) const {
  FilterRules rules;
  rules.map_end = kEverything;
  rules.high_watermark = view.offsets.high_watermark;
  rules.pass_start = start_ms_;
  rules.horizon = storage::later(start_ms_, options_->delete_retention_ms);
  rules.decompressed_bytes_max = input_.decompressed_bytes_max;
  return rules;
}

// ---- rounds --------------------------------------------------------------------------------

PassOutcome Pass::run() {
  const LogView view = input_.log.view();
  options_ = view.options;
  start_ms_ = input_.env.clock.now_ms();
  first_generation_ = input_.log.take_generation();
  outcome_.report.at_ms = start_ms_;
  outcome_.segments_before = view.closed->size();
  auto done = run_rounds();
  if (done) done = merge();
  group_.reset();
  if (!done) {
    const ErrorKind kind = done.error().kind;
    outcome_.cancelled = kind == ErrorKind::kCancelled || kind == ErrorKind::kClosed;
    if (!outcome_.cancelled) outcome_.error = done.take_error();
  }
  outcome_.segments_after = input_.log.view().closed->size();
  outcome_.keyless_dropped = counts_.keyless_dropped;
  outcome_.report.records_dropped = counts_.records_dropped;
  outcome_.report.tombstones_dropped = counts_.tombstones_dropped;
  outcome_.report.read_bytes = source_.read_bytes();
  outcome_.report.took_ms = std::max<std::int64_t>(0, input_.env.clock.now_ms() - start_ms_);
  return std::move(outcome_);
}

Result<> Pass::run_rounds() {
  if (what_.reason == PassReason::kHorizon) return drop_expired();
  Offset from = what_.first_dirty;
  while (from < what_.first_uncleanable) {
    LW_TRY(round(from));
    from = input_.log.view().clean_end;
  }
  return {};
}

Result<> Pass::round(Offset from) {
  const LogView view = input_.log.view();
  auto keys = make_map(view, from);
  if (!keys) return keys.take_error();
  auto map_end = build_map(view, from, *keys);
  if (!map_end) return map_end.take_error();
  LW_CHECK(*map_end > from);
  FilterRules rules = this->rules(view);
  rules.keys = &*keys;
  rules.map_end = *map_end;
  for (const SegmentPtr& segment : *view.closed) {
    if (segment->info.base_offset >= *map_end) break;
    // What this very pass has stamped is not dropped by it, even with delete.retention.ms = 0.
    rules.drop_expired = segment->info.generation < first_generation_;
    LW_TRY(copy(segment, rules));
  }
  LW_TRY(commit_group());
  ++outcome_.report.rounds;
  LW_TRY(still_wanted());
  return input_.log.set_clean_end(*map_end);
}

/// As large as the dirty records may need, within the budget.
Result<KeyMap> Pass::make_map(const LogView& view, Offset from) const {
  std::int64_t records = 0;
  for (std::size_t i = 0; i < view.closed->size(); ++i) {
    const SegmentInfo& info = (*view.closed)[i]->info;
    if (end_of(view, i) <= from || info.base_offset >= what_.first_uncleanable) continue;
    records += info.records;
  }
  return KeyMap::create(records, input_.map_bytes_max, input_.hash_key);
}

/// Fills the map from `from` on; returns map end.
Result<Offset> Pass::build_map(const LogView& view, Offset from, KeyMap& keys) {
  for (std::size_t i = 0; i < view.closed->size(); ++i) {
    const SegmentPtr& segment = (*view.closed)[i];
    if (end_of(view, i) <= from) continue;
    if (segment->info.base_offset >= what_.first_uncleanable) break;
    Offset full_at = -1;
    LW_TRY(source_.for_each_batch(segment, segment->info.size_bytes,
                                  [&](const BatchAt& batch) -> Result<bool> {
                                    if (batch.header.last_offset() < from) return true;
                                    return for_each_key(batch.bytes, from, keys, source_.scratch(),
                                                        input_.decompressed_bytes_max,
                                                        [&](Offset offset, const KeyHash& key) {
                                                          if (keys.put(key, offset)) return true;
                                                          full_at = offset;
                                                          return false;
                                                        });
                                  }));
    if (full_at >= 0) return full_at;
  }
  return what_.first_uncleanable;
}

/// Nothing is dirty that asks for a pass: only segments whose time is up are read.
Result<> Pass::drop_expired() {
  const LogView view = input_.log.view();
  const FilterRules rules = this->rules(view);
  for (const SegmentPtr& segment : *view.closed) {
    if (segment->info.earliest_horizon <= start_ms_) {
      LW_TRY(copy(segment, rules));
    } else {
      LW_TRY(commit_group());
    }
  }
  LW_TRY(commit_group());
  ++outcome_.report.rounds;
  return {};
}

// ---- one segment ---------------------------------------------------------------------------

bool Pass::is_change(const SegmentInfo& info, const BatchFilter::Outcome& outcome) const {
  if (outcome.counts.records_dropped > 0) return true;
  if (outcome.fate == BatchFilter::Fate::kGone) return info.size_bytes <= kSmallSegmentBytes;
  return outcome.fate == BatchFilter::Fate::kRewritten;
}

/// Rewrites the segment if it changes. Otherwise the group in front of it is complete.
Result<> Pass::copy(const SegmentPtr& segment, const FilterRules& rules) {
  LW_TRY(copy_batches(segment, rules, false));
  const bool rewritten = group_ && group_->replaced.back() == segment;
  return rewritten ? Result<>() : commit_group();
}

/// With `rewrite`, the segment is copied into the group whether or not it changes.
Result<> Pass::copy_batches(const SegmentPtr& segment, const FilterRules& rules, bool rewrite) {
  const SegmentInfo& info = segment->info;
  bool writing = rewrite;
  std::int64_t made_before = group_ ? group_->output.size_bytes() : 0;
  FilterCounts counts;
  auto each = [&](const BatchAt& batch) -> Result<bool> {
    auto outcome = filter_.filter(batch.bytes, rules);
    if (!outcome) return outcome.take_error();
    counts.add(outcome->counts);
    if (!writing && is_change(info, *outcome)) {
      LW_TRY(join_group(info));
      made_before = group_->output.size_bytes();
      writing = true;
      group_->replaced.push_back(segment);
      LW_TRY(copy_front(segment, batch.position));
    }
    if (!writing || outcome->fate == BatchFilter::Fate::kGone) return true;
    LW_TRY(append(outcome->bytes, {outcome->header, outcome->tombstones}));
    return true;
  };
  LW_TRY(source_.for_each_batch(segment, info.size_bytes, each));
  if (!writing) return {};
  group_->removed_tombstone_mark =
      std::max(group_->removed_tombstone_mark, counts.newest_expired + 1);
  counts_.add(counts);
  rewritten_from_bytes_ += static_cast<std::int64_t>(info.size_bytes);
  outcome_.report.written_bytes += group_->output.size_bytes() - made_before;
  ++outcome_.report.segments_rewritten;
  return {};
}

/// The group that the segment is written into: the open one where it fits, else one of its own.
Result<> Pass::join_group(const SegmentInfo& info) {
  if (group_ && group_->output.current() != nullptr) {
    // What is left of this one will be about what was left of those before.
    const double share = rewritten_from_bytes_ == 0
                             ? 1.0
                             : static_cast<double>(outcome_.report.written_bytes) /
                                   static_cast<double>(rewritten_from_bytes_);
    const auto left =
        static_cast<std::int64_t>(static_cast<double>(info.size_bytes) * std::min(share, 1.0));
    if (group_->output.size_bytes() >= options_->segment_bytes ||
        !fits_behind(*group_->output.current(), info, left, GroupLimits::of(*options_))) {
      LW_TRY(commit_group());
    }
  }
  if (!group_) group_.emplace(input_, *options_);
  group_->output.from(info);
  return {};
}

/// Copies the batches in front of `to`, of which none changes.
Result<> Pass::copy_front(const SegmentPtr& segment, std::uint64_t to) {
  const SegmentInfo& info = segment->info;
  const bool has_tombstones = info.stamped_tombstones + info.unstamped_tombstones > 0;
  Source front(input_);
  auto copied = front.for_each_batch(segment, to, [&](const BatchAt& batch) -> Result<bool> {
    std::int64_t tombstones = 0;
    if (has_tombstones) {
      auto counted = count_tombstones(batch.bytes, input_.decompressed_bytes_max, front.scratch());
      if (!counted) return counted.take_error();
      tombstones = *counted;
    }
    LW_TRY(append(batch.bytes, {batch.header, tombstones}));
    return true;
  });
  source_.add_read_bytes(front.read_bytes());
  return copied;
}

Result<> Pass::append(ByteView batch, const storage::BatchFacts& facts) {
  input_.throttle.take(static_cast<std::int64_t>(batch.size()));
  return group_->output.append(batch, facts);
}

Result<> Pass::commit_group() {
  if (!group_) return {};
  Group& group = *group_;
  auto made = group.output.finish();
  if (!made) return made.take_error();
  // What idempotent producers need of the batches that go is in the snapshot from now on.
  if (!checkpointed_) LW_TRY(input_.log.checkpoint());
  checkpointed_ = true;
  LW_TRY(still_wanted());
  auto replaced = input_.log.replace({group.replaced, *made, group.removed_tombstone_mark});
  // After any other error the manifest may list what was made: the log sorts that out.
  if (replaced || replaced.error().kind != ErrorKind::kCancelled) group.output.keep();
  if (replaced) group_.reset();
  return replaced;
}

/// What the topic's policy kept before a pass is not to be dropped under the next one.
Result<> Pass::still_wanted() const {
  if (!input_.wanted || input_.wanted()) return {};
  return Error{ErrorKind::kCancelled, "the pass is not wanted any more"};
}

// ---- merging -------------------------------------------------------------------------------

/// Puts small neighbours together, as far as the log is clean.
Result<> Pass::merge() {
  const LogView view = input_.log.view();
  std::vector<SegmentInfo> infos;
  for (std::size_t i = 0; i < view.closed->size(); ++i) {
    if (end_of(view, i) > view.clean_end) break;
    infos.push_back((*view.closed)[i]->info);
  }
  FilterRules rules = this->rules(view);
  rules.drop_expired = false;
  for (const MergeRun& run : runs_to_merge(infos, GroupLimits::of(*options_))) {
    group_.emplace(input_, *options_);
    for (std::size_t i = run.first; i < run.first + run.count; ++i) {
      const SegmentPtr& segment = (*view.closed)[i];
      group_->output.from(segment->info);
      group_->replaced.push_back(segment);
      LW_TRY(copy_batches(segment, rules, true));
    }
    LW_TRY(commit_group());
  }
  return {};
}

}  // namespace

PassOutcome run_pass(const PassInput& input, const Cleanability& what) {
  // What a pass makes it finds by name: the folder must not become another topic's meanwhile.
  const auto use = input.log.use();
  if (!use) return {.cancelled = true};
  return Pass(input, what).run();
}

}  // namespace lastword::cleaner
