// SPDX-License-Identifier: Apache-2.0
#include "cleaner/cleaner.h"

#include <utility>

#include "cleaner/cleaner_threads.h"
#include "cleaner/work.h"

namespace lastword::cleaner {

class Cleaner::Impl {
 public:
  Impl(storage::TopicStore& store, const BrokerOptions& options, Work::Changed changed)
      : work(store, options, std::move(changed)), threads(work, store.environment().clock) {}

  Work work;
  CleanerThreads threads;
};

Cleaner::Cleaner(storage::TopicStore& store, const BrokerOptions& options,
                 std::function<void(const storage::PartitionPtr&)> changed)
    : impl_(std::make_unique<Impl>(store, options, std::move(changed))) {}

Cleaner::~Cleaner() = default;

TimestampMs Cleaner::run_due() {
  for (;;) {
    const Work::Look look = impl_->work.look();
    if (!look.pass_wanted) return look.next_due_ms;
    bool any = false;
    while (impl_->work.run_next_pass()) any = true;
    // Cancelled meanwhile, or somebody else is at it.
    if (!any) return look.next_due_ms;
  }
}

void Cleaner::start() { impl_->threads.start(); }

void Cleaner::stop() { impl_->threads.stop(); }

void Cleaner::wake_by(TimestampMs at_ms) { impl_->threads.wake_by(at_ms); }

void Cleaner::set_options(const BrokerOptions& options) {
  impl_->work.set_options(options);
  impl_->threads.apply_options();
}

PartitionReport Cleaner::report(const storage::Partition& partition) const {
  return impl_->work.report(partition);
}

}  // namespace lastword::cleaner
