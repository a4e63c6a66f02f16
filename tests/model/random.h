// SPDX-License-Identifier: Apache-2.0
// Choices by seed.
//
// Threads   one.
// Lifetime  a value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

namespace lastword::model {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }
  /// 0 to `end` − 1.
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(engine_() % end); }
  bool percent(std::size_t chance) { return below(100) < chance; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return *std::next(from.begin(), static_cast<std::ptrdiff_t>(below(from.size())));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace lastword::model
