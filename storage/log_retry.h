// SPDX-License-Identifier: Apache-2.0
// Looks at a log again when what it saw was replaced meanwhile, or turned out to be damaged.
//
// Threads   any.
// Lifetime  private to storage/log*.cpp.
#pragma once

#include "storage/log_impl.h"

namespace lastword::storage {

/// Each damage that is found is written down, so that the next attempt gets further.
inline constexpr int kAttemptsMax = 100;

template <class Found>
Result<Found> Log::Impl::retry(const std::function<Result<Found>(const ReadView&)>& attempt) {
  for (int attempts = 1;; ++attempts) {
    LW_TRY(usable());
    auto found = attempt(read_view());
    if (found || found.error().kind != ErrorKind::kDamaged || attempts == kAttemptsMax)
      return found;
  }
}

}  // namespace lastword::storage
