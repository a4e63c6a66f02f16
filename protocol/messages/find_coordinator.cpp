// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/find_coordinator.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<FindCoordinatorRequest>;
template struct MessageCodec<FindCoordinatorResponse>;

}  // namespace lastword
