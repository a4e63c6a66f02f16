// SPDX-License-Identifier: Apache-2.0
// How a partition stands, for the partition status tag (protocol/EXTENSIONS.md).
//
// Threads   never blocks.
#pragma once

#include "protocol/messages/extensions.h"
#include "server/context.h"

namespace lastword::server {

PartitionStatus partition_status(const Context& context, const storage::Partition& partition);

}  // namespace lastword::server
