// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_state.h"

namespace lastword::test {

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= path.size()) {
    const std::size_t to = std::min(path.find('/', from), path.size());
    const std::string part = path.substr(from, to - from);
    if (!part.empty() && part != ".") parts.push_back(part);
    from = to + 1;
  }
  return parts;
}

}  // namespace lastword::test
