// SPDX-License-Identifier: Apache-2.0
// From our errors to Kafka's codes; the only place that does it.
//
// Threads   pure functions.
#pragma once

#include "protocol/error_code.h"
#include "protocol/result.h"

namespace lastword::server {

/// The code that a client understands best for `kind`.
ErrorCode wire_code(ErrorKind kind);

/// Fetch before version 6 and Produce before 4 do not know KAFKA_STORAGE_ERROR: they get
/// NOT_LEADER_OR_FOLLOWER, which makes clients try again too.
ErrorCode for_old_client(ErrorCode code, bool knows_storage_error);

}  // namespace lastword::server
