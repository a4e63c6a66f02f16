// SPDX-License-Identifier: Apache-2.0
#include "protocol/messages/offset_for_leader_epoch.h"

#include "protocol/codec.h"

namespace lastword {

template struct Codec<OffsetForLeaderEpochRequest>;
template struct Codec<OffsetForLeaderEpochResponse>;

}  // namespace lastword
