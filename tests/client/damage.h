// SPDX-License-Identifier: Apache-2.0
// Bytes of a partition that change on disk under a running broker, which sends them as they are.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "tests/support/broker_fixture.h"

namespace lastword::test {

/// Changes the first byte of `text`, which is in a record that is stored as it came (no codec).
/// `partition` is a folder's name: "a-0".
inline void damage(const BrokerFixture& fixture, const std::string& partition,
                   const std::string& text) {
  const std::filesystem::path folder = fixture.options.data_dir;
  for (const auto& entry : std::filesystem::directory_iterator(folder / partition)) {
    if (entry.path().extension() != ".log") continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto at = bytes.find(text);
    if (at == std::string::npos) continue;
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(text.front() ^ 1));
    return;
  }
  throw std::runtime_error("no record of " + partition + " holds " + text);
}

}  // namespace lastword::test
