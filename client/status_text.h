// SPDX-License-Identifier: Apache-2.0
// How a partition stands, in words: what `lastword topics describe` prints of a PartitionStatus.
//
// Threads   pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "protocol/messages/extensions.h"

namespace lastword::client {

/// Name and text, in the order in which they are read; moments are told as the broker's clock and
/// how far they are from it. `policy` is the topic's cleanup.policy: what the cleaner did and will
/// do is told where it has compact in it.
std::vector<std::pair<std::string, std::string>> status_lines(const PartitionStatus& status,
                                                              const std::string& policy);

/// Whether nothing was ever written to the partition, and nothing is wrong with it.
bool is_empty(const PartitionStatus& status);

}  // namespace lastword::client
