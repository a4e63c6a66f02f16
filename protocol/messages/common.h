// SPDX-License-Identifier: Apache-2.0
// Structs that Produce and Fetch share: hints about where a partition moved. One node has none to
// give; clients and other brokers may.
//
// Threads   plain data.
// Lifetime  owns what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/fields.h"

namespace lastword {

struct LeaderIdAndEpoch {
  std::int32_t leader_id = -1;
  std::int32_t leader_epoch = -1;

  static void fields(auto& walk) {
    walk("leader_id", &LeaderIdAndEpoch::leader_id);
    walk("leader_epoch", &LeaderIdAndEpoch::leader_epoch);
  }
};

struct NodeEndpoint {
  std::int32_t node_id = 0;
  std::string host{};
  std::int32_t port = 0;
  std::optional<std::string> rack{};

  static void fields(auto& walk) {
    walk("node_id", &NodeEndpoint::node_id);
    walk("host", &NodeEndpoint::host);
    walk("port", &NodeEndpoint::port);
    walk("rack", &NodeEndpoint::rack);
  }
};

}  // namespace lastword
