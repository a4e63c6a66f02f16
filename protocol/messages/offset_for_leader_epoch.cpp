// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/offset_for_leader_epoch.h"

#include "protocol/codec.h"

namespace lastword {

template struct MessageCodec<OffsetForLeaderEpochRequest>;
template struct MessageCodec<OffsetForLeaderEpochResponse>;

}  // namespace lastword
