// SPDX-License-Identifier: Apache-2.0
#include "server/notices.h"

namespace lastword::server {

void Notices::say(storage::Severity severity, const std::string& line) {
  std::int64_t left_out = 0;
  {
    const storage::Lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      lines_ = 0;
      std::swap(left_out, left_out_);
    }
    if (++lines_ > kLinesPerSecond) {
      ++left_out_;
      return;
    }
  }
  if (left_out > 0) {
    report_(storage::Severity::kWarning,
            std::to_string(left_out) + " more lines about connections were left out");
  }
  report_(severity, line);
}

}  // namespace lastword::server
