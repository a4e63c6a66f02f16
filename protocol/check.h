// SPDX-License-Identifier: Apache-2.0
// An assertion that stays on: says where and what, then aborts. For our own mistakes only, never
// for input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace lastword {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace lastword

#define LW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::lastword::check_failed(#condition, __FILE__, __LINE__))
