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

/// Name and text, in the order in which they are read. Every part of the status is in it; moments
/// are told as the broker's clock and how far they are from it.
std::vector<std::pair<std::string, std::string>> status_lines(const PartitionStatus& status);

}  // namespace lastword::client
