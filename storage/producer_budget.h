// SPDX-License-Identifier: Apache-2.0
// How many idempotent producers all logs of a broker remember together.
//
// Purpose   each log has a limit of its own, but with many logs their sum is too much memory.
// Threads   any; a ProducerShare belongs to the log that holds it.
// Lifetime  shared by the shares, since a log may outlive the store; each gives back what it holds
//           when it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace lastword::storage {

class ProducerBudget {
 public:
  explicit ProducerBudget(std::int64_t producers_max) : producers_max_(producers_max) {}

  bool exceeded() const { return used() > producers_max_; }
  std::int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class ProducerShare;
  const std::int64_t producers_max_;
  std::atomic<std::int64_t> used_{0};
};

/// What one log holds of the budget; without a budget nothing is counted.
class ProducerShare {
 public:
  explicit ProducerShare(std::shared_ptr<ProducerBudget> budget = {})
      : budget_(std::move(budget)) {}
  /// A copy of what is counted is not counted as well.
  ProducerShare(const ProducerShare& /*other*/) {}
  ProducerShare(ProducerShare&& other) noexcept
      : budget_(std::move(other.budget_)), held_(std::exchange(other.held_, 0)) {}
  ProducerShare& operator=(ProducerShare other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~ProducerShare() { add(-held_); }

  void add(std::int64_t producers) {
    if (budget_ == nullptr) return;
    held_ += producers;
    budget_->used_.fetch_add(producers, std::memory_order_relaxed);
  }
  bool exceeded() const { return budget_ != nullptr && budget_->exceeded(); }

 private:
  std::shared_ptr<ProducerBudget> budget_{};
  std::int64_t held_ = 0;
};

}  // namespace lastword::storage
